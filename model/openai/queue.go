package openai

import (
	"context"
	"slices"
	"sync"
	"time"
)

// queue lets a number of requests at a time to a server. Those that wait are let
// in by whose they are: next comes the tenant with the fewest requests there, and
// among equals the one whose last turn is longest ago. So nobody's burst makes
// others wait for more than their turn.
type queue struct {
	mu      sync.Mutex
	free    int
	turns   uint64
	tenants map[string]*share // those with a request there or waiting
	waiting []*waiter         // in the order in which they came
}

// share is what a tenant has of a queue.
type share struct {
	running, waiting int
	last             uint64 // its last turn
}

type waiter struct {
	tenant string
	turn   chan struct{} // closed when it is let in
}

func newQueue(places int) *queue {
	return &queue{free: places, tenants: map[string]*share{}}
}

// enter takes a place, and waits for one as long as is given. It returns errQueue
// where there was none, or the error of ctx. A nil queue has always a place.
func (q *queue) enter(ctx context.Context, tenant string, wait time.Duration) error {
	if q == nil {
		return nil
	}
	w, err := q.join(tenant, wait > 0)
	if w == nil {
		return err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = errQueue
	}
	q.giveUp(w)
	return err
}

// join takes a place or joins those that wait; it returns nothing for a place.
func (q *queue) join(tenant string, wait bool) (*waiter, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.tenants[tenant]
	if s == nil && (q.free > 0 || wait) {
		s = &share{}
		q.tenants[tenant] = s
	}
	switch {
	case q.free > 0:
		q.take(s)
		return nil, nil
	case !wait:
		return nil, errQueue
	}
	s.waiting++
	w := &waiter{tenant, make(chan struct{})}
	q.waiting = append(q.waiting, w)
	return w, nil
}

// giveUp takes back a wait, or the place that it got meanwhile.
func (q *queue) giveUp(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, w)
	if i < 0 {
		q.release(w.tenant)
		return
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	q.tenants[w.tenant].waiting--
	q.forget(w.tenant)
}

// leave gives a place back.
func (q *queue) leave(tenant string) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.release(tenant)
}

// The rest is called with the lock held.

func (q *queue) take(s *share) {
	q.turns++
	q.free--
	s.running++
	s.last = q.turns
}

func (q *queue) release(tenant string) {
	q.free++
	q.tenants[tenant].running--
	if len(q.waiting) > 0 {
		q.next()
	}
	q.forget(tenant)
}

// next lets in the one whose turn it is.
func (q *queue) next() {
	first := 0
	for i, w := range q.waiting {
		s, best := q.tenants[w.tenant], q.tenants[q.waiting[first].tenant]
		if s.running < best.running || s.running == best.running && s.last < best.last {
			first = i
		}
	}
	w := q.waiting[first]
	q.waiting = slices.Delete(q.waiting, first, first+1)
	s := q.tenants[w.tenant]
	s.waiting--
	q.take(s)
	close(w.turn)
}

func (q *queue) forget(tenant string) {
	if s := q.tenants[tenant]; s.running == 0 && s.waiting == 0 {
		delete(q.tenants, tenant)
	}
}
