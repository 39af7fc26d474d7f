// Package fairqueue lets a bounded number of requests at a time to a model server, fair
// to the tenants that they belong to.
package fairqueue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/model"
)

// Queue lets a number of requests at a time to a server. Those that wait are let in by
// whose they are: next comes the tenant with the fewest requests there, and
// among equals the one whose last turn is longest ago. So nobody's burst makes
// others wait for more than their turn. Nor may anybody's long answers: while
// others use the server too a tenant has at most three quarters of the places that
// those leave, so that there is one for who comes next.
//
// Work in the background (see [model.IsBackground]) gets a place when nobody else
// waits, and leaves some free for who comes next: a quarter while others use the
// server, and one otherwise.
type Queue struct {
	mu      sync.Mutex
	places  int
	free    int
	latest  use // of the server
	before  use // the latest one of another tenant than that
	turns   uint64
	tenants map[string]*share // those with a request there or waiting
	waiting []*waiter         // in the order in which they came
}

// share is what a tenant has of a queue.
type share struct {
	running, waiting int
	last             uint64 // its last turn
}

// use is when a tenant last asked for a place.
type use struct {
	tenant string
	at     time.Time
}

// backgroundWait is how long work in the background waits for a place at least.
const backgroundWait = 5 * time.Minute

// usedLately is for how long a tenant that used a server has places kept for it.
const usedLately = 30 * time.Second

// ErrBusy is the error of who has waited for a place in vain.
var ErrBusy = errors.New("openai: the limit of concurrent requests is reached")

type waiter struct {
	tenant string
	turn   chan struct{} // closed when it is let in
}

// New returns a queue for a server with that many places.
func New(places int) *Queue {
	return &Queue{places: places, free: places, tenants: map[string]*share{}}
}

// Enter takes a place, and waits for one as long as is given. It returns ErrBusy
// where there was none, or the error of ctx. A nil queue has always a place.
func (q *Queue) Enter(ctx context.Context, tenant string, wait time.Duration) error {
	if q == nil {
		return nil
	}
	if wait > 0 && model.IsBackground(tenant) {
		wait = max(wait, backgroundWait)
	}
	w, err := q.join(tenant, wait > 0)
	if w == nil {
		return err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	again := time.NewTicker(time.Second) // places are not kept for ever
	defer again.Stop()
	for err == nil {
		select {
		case <-w.turn:
			return nil
		case <-again.C:
			q.mu.Lock()
			q.admit()
			q.mu.Unlock()
		case <-ctx.Done():
			err = ctx.Err()
		case <-timer.C:
			err = ErrBusy
		}
	}
	q.giveUp(w)
	return err
}

// join takes a place or joins those that wait; it returns nothing for a place.
func (q *Queue) join(tenant string, wait bool) (*waiter, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !model.IsBackground(tenant) {
		if q.latest.tenant != tenant {
			q.before = q.latest
		}
		q.latest = use{tenant, time.Now()}
	}
	s := q.tenants[tenant]
	if s == nil && (q.free > 0 || wait) {
		s = &share{}
		q.tenants[tenant] = s
	}
	switch {
	case q.free > 0 && q.may(tenant, s):
		q.take(s)
		return nil, nil
	case !wait:
		return nil, ErrBusy
	}
	s.waiting++
	w := &waiter{tenant, make(chan struct{})}
	q.waiting = append(q.waiting, w)
	return w, nil
}

// giveUp takes back a wait, or the place that it got meanwhile.
func (q *Queue) giveUp(w *waiter) {
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

// Leave gives a place back.
func (q *Queue) Leave(tenant string) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.release(tenant)
}

// The rest is called with the lock held.

func (q *Queue) take(s *share) {
	q.turns++
	q.free--
	s.running++
	s.last = q.turns
}

func (q *Queue) release(tenant string) {
	q.free++
	q.tenants[tenant].running--
	q.admit()
	q.forget(tenant)
}

// admit lets in as many as may have what is free.
func (q *Queue) admit() {
	for q.free > 0 && q.next() {
	}
}

// may reports whether a tenant may have one place more.
func (q *Queue) may(tenant string, s *share) bool {
	if model.IsBackground(tenant) {
		return q.free > q.reserve() && !slices.ContainsFunc(q.waiting, func(w *waiter) bool { return !model.IsBackground(w.tenant) })
	}
	other := q.latest
	if other.tenant == tenant {
		other = q.before
	}
	if other.tenant == "" || time.Since(other.at) > usedLately {
		return true
	}
	others := q.places - q.free - s.running
	return s.running < max(1, (q.places-others)*3/4)
}

// reserve is how many places work in the background leaves free.
func (q *Queue) reserve() int {
	if q.latest.tenant != "" && time.Since(q.latest.at) <= usedLately {
		return min(max(1, q.places/4), q.places-1)
	}
	return min(1, q.places-1)
}

// next lets in the one whose turn it is, and reports whether there is one.
func (q *Queue) next() bool {
	first := -1
	for i, w := range q.waiting {
		s := q.tenants[w.tenant]
		if !q.may(w.tenant, s) {
			continue
		}
		if first >= 0 {
			best := q.tenants[q.waiting[first].tenant]
			if s.running > best.running || s.running == best.running && s.last >= best.last {
				continue
			}
		}
		first = i
	}
	if first < 0 {
		return false
	}
	w := q.waiting[first]
	q.waiting = slices.Delete(q.waiting, first, first+1)
	s := q.tenants[w.tenant]
	s.waiting--
	q.take(s)
	close(w.turn)
	return true
}

func (q *Queue) forget(tenant string) {
	if s := q.tenants[tenant]; s.running == 0 && s.waiting == 0 {
		delete(q.tenants, tenant)
	}
}
