package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/cmd/svcd/internal/cli"
	"github.com/seed-506d8e5d/svc/console"
	"github.com/seed-506d8e5d/svc/egress"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model/llamaserver"
	"github.com/seed-506d8e5d/svc/model/openai"
	"github.com/seed-506d8e5d/svc/responses/websearch"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
	"github.com/seed-506d8e5d/svc/storage/pgstore"
	"github.com/seed-506d8e5d/svc/webhooks"
)

// cancelTimeout is how long requests have to end once they are cancelled.
const cancelTimeout = 5 * time.Second

// serve listens at once, so that /healthz answers while the store opens, and
// serves until ctx ends.
func (e environment) serve(ctx context.Context, c config) error {
	logger := slog.New(newLogHandler(e.stderr))
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	listener, err := c.listen(ctx)
	if err != nil {
		return err
	}
	observer, err := e.observe(ctx, c, logger)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer observer.stop()
	defer inBackground(ctx, returnMemory)()
	requests, cancelRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelRequests()
	gate := new(gate)
	gate.open(httpapi.Starting(httpapi.Options{Logger: logger}))
	server := newHTTPServer(requests, httpapi.TrustProxies(c.proxies, observer.Handler(gate)), logger)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	backend, closeModels, err := c.models.open(ctx, logger)
	defer closeModels()
	var r running
	if err == nil {
		err = r.start(ctx, &c, logger, backend, observer)
	}
	if err == nil {
		defer probe(ctx, backend)()
		defer watch(ctx, r.store, fail)()
		gate.open(r.handler)
		e.announce(c.url(listener.Addr()), r.key, r.link, c.console)
		select {
		case <-ctx.Done():
			logger.Info("shutting down", "drain", c.drain, "grace", c.grace)
			time.Sleep(c.drain)
			err = failure(ctx)
		case err = <-served:
			served <- http.ErrServerClosed
		}
	}
	err = errors.Join(err, r.beside.close())
	err = errors.Join(err, shutDown(server, r.service, c.grace, cancelRequests))
	if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	return errors.Join(err, r.close(&c))
}

func newHTTPServer(requests context.Context, handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),

		DisableGeneralOptionsHandler: true, // its answers have no request ID
	}
}

// running is what a server is made of once it has started. Where the start failed it has
// what was made before that.
type running struct {
	store   storage.Store
	service *svc.Service
	beside  *beside
	handler http.Handler
	key     string // that the first start creates
	link    string // signs in to the console with the key
}

// start opens the store and makes the service over it, and the handler of requests.
func (r *running) start(ctx context.Context, c *config, logger *slog.Logger, backend *openai.Backend, observer *observer) (err error) {
	if r.store, err = c.openStore(ctx, logger); err != nil {
		return err
	}
	c.judge = &callJudge{}
	if c.servers, err = c.reach(logger); err != nil {
		return err
	}
	if r.service, r.key, err = c.open(ctx, logger, r.store, backend, observer); err != nil {
		return err
	}
	people, err := c.signOn()
	if err != nil {
		return err
	}
	r.beside = c.beside(r.service)
	options := httpapi.Options{
		Logger: logger, AdminKey: c.adminKey, MaxRequests: c.maxRequests, MaxStreams: c.maxStreams, Metrics: observer.Metrics(), Ready: ctx.Err,
		Batches: r.beside.batches, Webhooks: r.beside.webhooks, VectorStores: r.beside.stores, Authenticate: authenticate(r.service, people),
	}
	if r.beside.mcp != nil {
		options.MCP = r.beside.mcp
	}
	api := httpapi.New(r.service, options)
	r.beside.batches.Start(api.Answer)
	r.handler, r.link, err = c.withConsole(httpapi.AllowOrigins(c.origins, api), r.service, r.key, console.Options{
		AdminKey: c.adminKey, SignOn: people, Logger: logger, Servers: servers(backend), Batches: r.beside.batches, Webhooks: r.beside.webhooks,
	})
	return err
}

// close closes what was made.
func (r *running) close(c *config) (err error) {
	if r.service != nil {
		err = r.service.Close()
	}
	if c.servers != nil {
		err = errors.Join(err, c.servers.Close())
	}
	if r.store != nil {
		err = errors.Join(err, r.store.Close())
	}
	return err
}

// open makes the service over a store. The key is the one that the first start
// creates, empty otherwise.
func (c config) open(ctx context.Context, logger *slog.Logger, store storage.Store, backend *openai.Backend, observer *observer) (service *svc.Service, key string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", fmt.Errorf("cannot find the program that extracts text, which is this one: %w", err)
	}
	options := svc.Options{
		Store: store, Logger: logger, Prices: c.models.prices, DefaultPrices: c.models.defaultPrices, AnyItems: c.models.anyItems, Open: c.openInterface || c.models.openInterface, Aliases: c.models.aliases,
		Routes: c.models.routes, Policies: c.models.policies, DefaultPolicies: c.models.defaultPolicies,
		Observer: observer.Telemetry, Extractor: &files.Process{Command: []string{self, cli.ReaderCommand}}, MaxDuration: c.maxDuration,
		TurnEnded: webhooks.Outbox{}.Put,
	}
	if backend != nil {
		options.Backend = backend
	}
	if c.servers != nil {
		options.MCP = c.servers
	}
	if c.search != "" {
		address, err := url.Parse(c.search)
		if err != nil {
			return nil, "", fmt.Errorf("-search: %w", err)
		}
		guard := egress.New(egress.Options{Hosts: []string{address.Hostname()}, Redirects: egress.SameHost, MaxBytes: 8 << 20, Timeout: -1})
		options.Search = &websearch.SearXNG{URL: c.search, HTTP: guard.Client()}
	}
	if service, err = svc.New(ctx, options); err != nil {
		if c.models.file != "" && fault.Is(err, fault.Invalid) { // something that the configuration names
			err = fmt.Errorf("%s: %w", c.models.file, err)
		}
		return nil, "", err
	}
	c.judge.service = service
	if key, err = service.Bootstrap(ctx, c.apiKey); err != nil {
		return nil, "", errors.Join(err, service.Close())
	}
	return service, key, nil
}

// open returns the backend of the models, nil for the built-in one, and what ends
// the model server that was started for it.
func (m models) open(ctx context.Context, logger *slog.Logger) (backend *openai.Backend, stop func(), err error) {
	stop = func() {}
	if m.gguf != "" {
		server, err := llamaserver.Start(ctx, llamaserver.Options{Model: m.gguf, Logger: logger})
		if err != nil {
			return nil, stop, fmt.Errorf("-gguf: %w", err)
		}
		stop = server.Close
		if m, err = m.withServer(server); err != nil {
			return nil, stop, err
		}
	}
	if m.options == nil {
		return nil, stop, nil
	}
	options := *m.options
	options.Logger = logger
	backend, err = openai.New(options)
	return backend, stop, err
}

// probeTime is how long model servers have to say what they are.
const probeTime = 10 * time.Second

// probe logs what the model servers are, in the background. The function that it
// returns ends that and releases the backend.
func probe(ctx context.Context, backend *openai.Backend) (release func()) {
	if backend == nil {
		return func() {}
	}
	stop := inBackground(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, probeTime)
		defer cancel()
		backend.Probe(ctx)
	})
	return func() {
		stop()
		backend.Close()
	}
}

func (c config) openStore(ctx context.Context, logger *slog.Logger) (storage.Store, error) {
	switch {
	case c.data == inMemory:
		return memstore.New(), nil
	case cli.IsDatabase(c.data):
		store, err := pgstore.Open(ctx, pgstore.Options{URL: c.data, Logger: logger})
		if err != nil {
			text := strings.Join(strings.Fields(err.Error()), " ") // the driver has a line for each address
			return nil, fmt.Errorf("cannot open the database of -data: %s; %s", text, databaseHint(text))
		}
		return store, nil
	}
	return c.openDirectory(ctx, logger)
}

// databaseHint says what to do about a database that cannot be opened.
func databaseHint(text string) string {
	switch {
	case strings.Contains(text, "SQLSTATE 3D000"):
		return "create it (createdb NAME) or correct the name in the URL"
	case strings.Contains(text, "SQLSTATE 28"), strings.Contains(text, "SQLSTATE 42501"):
		return "correct the user and password in the URL, and see docs/scaling.md for the rights that it needs"
	case strings.Contains(text, "cannot parse"):
		return "write it as postgres://USER:PASSWORD@HOST:5432/DATABASE"
	}
	return "see that PostgreSQL runs there and that this machine may connect"
}

// shutDown stops accepting, lets running turns and requests end within the grace
// period, cancels those that have not, and closes what is left. A turn that is
// cancelled tells its client so before its request is.
func shutDown(server *http.Server, service *svc.Service, grace time.Duration, cancelRequests context.CancelFunc) error {
	running, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	turns := make(chan error, 1)
	go func() {
		if service == nil {
			turns <- nil
			return
		}
		turns <- service.Shutdown(running)
	}()
	err := server.Shutdown(running)
	turnsErr := <-turns
	for _, end := range []func(){func() {}, cancelRequests} {
		if err == nil {
			return turnsErr
		}
		end()
		ending, cancel := context.WithTimeout(context.Background(), cancelTimeout)
		err = server.Shutdown(ending)
		cancel()
	}
	return errors.Join(turnsErr, server.Close())
}

// gate hands requests to the handler of the moment.
type gate struct{ handler atomic.Pointer[http.Handler] }

func (g *gate) open(h http.Handler) { g.handler.Store(&h) }

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*g.handler.Load()).ServeHTTP(w, r) }

// announce prints the server's URL, where the console is, and, where the first start
// made a key, the key, a command to try it with, and a link that signs in.
func (e environment) announce(url, key, link string, console bool) {
	fmt.Fprintf(e.stdout, "svcd listens on %s\n", url)
	if key == "" {
		if console {
			fmt.Fprintf(e.stdout, "Console: %s%s\n", url, consolePath)
		}
		return
	}
	fmt.Fprintf(e.stdout, `
Your API key, shown only this once: %s

Try it:

curl %s/v1/systemone -H "Authorization: Bearer %s" -H "Content-Type: application/json" -d '%s'
`, key, url, key, firstDecision)
	if link != "" {
		fmt.Fprintf(e.stdout, "\nOr in a browser, signed in by this link once and for ten minutes:\n\n%s%s\n", url, link)
	}
}

// firstDecision is the body of the command that a newcomer pastes.
const firstDecision = `{"model":"svc-snap-preview","state":"I was charged twice for my subscription this month.",` +
	`"questions":{"team":{"type":"choice","instructions":"Which team should handle this?","criteria":{` +
	`"billing":"Charges, invoices and refunds","technical":"Errors and outages","sales":"Questions before buying"}}}}`

// reachable is an address that a client on this machine can use.
func reachable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	return net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
}
