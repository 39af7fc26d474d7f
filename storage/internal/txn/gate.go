package txn

import (
	"context"
	"fmt"
	"sync"

	"github.com/seed-506d8e5d/svc/storage"
)

// Gate counts the calls of a store and ends them before the store is closed. The
// zero value is open.
type Gate struct {
	mu      sync.Mutex
	running int
	idle    chan struct{} // made by the first Close, closed when nothing is running
	closed  chan struct{} // made by the first Close, closed when it has finished
	err     error         // of the first Close, valid once closed
}

// Enter begins a call, which ends with Leave unless there is an error: ErrClosed,
// ErrTooLarge for a namespace that cannot be, or that of the context.
func (g *Gate) Enter(ctx context.Context, ns storage.Namespace) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.idle != nil {
		return storage.ErrClosed
	}
	if len(ns) == 0 || len(ns) > storage.MaxNamespace {
		return fmt.Errorf("%w: namespace of %d bytes", storage.ErrTooLarge, len(ns))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	g.running++
	return nil
}

// Leave ends a call.
func (g *Gate) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	if g.idle != nil && g.running == 0 {
		close(g.idle)
	}
}

// Close lets no more calls begin, waits for those that run, then calls release.
// A later Close waits for the first and returns what it did.
func (g *Gate) Close(release func() error) error {
	g.mu.Lock()
	first := g.idle == nil
	if first {
		g.idle, g.closed = make(chan struct{}), make(chan struct{})
		if g.running == 0 {
			close(g.idle)
		}
	}
	g.mu.Unlock()
	if !first {
		<-g.closed
		return g.err
	}
	<-g.idle
	g.err = release()
	close(g.closed)
	return g.err
}
