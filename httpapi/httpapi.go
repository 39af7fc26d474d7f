// Package httpapi is the wire: it turns the methods of a [svc.Service] into the
// routes, bodies, errors and event streams of the interface, and does nothing
// else. Its files are named for the nouns of the spec; what they share is here
// (routes), in call.go (one request), errors.go (the two error shapes) and
// sse.go (event streams).
//
//	http.ListenAndServe(addr, httpapi.New(service, httpapi.Options{}))
package httpapi

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/batches"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/admission"
	"github.com/seed-506d8e5d/svc/internal/ids"
	"github.com/seed-506d8e5d/svc/vectorstores"
	"github.com/seed-506d8e5d/svc/webhooks"
)

// Options are what a server may choose. The zero value is usable.
type Options struct {
	// Logger gets one line per request and one per internal error; nil is
	// slog.Default(). No line holds a key, a prompt or an answer.
	Logger *slog.Logger

	// Authenticate says who calls. Nil takes API keys of the service as bearers, and in
	// the Messages interface in the header x-api-key, too. An
	// error that is a *svc.Error says why nobody does: Unauthenticated or Denied.
	// The organization of a caller should be one that the service knows (see
	// [svc.Service.CallerFor] and [accounts.NewOrganization]): what the end of a
	// process interrupts is taken up for those.
	Authenticate func(*http.Request) (svc.Caller, error)

	// Only are the interfaces that are served; nil serves all. For one that does not
	// exist nothing is served, which New says as an error in the log.
	Only []Interface

	// AdminKey enables /admin/v1 for its bearer; empty leaves those routes out.
	AdminKey string

	// Metrics serves GET /metrics for the bearer of the admin key; nil leaves the
	// route out.
	Metrics http.Handler

	// Ready is asked by GET /readyz besides the service; nil is always ready.
	Ready func() error

	// MaxRequests is how many requests with an API key are worked on at once,
	// MaxStreams how many streams may wait for their model besides, and MaxBodies
	// how many bytes the bodies of all of them may have, but for small ones. One
	// more is refused with 503. An organization gets half of the requests and
	// streams that others leave, and a third of the bytes; over that it is refused
	// with 429. 0 is the default.
	MaxRequests, MaxStreams int
	MaxBodies               int64

	// Batches are served at /v1/batches; nil leaves those routes out. Who makes them
	// starts them with [API.Answer].
	Batches *batches.Service

	// Webhooks are served at /v1/webhook_endpoints; nil leaves those routes out.
	Webhooks *webhooks.Service

	// VectorStores are served at /v1/vector_stores; nil leaves those routes out.
	VectorStores *vectorstores.Service

	// MCP serves the Model Context Protocol at /mcp (see package mcpserver); nil
	// leaves the route out.
	MCP interface {
		Serve(w http.ResponseWriter, r *http.Request, caller svc.Caller, answer func(ctx context.Context, caller svc.Caller, path string, body []byte) (status int, requestID string, answer []byte))
	}

	// NewRequestID makes the X-Request-Id of an answer; nil is a random one.
	NewRequestID func() string
}

// API is the handler of the whole interface.
type API struct {
	service *svc.Service
	opts    Options
	mux     *http.ServeMux

	admission *admission.Controller
	guesses   *rate.Limiter      // of the admin key
	inside    map[string]methods // the routes that lines of batches are sent to

	page func() ([]byte, error) // of the reference, made when it is first asked for
}

// New returns the handler. It is safe for concurrent use, like any handler, and
// holds nothing to be closed.
func New(service *svc.Service, opts Options) *API {
	a := newAPI(service, opts)
	a.checkOnly()
	for _, routes := range a.tables() {
		for path, methods := range routes {
			if !a.serves(path) {
				continue
			}
			if slices.Contains(batches.Endpoints, path) {
				a.inside[path] = methods
			}
			a.mux.Handle(path, a.handler(methods.serve))
		}
	}
	if opts.MCP != nil && a.serves(mcpPath) {
		// Not in the tables, nor in openapi.json: it speaks a protocol of its own.
		a.mux.Handle(mcpPath, a.handler(methods{"POST": authenticated(a.mcp)}.serve))
	}
	a.mux.Handle("/", a.handler(methods(nil).serve))
	return a
}

// Starting returns the handler of a server whose service is not open yet: it
// answers GET /healthz, and everything else is Unavailable for the moment. It
// takes the Logger and NewRequestID of the options.
func Starting(opts Options) *API {
	a := newAPI(nil, opts)
	a.mux.Handle("/healthz", a.handler(methods{"GET": a.health}.serve))
	a.mux.Handle("/", a.handler(func(*call) error { return notReady(nil) }))
	return a
}

func newAPI(service *svc.Service, opts Options) *API {
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	if opts.Authenticate == nil {
		opts.Authenticate = func(r *http.Request) (svc.Caller, error) { return service.Authenticate(r.Context(), APIKey(r)) }
	}
	if opts.NewRequestID == nil {
		opts.NewRequestID = func() string { return ids.New("req") }
	}
	a := &API{
		service: service, opts: opts, mux: http.NewServeMux(), inside: map[string]methods{},
		admission: admission.New(admission.Options{Requests: int64(opts.MaxRequests), Streams: int64(opts.MaxStreams), Bytes: opts.MaxBodies}),
		guesses:   rate.NewLimiter(1, guesses),
	}
	a.page = sync.OnceValues(a.makePage)
	return a
}

// tables are all routes, by whose they are.
func (a *API) tables() []map[string]methods {
	return []map[string]methods{a.routes(), a.adminRoutes()}
}

// ServeHTTP implements [http.Handler].
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !plain(r) {
		a.handler(methods(nil).serve).ServeHTTP(w, r)
		return
	}
	a.mux.ServeHTTP(w, r)
}

// plain reports whether the request names a path as routes are written. The mux
// answers others by itself, with a redirect or an error page, which no client
// of the interface expects.
func plain(r *http.Request) bool {
	p := r.URL.EscapedPath()
	return r.Method != http.MethodConnect && strings.HasPrefix(p, "/") && (path.Clean(p) == strings.TrimSuffix(p, "/") || p == "/")
}

// endpoint answers one kind of request. It either writes an answer and returns
// nil, or writes nothing and returns an error for the route's shape.
type endpoint func(*call) error

// methods are the endpoints of one path by HTTP method.
type methods map[string]endpoint

// routes are the paths of the interface.
func (a *API) routes() map[string]methods {
	routes := a.callRoutes()
	maps.Copy(routes, a.objectRoutes())
	return routes
}

// callRoutes are the server's own, and those that call models.
func (a *API) callRoutes() map[string]methods {
	return map[string]methods{
		"/healthz":      {"GET": a.health},
		"/openapi.json": {"GET": a.describe},
		"/docs":         {"GET": a.reference},
		"/readyz":       {"GET": a.ready},

		decisionsPath:                        {"POST": authenticated(a.decide)},
		"/v1/decisions":                      {"POST": authenticated(a.createDecisions), "GET": authenticated(a.listDecisions)},
		"/v1/decisions/{decision_id}":        {"GET": authenticated(a.getDecision), "DELETE": authenticated(a.deleteDecision)},
		"/v1/decisions/{decision_id}/labels": {"POST": authenticated(a.labelDecision)},
		"/v1/rerank":                         {"POST": authenticated(a.rerank)},

		"/v1/calibrations":                  {"POST": authenticated(a.createCalibration), "GET": authenticated(a.listCalibrations)},
		"/v1/calibrations/{calibration_id}": {"GET": authenticated(a.getCalibration), "DELETE": authenticated(a.deleteCalibration)},

		"/v1/models":            {"GET": authenticated(a.listModels)},
		"/v1/models/{model...}": {"GET": authenticated(a.getModel)},

		socketPath:                                {"POST": authenticated(a.createResponse), "GET": authenticated(a.responseSocket)},
		"/v1/responses/compact":                   {"POST": authenticated(a.compactResponse)},
		"/v1/responses/input_tokens":              {"POST": authenticated(a.countInputTokens)},
		"/v1/responses/{response_id}":             {"GET": authenticated(a.getResponse), "DELETE": authenticated(a.deleteResponse)},
		"/v1/responses/{response_id}/cancel":      {"POST": authenticated(a.cancelResponse)},
		"/v1/responses/{response_id}/input_items": {"GET": authenticated(a.listInputItems)},

		"/v1/chat/completions": {"POST": authenticated(a.createChat), "GET": authenticated(a.listChats)},
		"/v1/chat/completions/{completion_id}": {
			"GET": authenticated(a.getChat), "POST": authenticated(a.updateChat), "DELETE": authenticated(a.deleteChat)},
		"/v1/chat/completions/{completion_id}/messages": {"GET": authenticated(a.listChatMessages)},

		messagesPath:                {"POST": authenticated(a.createMessage)},
		"/v1/messages/count_tokens": {"POST": authenticated(a.countMessageTokens)},

		"/v1/completions": {"POST": authenticated(a.createCompletion)},

		"/v1/moderations": {"POST": authenticated(a.createModeration)},

		"/v1/embeddings": {"POST": authenticated(a.createEmbeddings)},
	}
}

// objectRoutes are those of what is stored beside answers.
func (a *API) objectRoutes() map[string]methods {
	return map[string]methods{
		"/v1/batches":                   {"POST": authenticated(a.createBatch), "GET": authenticated(a.listBatches)},
		"/v1/batches/{batch_id}":        {"GET": authenticated(a.getBatch)},
		"/v1/batches/{batch_id}/cancel": {"POST": authenticated(a.cancelBatch)},

		"/v1/vector_stores": {"POST": authenticated(a.createVectorStore), "GET": authenticated(a.listVectorStores)},
		"/v1/vector_stores/{vector_store_id}": {
			"GET": authenticated(a.getVectorStore), "POST": authenticated(a.updateVectorStore), "DELETE": authenticated(a.deleteVectorStore)},
		"/v1/vector_stores/{vector_store_id}/search": {"POST": authenticated(a.searchVectorStore)},
		"/v1/vector_stores/{vector_store_id}/files":  {"POST": authenticated(a.addVectorStoreFile), "GET": authenticated(a.listVectorStoreFiles)},
		"/v1/vector_stores/{vector_store_id}/files/{file_id}": {
			"GET": authenticated(a.getVectorStoreFile), "POST": authenticated(a.updateVectorStoreFile), "DELETE": authenticated(a.deleteVectorStoreFile)},
		"/v1/vector_stores/{vector_store_id}/files/{file_id}/content":             {"GET": authenticated(a.vectorStoreFileContent)},
		"/v1/vector_stores/{vector_store_id}/file_batches":                        {"POST": authenticated(a.createFileBatch)},
		"/v1/vector_stores/{vector_store_id}/file_batches/{file_batch_id}":        {"GET": authenticated(a.getFileBatch)},
		"/v1/vector_stores/{vector_store_id}/file_batches/{file_batch_id}/cancel": {"POST": authenticated(a.cancelFileBatch)},
		"/v1/vector_stores/{vector_store_id}/file_batches/{file_batch_id}/files":  {"GET": authenticated(a.listFileBatchFiles)},

		"/v1/webhook_event_types": {"GET": authenticated(a.listWebhookEventTypes)},
		"/v1/webhook_endpoints":   {"POST": authenticated(a.createWebhook), "GET": authenticated(a.listWebhooks)},
		"/v1/webhook_endpoints/{webhook_endpoint_id}": {
			"GET": authenticated(a.getWebhook), "POST": authenticated(a.updateWebhook), "DELETE": authenticated(a.deleteWebhook)},
		"/v1/webhook_endpoints/{webhook_endpoint_id}/rotate_secret":                   {"POST": authenticated(a.rotateWebhookSecret)},
		"/v1/webhook_endpoints/{webhook_endpoint_id}/test":                            {"POST": authenticated(a.testWebhook)},
		"/v1/webhook_endpoints/{webhook_endpoint_id}/deliveries":                      {"GET": authenticated(a.listWebhookDeliveries)},
		"/v1/webhook_endpoints/{webhook_endpoint_id}/deliveries/{delivery_id}/resend": {"POST": authenticated(a.resendWebhook)},

		"/v1/conversations": {"POST": authenticated(a.createConversation)},
		"/v1/conversations/{conversation_id}": {
			"GET": authenticated(a.getConversation), "POST": authenticated(a.updateConversation), "DELETE": authenticated(a.deleteConversation)},
		"/v1/conversations/{conversation_id}/items":           {"GET": authenticated(a.listItems), "POST": authenticated(a.addItems)},
		"/v1/conversations/{conversation_id}/items/{item_id}": {"GET": authenticated(a.getItem), "DELETE": authenticated(a.deleteItem)},

		"/v1/files":                   {"POST": authenticated(a.uploadFile), "GET": authenticated(a.listFiles)},
		"/v1/files/{file_id}":         {"GET": authenticated(a.getFile), "DELETE": authenticated(a.deleteFile)},
		"/v1/files/{file_id}/content": {"GET": authenticated(a.fileContent)},
	}
}

// handler serves one path: it runs the endpoint, turns its error into the path's
// shape and logs the request.
func (a *API) handler(serve endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { newCall(a, w, r).do(serve) })
}

// do answers the call.
func (c *call) do(serve endpoint) {
	defer c.finish()
	c.w.Header().Set("X-Request-Id", c.id)
	if c.r.ProtoMajor == 1 && len(c.r.TransferEncoding) > 0 {
		// Whether there was a Content-Length besides, which somebody on the way may
		// have gone by, net/http does not say: nothing follows on the connection.
		c.w.Header().Set("Connection", "close")
	}
	if decides(c.r.URL.Path) {
		c.w.Header().Set("X-Typesafe-Request-Id", c.id) // what its clients read
	}
	if upgrades(c.r) && (c.r.URL.Path != socketPath || c.r.Method != http.MethodGet) {
		serve = (*call).upgradeRequired
	}
	if err := serve(c); err != nil && err != errReplayed {
		c.fail(err)
	}
}

// serve runs the endpoint for the request's method. A path without methods is
// unknown.
func (m methods) serve(c *call) error {
	if m == nil {
		return &fault.Error{Kind: fault.NotFound, Code: fault.CodeNotFound, Message: "There is no route " + c.r.Method + " " + c.r.URL.Path + "."}
	}
	method := c.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if e, ok := m[method]; ok {
		return e(c)
	}
	return c.methodNotAllowed(m.allowed())
}

// allowed is the value of the Allow header.
func (m methods) allowed() string {
	var names []string
	for name := range m {
		names = append(names, name)
		if name == http.MethodGet {
			names = append(names, http.MethodHead)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func (a *API) health(c *call) error {
	return c.json(map[string]string{"status": "ok"})
}

func (a *API) ready(c *call) error {
	err := a.service.Ready(c.ctx())
	if err == nil && a.opts.Ready != nil {
		err = a.opts.Ready()
	}
	if err != nil && fault.From(err).Code == fault.CodeStorage {
		return err
	}
	if err != nil {
		return notReady(err)
	}
	return a.health(c)
}

func notReady(cause error) error {
	return &fault.Error{
		Kind:       fault.Unavailable,
		Code:       fault.CodeUnavailable,
		Message:    "The service is not ready.",
		RetryAfter: time.Second,
		Err:        cause,
	}
}
