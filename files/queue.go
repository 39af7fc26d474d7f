package files

import (
	"context"
	"slices"
	"sync"

	"github.com/seed-506d8e5d/svc/storage"
)

// job is a file whose text is to be extracted.
type job struct {
	ns storage.Namespace
	id string
}

// queue holds the jobs that nobody works on yet. Organizations get their turn
// one after the other, so that a thousand files of one do not hold up another's;
// and one worker is left to the others, so that files that take as long as they
// may do not either.
type queue struct {
	wake chan struct{} // has room for a wake-up of every worker
	most int           // how many jobs of an organization are worked on at once

	mu      sync.Mutex
	waiting map[storage.Namespace][]string // guarded by mu, as are the others; IDs, next first
	turns   []storage.Namespace            // those with jobs waiting, next first
	working map[storage.Namespace]int      // how many are worked on
	over    map[job]chan struct{}          // of jobs that are expected, waiting or worked on; closed when over
}

func newQueue(workers int) *queue {
	return &queue{
		wake:    make(chan struct{}, workers),
		most:    max(1, workers-1),
		waiting: map[storage.Namespace][]string{},
		working: map[storage.Namespace]int{},
		over:    map[job]chan struct{}{},
	}
}

// expect says that j is about to be pushed, or finished without that.
func (q *queue) expect(j job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over[j] == nil {
		q.over[j] = make(chan struct{})
	}
}

// push adds a job.
func (q *queue) push(j job) {
	q.expect(j)
	q.mu.Lock()
	if len(q.waiting[j.ns]) == 0 {
		q.turns = append(q.turns, j.ns)
	}
	q.waiting[j.ns] = append(q.waiting[j.ns], j.id)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default: // every worker is about to look
	}
}

// next waits for a job and takes it, until leave. It returns false when ctx ends.
func (q *queue) next(ctx context.Context) (job, bool) {
	for ctx.Err() == nil {
		if j, ok := q.take(); ok {
			return j, true
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
		}
	}
	return job{}, false
}

func (q *queue) take() (job, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.turns, func(ns storage.Namespace) bool { return q.working[ns] < q.most })
	if i < 0 {
		return job{}, false
	}
	ns := q.turns[i]
	q.turns = slices.Delete(q.turns, i, i+1)
	q.working[ns]++
	j := job{ns, q.waiting[ns][0]}
	if rest := q.waiting[ns][1:]; len(rest) > 0 {
		q.waiting[ns] = rest
		q.turns = append(q.turns, ns)
	} else {
		delete(q.waiting, ns)
	}
	return j, true
}

// leave gives back a job that was taken. Whoever does takes the next one, so no
// other worker needs to be woken.
func (q *queue) leave(j job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.working[j.ns]--; q.working[j.ns] == 0 {
		delete(q.working, j.ns)
	}
}

// finish says that a job is over.
func (q *queue) finish(j job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if over := q.over[j]; over != nil {
		close(over)
		delete(q.over, j)
	}
}

// done returns a channel that is closed when a job is over, or nil where that is
// so already.
func (q *queue) done(j job) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if over := q.over[j]; over != nil {
		return over
	}
	return nil
}

// Waiting returns how many uploaded files wait for the extraction of their text.
func (s *Service) Waiting() int {
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	count := 0
	for _, ids := range q.waiting {
		count += len(ids)
	}
	return count
}
