package txn

import (
	"context"
	"sync"

	"github.com/seed-506d8e5d/svc/storage"
)

// Turns lets transactions that lost once go on one at a time in each namespace,
// first come, first served. Running them all at once again would let one win
// and waste the work of the others. The zero value is ready.
type Turns struct {
	mu    sync.Mutex
	lines map[storage.Namespace]*line
}

type line struct {
	turn   chan struct{} // holds a value while it is nobody's turn
	length int           // who has the turn and who waits for it
}

// Wait returns when it is the caller's turn, which it must pass on, or with the
// context's error.
func (t *Turns) Wait(ctx context.Context, ns storage.Namespace) error {
	l := t.join(ns)
	select {
	case <-l.turn:
		return nil
	case <-ctx.Done():
		t.part(ns, l)
		return ctx.Err()
	}
}

// Pass ends the caller's turn.
func (t *Turns) Pass(ns storage.Namespace) {
	t.mu.Lock()
	l := t.lines[ns]
	t.mu.Unlock()
	l.turn <- struct{}{}
	t.part(ns, l)
}

func (t *Turns) join(ns storage.Namespace) *line {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines == nil {
		t.lines = make(map[storage.Namespace]*line)
	}
	l := t.lines[ns]
	if l == nil {
		l = &line{turn: make(chan struct{}, 1)}
		l.turn <- struct{}{}
		t.lines[ns] = l
	}
	l.length++
	return l
}

func (t *Turns) part(ns storage.Namespace, l *line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.length--; l.length == 0 {
		delete(t.lines, ns)
	}
}
