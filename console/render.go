package console

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/signon"
)

//go:embed templates
var templates embed.FS

// pages are the templates by name, each with the layout.
type pages map[string]*template.Template

// parsePages reads the templates. Links in them begin with the prefix.
func parsePages(prefix string) (pages, error) {
	functions := template.FuncMap{
		"href":    func(parts ...any) string { return prefix + fmt.Sprint(parts...) },
		"static":  func(name string) (string, error) { return staticPath(prefix, name) },
		"when":    func(unix int64) string { return time.Unix(unix, 0).UTC().Format("2006-01-02 15:04:05") },
		"iso":     func(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) },
		"percent": func(p float64) string { return fmt.Sprintf("%.1f %%", 100*p) },
		"width":   func(p float64) string { return fmt.Sprintf("%.2f", 100*p) },
		"bytes":   sizeText,
		"clip":    clip,
		"money":   money,
		"grouped": groupedAny,
		"during":  during,
		"changes": changes,
		"tokens":  func(s accounts.Sums) int64 { return s.InputTokens + s.OutputTokens },
		"list":    func(all ...any) []any { return all },
		"query":   func(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") },
		"span":    spanText,
		"head":    headline,
		"day":     func(unix int64) string { return time.Unix(unix, 0).UTC().Format("Jan 2") },
		"clock":   func(unix int64) string { return time.Unix(unix, 0).UTC().Format("15:04:05") },
		"add":     func(a, b int) int { return a + b },
	}
	layout, err := template.New("layout").Funcs(functions).ParseFS(templates, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, err
	}
	result := make(pages)
	files, err := fs.Glob(templates, "templates/*.html")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if name == "layout" || name == "parts" {
			continue
		}
		page, err := template.Must(layout.Clone()).ParseFS(templates, file)
		if err != nil {
			return nil, err
		}
		result[name] = page
	}
	return result, nil
}

// staticPath is the path of a static file with the hash of its content, so that
// browsers may keep it for ever.
func staticPath(prefix, name string) (string, error) {
	data, err := static.ReadFile("static/" + name)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return prefix + "/static/" + name + "?v=" + hex.EncodeToString(sum[:6]), nil
}

// clip cuts a text that is only shown to be recognized.
func clip(limit int, text string) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

func sizeText(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d B", n)
	case n < unit*unit:
		return fmt.Sprintf("%.1f KiB", float64(n)/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.1f MiB", float64(n)/unit/unit)
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/unit/unit/unit)
}

// headline is the first line of a text that has one, cut to be recognized.
func headline(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return clip(maxLine, line)
}

// spanText writes milliseconds as people read them, and nothing for none.
func spanText(ms int64) string {
	switch {
	case ms <= 0:
		return ""
	case ms < 1000:
		return fmt.Sprintf("%d ms", ms)
	case ms < 100_000:
		return fmt.Sprintf("%.2f s", float64(ms)/1000)
	}
	return (time.Duration(ms) * time.Millisecond).Round(time.Second).String()
}

// action answers a request: it writes an answer, or writes nothing and returns an
// error.
type action func(*request) error

// request is one request of a browser and what answers it needs.
type request struct {
	c       *Console
	w       *tracked
	r       *http.Request
	session session
	admin   bool
	caller  svc.Caller   // of pages that need an API key
	as      *svc.Service // of pages of the administration: the service for who is signed in
	status  int          // of the page; 0 is 200
	place   string       // the page's place in the navigation; empty is that of its template
}

func (v *request) ctx() context.Context { return v.r.Context() }

// tracked remembers whether an answer has begun.
type tracked struct {
	http.ResponseWriter
	begun bool
}

func (t *tracked) WriteHeader(status int) {
	t.begun = true
	t.ResponseWriter.WriteHeader(status)
}

func (t *tracked) Write(p []byte) (int, error) {
	t.begun = true
	return t.ResponseWriter.Write(p)
}

func (t *tracked) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// maxForm bounds the body of a form, files apart: 20 MiB, so that a state of
// Decisions fits.
const maxForm = 20 << 20

// tokenCheck says where a change carries the session's token. The route decides,
// never the request: a header that chose would choose to go unchecked.
type tokenCheck bool

const (
	checkedByForm   tokenCheck = false // in the header X-Console-Token or the form's field "token"
	checkedByAction tokenCheck = true  // the action reads its body as a stream and calls checkToken itself
)

// serve serves one route: it restores the session, checks the token of a change,
// runs the action and shows its error.
func (c *Console) serve(do action, check tokenCheck) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &request{c: c, w: &tracked{ResponseWriter: w}, r: r}
		defer v.recover()
		v.session, v.admin = c.restore(r)
		var err error
		if r.Method == http.MethodPost && check == checkedByForm {
			err = v.checkForm()
		}
		if err == nil {
			err = do(v)
		}
		if err != nil && !errors.Is(err, errGone) {
			v.fail(err)
		}
	})
}

// checkForm parses the form of a change and refuses one without the session's
// token. A visitor without a session has nothing that could be forged.
func (v *request) checkForm() error {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
	if err := v.r.ParseForm(); err != nil {
		return &fault.Error{Kind: fault.TooLarge, Message: "The form is too large or cannot be read.", Err: err}
	}
	if !v.session.signedIn() {
		return nil
	}
	return v.checkToken(cmp.Or(v.r.Header.Get("X-Console-Token"), v.r.PostForm.Get("token")))
}

// checkToken refuses a token that is not the session's.
func (v *request) checkToken(token string) error {
	if !sameText(token, v.session.Token) {
		return &fault.Error{Kind: fault.Denied, Message: "The form is not from this session. Load the page again."}
	}
	return nil
}

// view is what every template gets.
type view struct {
	Title                     string
	Page                      string // its place in the navigation
	Token                     string
	Nav                       []navGroup
	SignedIn, Admin, CanAdmin bool
	Person                    *signon.Person // who has signed in at the provider
	Data                      any
}

// render shows a page.
func (v *request) render(name, title string, data any) error {
	var body bytes.Buffer
	err := v.c.pages[name].ExecuteTemplate(&body, "layout", view{
		Title: title, Page: cmp.Or(v.place, name), Token: v.session.Token,
		Nav: v.navigation(cmp.Or(v.place, name)), SignedIn: v.session.calls(), Person: v.session.Person, Admin: v.admin, CanAdmin: v.c.opts.AdminKey != "", Data: data,
	})
	if err != nil {
		return err
	}
	return v.html(body.Bytes())
}

// fragmentAsked reports whether static/console.js asks for a piece of the page
// instead of the whole.
func (v *request) fragmentAsked() bool { return v.r.Header.Get("X-Console-Fragment") != "" }

// fragment shows a piece of a page, for a script that puts it in.
func (v *request) fragment(name, block string, data any) error {
	var body bytes.Buffer
	if err := v.c.pages[name].ExecuteTemplate(&body, block, data); err != nil {
		return err
	}
	return v.html(body.Bytes())
}

func (v *request) html(body []byte) error {
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if v.status != 0 {
		v.w.WriteHeader(v.status)
	}
	_, err := v.w.Write(body)
	return gone(err)
}

// redirect leads to a page below the prefix.
func (v *request) redirect(to string) error {
	http.Redirect(v.w, v.r, v.c.opts.Prefix+to, http.StatusSeeOther)
	return nil
}

// escapedPath is the request's path below the prefix with its query, to come
// back to after the sign-in.
func (v *request) escapedPath() string {
	return url.QueryEscape(strings.TrimPrefix(v.r.URL.RequestURI(), v.c.opts.Prefix))
}

// isLocal reports whether next is the path of a page below the prefix, so that a
// sign-in leads nowhere else. Dots are refused in every spelling: a path with them
// would be cleaned, by us or by the browser, to one outside of the prefix.
func isLocal(next string) bool {
	u, err := url.Parse(next)
	return err == nil && u.Scheme == "" && u.Host == "" && !strings.Contains(next, `\`) &&
		strings.HasPrefix(next, "/") && path.Clean("/"+u.Path) == u.Path
}

// errNoPage is the error for a path without a page.
var errNoPage = &fault.Error{Kind: fault.NotFound, Message: "There is no such page."}

// fail shows an error.
func (v *request) fail(err error) {
	e := fault.From(err)
	v.logFailure("", e)
	if v.w.begun {
		panic(http.ErrAbortHandler)
	}
	v.status = httpapi.Status(e.Kind)
	if v.fragmentAsked() {
		_ = v.fragment("error", "error", e.Message)
		return
	}
	_ = v.render("error", "That did not work", e.Message)
}

// logFailure logs the cause of an error that is not the visitor's: an internal
// one, or that of a model server or a store. The ID is that of the response that
// failed, if there is one.
func (v *request) logFailure(response string, e *fault.Error) {
	level := slog.LevelWarn
	switch e.Kind {
	case fault.Internal:
		level = slog.LevelError
	case fault.Upstream, fault.Unavailable:
	default:
		return
	}
	attrs := []slog.Attr{slog.String("path", clip(128, v.r.URL.Path)), slog.String("organization", v.caller.Organization), slog.String("error", e.Code)}
	if response != "" {
		attrs = append(attrs, slog.String("response", response))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.String("cause", e.Err.Error()))
	}
	v.c.opts.Logger.LogAttrs(v.ctx(), level, "console: request failed", attrs...)
}

// recover turns a panic into an internal error.
func (v *request) recover() {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	v.c.opts.Logger.ErrorContext(v.ctx(), "console: panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	v.fail(&fault.Error{Kind: fault.Internal, Message: "An internal error occurred."})
}
