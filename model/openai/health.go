package openai

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// probeTime bounds one probe. An ailing server is probed every restFor, and
	// one that was found well not again within settleFor.
	probeTime = 5 * time.Second
	restFor   = 5 * time.Second
	settleFor = time.Second
)

// Health says of each server, by its URL, whether it is well as far as is known.
// One that is not is asked after all others.
func (b *Backend) Health() map[string]bool {
	health := make(map[string]bool, len(b.servers))
	for _, s := range b.servers {
		health[s.URL] = !s.health.ailing.Load()
	}
	return health
}

// health is what is known of how a server is. It says which one is preferred and
// keeps nobody from a server: the only one of a model is always asked. A request
// that fails proves nothing, since it may be the request that is bad, and must not
// be held against the requests of others: it only has the server probed.
type health struct {
	probe func(context.Context) error // returns nil where the server is well
	log   *slog.Logger
	host  string // for the log

	ailing    atomic.Bool
	probing   atomic.Bool           // watch runs
	recovered func(context.Context) // is called when the server is well again; nil: nothing

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup // for watch
}

func newHealth(host string, log *slog.Logger, probe func(context.Context) error) *health {
	h := &health{probe: probe, log: log, host: host}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// close ends probes and waits for them. No call of suspect may follow.
func (h *health) close() {
	h.cancel()
	h.wg.Wait()
}

// well notes that the server works: it has begun to answer.
func (h *health) well() {
	if h.ailing.Load() {
		h.set(true)
	}
}

// suspect has the server probed, unless it is or was a moment ago.
func (h *health) suspect() {
	if h.probing.CompareAndSwap(false, true) {
		h.wg.Go(h.watch)
	}
}

// watch probes the server until it is well.
func (h *health) watch() {
	defer h.probing.Store(false)
	for {
		ctx, cancel := context.WithTimeout(h.ctx, probeTime)
		err := h.probe(ctx)
		cancel()
		if h.ctx.Err() != nil {
			return
		}
		h.set(err == nil)
		if err == nil {
			h.sleep(settleFor)
			return
		}
		if !h.sleep(restFor) || !h.ailing.Load() {
			return
		}
	}
}

func (h *health) set(well bool) {
	if h.ailing.Swap(!well) == !well {
		return
	}
	level, message := slog.LevelInfo, "model server is well again"
	if !well {
		level, message = slog.LevelWarn, "model server does not answer; others are asked first"
	}
	h.log.LogAttrs(h.ctx, level, message, slog.String("server", h.host))
	if well && h.recovered != nil {
		h.wg.Go(func() { h.recovered(h.ctx) })
	}
}

// every calls f again and again until the server is closed.
func (h *health) every(interval time.Duration, f func(context.Context)) {
	h.wg.Go(func() {
		for h.sleep(interval) {
			f(h.ctx)
		}
	})
}

// sleep reports whether it came to its end.
func (h *health) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-h.ctx.Done():
		return false
	}
}

// answers asks the server for its models. Any answer but a server's own failure
// shows that it is there: not all have the route, or let everybody see it.
func (s *server) answers(ctx context.Context) error {
	x, err := s.send(ctx, &request{method: http.MethodGet, url: s.URL + "/models"})
	if err == nil {
		x.close()
		return nil
	}
	if f, ok := err.(*failure); ok && f.status > 0 && f.status < http.StatusInternalServerError {
		return nil
	}
	return err
}
