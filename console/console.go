// Package console serves pages for people over a [svc.Service]: a playground for
// decisions and responses, what is stored, what it cost, and for who has the
// admin key the administration. It is one handler, needs nothing from outside
// and no build step:
//
//	c, err := console.New(service, console.Options{})
//	mux.Handle("/console/", c)
//
// A request passes console.go (routes and headers), session.go (who is signed
// in), and the file of its noun, which calls the service and names the template
// in templates/ that shows the answer (render.go). Every page works as plain
// HTML; static/console.js adds streaming, files by drag and drop, and copying.
//
// What users wrote is data everywhere: html/template escapes it, and the content
// security policy lets no script run but our own.
package console

import (
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/batches"
	"github.com/seed-506d8e5d/svc/internal/seal"
	"github.com/seed-506d8e5d/svc/signon"
	"github.com/seed-506d8e5d/svc/webhooks"
)

// DefaultPrefix is where the pages are, unless the options say otherwise.
const DefaultPrefix = "/console"

// Options are what a console may be told. The zero value is usable.
type Options struct {
	// Prefix is the path of the pages, without a slash at its end; empty is
	// DefaultPrefix. The handler serves what begins with it.
	Prefix string

	// AdminKey signs in to the administration; empty leaves its pages out.
	AdminKey string

	// SignOn is the provider where people sign in; nil leaves keys as the only way.
	SignOn *signon.Provider

	// Secret seals the sessions: 32 bytes, the same on every replica. Nil is a
	// random one, with which sessions end with the process.
	Secret []byte

	// Servers tells how the model servers do, in the order to show them. Nil shows
	// none. It is called concurrently and must not block.
	Servers func() []Server

	// MCPNamed returns the servers of the Model Context Protocol that an organization may
	// use, and MCPServers how those do that the operator has named. nil: there are none.
	// Both are called concurrently and must not block.
	MCPNamed   func(organization string) []string
	MCPServers func() []MCPServer

	// Batches and Webhooks have pages of their own; nil leaves them out.
	Batches  *batches.Service
	Webhooks *webhooks.Service

	// Logger gets internal errors and failed sign-ins; nil is slog.Default().
	Logger *slog.Logger

	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Server is a model server and how it does.
type Server struct {
	Name       string        // what people call it, usually its URL
	Kind       string        // such as llama.cpp; empty where unknown
	Healthy    bool          // whether it is well as far as is known
	Requests   int64         // since the start
	Errors     int64         // of the requests, those that were the server's fault
	FirstToken time.Duration // how long an answer takes to begin, of late; 0 where unknown
}

// Console is the handler. It is safe for concurrent use and holds nothing to be
// closed.
type Console struct {
	service  *svc.Service
	opts     Options
	mux      *http.ServeMux
	handler  http.Handler
	pages    pages
	seal     sealer
	links    links
	failures failures
}

//go:embed static
var static embed.FS

// New returns the pages of a service. The error says which option is wrong.
func New(service *svc.Service, o Options) (*Console, error) {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if !strings.HasPrefix(o.Prefix, "/") || strings.HasSuffix(o.Prefix, "/") {
		return nil, fmt.Errorf("console: the prefix %q must begin with a slash and not end with one", o.Prefix)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Secret == nil {
		o.Secret = make([]byte, seal.KeySize)
		if _, err := rand.Read(o.Secret); err != nil {
			return nil, err
		}
	}
	seal, err := newSealer(o.Secret)
	if err != nil {
		return nil, err
	}
	pages, err := parsePages(o.Prefix)
	if err != nil {
		return nil, err
	}
	c := &Console{service: service, opts: o, mux: http.NewServeMux(), pages: pages, seal: seal}
	c.links.now, c.failures.now = o.Now, o.Now
	c.routes()
	c.handler = http.NewCrossOriginProtection().Handler(c.mux)
	return c, nil
}

// routes are the pages. Those of open need no session, those of signedIn an API
// key, those of administered the admin key.
func (c *Console) routes() {
	c.open("GET /static/{file}", c.staticFile)
	c.open("GET /signin", c.signInPage)
	c.open("POST /signin", c.signIn)
	c.open("GET /signin/{link}", c.signInByLink)
	c.open("POST /signout", c.signOut)
	if c.opts.SignOn != nil {
		c.open("GET /oidc", c.beginSignOn)
		c.open("GET /oidc/callback", c.endSignOn)
		c.people("GET /keys", signon.Member, c.ownKeysPage)
		c.people("POST /keys", signon.Member, c.createOwnKey)
		c.people("POST /keys/{id}/revoke", signon.Member, c.revokeOwnKey)
		c.people("GET /organization", signon.Admin, c.ownOrganizationPage)
		c.people("POST /organization", signon.Admin, c.updateOwnOrganization)
	}
	c.open("GET /{$}", c.home)

	c.playgroundRoutes()
	c.storedRoutes()
	c.observeRoutes()
	c.adminRoutes()
	c.mux.Handle("/", c.serve(func(*request) error { return errNoPage }, checkedByForm))
}

func (c *Console) playgroundRoutes() {
	c.signedIn("GET /decide", c.decidePage)
	c.signedIn("POST /decide", c.decide)
	c.route("POST /decide/rows", c.serve(c.asCaller(c.judgeRows), checkedByAction))
	c.signedIn("GET /evaluate", c.evaluatePage)
	c.route("POST /evaluate", c.serve(c.asCaller(c.evaluate), checkedByAction))
	c.signedIn("GET /calibrations", c.calibrationsPage)
	c.signedIn("GET /calibrations/{id}", c.calibrationPage)
	c.signedIn("POST /calibrations/{id}/delete", c.deleteCalibration)
	c.signedIn("GET /respond", c.respondPage)
	c.signedIn("POST /respond", c.respond)
	c.signedIn("GET /start", c.startPage)
	c.signedIn("POST /start", c.startWithKey)
}

// storedRoutes are the pages of what is stored.
func (c *Console) storedRoutes() {
	c.signedIn("GET /files", c.filesPage)
	c.route("POST /files", c.serve(c.asCaller(c.uploadFiles), checkedByAction))
	c.signedIn("GET /files/{id}", c.filePage)
	c.signedIn("GET /files/{id}/status", c.fileStatus)
	c.signedIn("GET /files/{id}/attached", c.fileAttached)
	c.signedIn("GET /files/{id}/content", c.fileContent)
	c.signedIn("POST /files/{id}/delete", c.deleteFile)
	c.signedIn("GET /conversations", c.conversationsPage)
	c.signedIn("GET /conversations/{id}", c.conversationPage)
	c.signedIn("POST /conversations/{id}/delete", c.deleteConversation)
	c.signedIn("GET /responses", func(v *request) error { return v.redirect("/log?kind=response") })
	c.signedIn("GET /completions", func(v *request) error { return v.redirect("/log?kind=completion") })
	c.signedIn("GET /responses/{id}", c.responsePage)
	c.signedIn("GET /responses/{id}/events", c.responseEvents)
	c.signedIn("GET /responses/{id}/object", c.responseObject)
	c.signedIn("GET /responses/{id}/program", c.responseProgram)
	c.signedIn("POST /responses/{id}/again", c.again)
	c.signedIn("POST /responses/{id}/cancel", c.cancelResponse)
	c.signedIn("POST /responses/{id}/delete", c.deleteResponse)
	c.signedIn("GET /completions/{id}", c.completionPage)
	c.signedIn("POST /completions/{id}/delete", c.deleteCompletion)
	c.signedIn("GET /decisions/{id}", c.decisionPage)
	c.signedIn("POST /decisions/{id}/delete", c.deleteDecision)
	c.signedIn("GET /labels", c.labelsPage)
	c.signedIn("GET /labels/next", c.nextLabelPage)
	c.signedIn("POST /labels/calibrate", c.calibrateFromLabels)
	c.signedIn("GET /labels/{id}", c.labelPage)
	c.signedIn("POST /labels/{id}", c.setLabel)
	c.batchRoutes()
	c.webhookRoutes()
}

func (c *Console) observeRoutes() {
	c.signedIn("GET /overview", c.overviewPage)
	c.signedIn("GET /log", c.logPage)
	c.signedIn("GET /usage", c.usagePage)
	c.signedIn("GET /usage.csv", c.usageCSV)
	c.signedIn("GET /usage/totals.csv", c.totalsCSV)
}

func (c *Console) adminRoutes() {
	c.administered("GET /admin/organizations", c.organizationsPage)
	c.administered("POST /admin/organizations", c.createOrganization)
	c.administered("GET /admin/organizations/{id}", c.organizationPage)
	c.administered("POST /admin/organizations/{id}", c.updateOrganization)
	c.administered("POST /admin/organizations/{id}/credits", c.addCredits)
	c.administered("POST /admin/organizations/{id}/delete", c.deleteOrganization)
	c.administered("GET /admin/organizations/{id}/usage", c.organizationUsagePage)
	c.administered("GET /admin/organizations/{id}/usage.csv", c.organizationUsageCSV)
	c.administered("GET /admin/organizations/{id}/usage/totals.csv", c.organizationTotalsCSV)
	c.administered("GET /admin/usage", c.allUsagePage)
	c.administered("GET /admin/usage.csv", c.allUsageCSV)
	c.administered("GET /admin/keys", c.keysPage)
	c.administered("GET /admin/keys/{id}", c.keyPage)
	c.administered("POST /admin/keys/{id}", c.updateKey)
	c.administered("POST /admin/keys", c.createKey)
	c.administered("POST /admin/keys/{id}/revoke", c.revokeKey)
	c.administered("GET /admin/audit", c.auditPage)
	c.administered("GET /admin/system", c.systemPage)
}

// policy is the content security policy of every page: nothing but our own
// files, no script or style in the page, no frames, forms to ourselves.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// ServeHTTP implements [http.Handler].
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if r.URL.Path == c.opts.Prefix {
		http.Redirect(w, r, c.opts.Prefix+"/", http.StatusSeeOther)
		return
	}
	c.handler.ServeHTTP(w, r)
}

// route registers an action under a method and a path below the prefix.
func (c *Console) route(pattern string, h http.Handler) {
	method, path, _ := strings.Cut(pattern, " ")
	c.mux.Handle(method+" "+c.opts.Prefix+path, h)
}

func (c *Console) open(pattern string, do action) { c.route(pattern, c.serve(do, checkedByForm)) }

func (c *Console) signedIn(pattern string, do action) {
	c.route(pattern, c.serve(c.asCaller(do), checkedByForm))
}

// asCaller runs an action for the caller whose API key the session holds, or who the
// person is that has signed in.
func (c *Console) asCaller(do action) action {
	return func(v *request) error {
		if !v.session.calls() {
			return c.askToSignIn(v)
		}
		caller, err := c.callerOf(v)
		if err != nil {
			return c.keyRefused(v, err)
		}
		if caller.ReadOnly && v.r.Method != http.MethodGet && v.r.Method != http.MethodHead {
			return errRole
		}
		v.caller = caller
		return do(v)
	}
}

func (c *Console) administered(pattern string, do action) {
	c.open(pattern, func(v *request) error {
		switch {
		case c.opts.AdminKey == "":
			return errNoPage
		case !v.admin:
			return c.askToSignIn(v)
		}
		v.as = c.service.As(accounts.Actor{By: "console " + v.address()})
		return do(v)
	})
}

// staticFile serves the style sheet and the scripts. They may be kept, as their
// names in the pages change with their content.
func (c *Console) staticFile(v *request) error {
	name := v.r.PathValue("file")
	data, err := static.ReadFile("static/" + name)
	if err != nil {
		return errNoPage
	}
	v.w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	v.w.Header().Set("Content-Type", mediaTypes[name[strings.LastIndexByte(name, '.')+1:]])
	_, err = v.w.Write(data)
	return gone(err)
}

// mediaTypes are those of the static files by the ends of their names.
var mediaTypes = map[string]string{
	"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "txt": "text/plain; charset=utf-8", "svg": "image/svg+xml",
}

// home leads to the first page that the visitor may see.
func (c *Console) home(v *request) error {
	switch {
	case v.session.calls():
		return v.redirect("/decide")
	case v.admin:
		return v.redirect("/admin/organizations")
	}
	return v.redirect("/signin")
}

// errGone ends an action whose visitor has left: nobody can be told anything.
var errGone = errors.New("console: the visitor has left")

// gone is errGone for a write that failed.
func gone(err error) error {
	if err != nil {
		return errGone
	}
	return nil
}
