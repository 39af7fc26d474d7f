package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/responses/websearch"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/badgerstore"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// cancelTimeout is how long requests have to end once they are cancelled.
const cancelTimeout = 5 * time.Second

// serve listens at once, so that /healthz answers while the store opens, and
// serves until ctx ends.
func (e environment) serve(ctx context.Context, c config) error {
	logger := slog.New(slog.NewTextHandler(e.stderr, nil))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.addr)
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	requests, cancelRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelRequests()
	gate := new(gate)
	gate.open(httpapi.Starting(httpapi.Options{Logger: logger}))
	server := &http.Server{
		Handler:           gate,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),

		DisableGeneralOptionsHandler: true, // its answers have no request ID
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	service, key, err := c.open(ctx, logger)
	if err == nil {
		gate.open(httpapi.New(service, httpapi.Options{Logger: logger, AdminKey: c.adminKey, MaxRequests: c.maxRequests}))
		e.announce(listener.Addr(), key)
		select {
		case <-ctx.Done():
			logger.Info("shutting down", "grace", c.grace)
		case err = <-served:
			served <- http.ErrServerClosed
		}
	}
	err = errors.Join(err, shutDown(server, c.grace, cancelRequests))
	if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	if service != nil {
		err = errors.Join(err, service.Close())
	}
	return err
}

// open opens the store and makes the service. The key is the one that the first
// start creates, empty otherwise.
func (c config) open(ctx context.Context, logger *slog.Logger) (service *svc.Service, key string, err error) {
	store, err := c.openStore(logger)
	if err != nil {
		return nil, "", err
	}
	options := svc.Options{Store: store, Logger: logger}
	if c.search != "" {
		options.Search = &websearch.SearXNG{URL: c.search}
	}
	if service, err = svc.New(ctx, options); err != nil {
		return nil, "", err
	}
	if key, err = service.Bootstrap(ctx, c.apiKey); err != nil {
		return nil, "", errors.Join(err, service.Close())
	}
	return service, key, nil
}

func (c config) openStore(logger *slog.Logger) (storage.Store, error) {
	if c.data == inMemory {
		return memstore.New(), nil
	}
	return badgerstore.Open(badgerstore.Options{Dir: c.data, Logger: logger})
}

// shutDown stops accepting, lets running requests end within the grace period,
// cancels those that have not, and closes what is left.
func shutDown(server *http.Server, grace time.Duration, cancelRequests context.CancelFunc) error {
	for _, timeout := range []time.Duration{grace, cancelTimeout} {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		err := server.Shutdown(ctx)
		cancel()
		if err == nil {
			return nil
		}
		cancelRequests()
	}
	return server.Close()
}

// gate hands requests to the handler of the moment.
type gate struct{ handler atomic.Pointer[httpapi.API] }

func (g *gate) open(h *httpapi.API) { g.handler.Store(h) }

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.handler.Load().ServeHTTP(w, r) }

// announce prints the server's URL and, where the first start made a key, the
// key and a command to try it with.
func (e environment) announce(addr net.Addr, key string) {
	url := "http://" + reachable(addr)
	fmt.Fprintf(e.stdout, "svcd listens on %s\n", url)
	if key == "" {
		return
	}
	fmt.Fprintf(e.stdout, `
Your API key, shown only this once: %s

Try it:

curl %s/v1/systemone -H "Authorization: Bearer %s" -H "Content-Type: application/json" -d '%s'
`, key, url, key, firstDecision)
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
