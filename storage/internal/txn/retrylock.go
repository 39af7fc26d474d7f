package txn

import (
	"context"
	"sync"

	"github.com/seed-506d8e5d/svc/storage"
)

// RetryLocks lets transactions that have met a conflict run again one at a time in
// each namespace, first come, first served. Running them all at once again would let
// one win and waste the work of the others. The zero value is ready.
type RetryLocks struct {
	mu    sync.Mutex
	locks map[storage.Namespace]*retryLock
}

type retryLock struct {
	free  chan struct{} // holds a value while nobody has the lock
	users int           // who has the lock or waits for it
}

// Lock returns when the caller has the lock of the namespace, or with the context's
// error.
func (t *RetryLocks) Lock(ctx context.Context, ns storage.Namespace) error {
	l := t.use(ns)
	select {
	case <-l.free:
		return nil
	case <-ctx.Done():
		t.leave(ns, l)
		return ctx.Err()
	}
}

// Unlock gives the caller's lock to who has waited longest.
func (t *RetryLocks) Unlock(ns storage.Namespace) {
	t.mu.Lock()
	l := t.locks[ns]
	t.mu.Unlock()
	l.free <- struct{}{}
	t.leave(ns, l)
}

func (t *RetryLocks) use(ns storage.Namespace) *retryLock {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.locks == nil {
		t.locks = make(map[storage.Namespace]*retryLock)
	}
	l := t.locks[ns]
	if l == nil {
		l = &retryLock{free: make(chan struct{}, 1)}
		l.free <- struct{}{}
		t.locks[ns] = l
	}
	l.users++
	return l
}

func (t *RetryLocks) leave(ns storage.Namespace, l *retryLock) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(t.locks, ns)
	}
}
