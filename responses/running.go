package responses

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/storage"
)

const (
	// maxBackground is how many turns a process makes in the background at once;
	// an organization has half of them.
	maxBackground = 1000
	// persistEvery is how often the events of background turns are stored, and how
	// soon a turn learns from the store that it is to end.
	persistEvery = time.Second
	// renewEvery is how many times of that pass between renewals of leases.
	renewEvery = 5
	// pagesAtOnce is how many pages of one turn are stored then at most: others wait.
	pagesAtOnce = 8
	// persistTimeout bounds what is stored of one turn then.
	persistTimeout = 10 * time.Second
)

// runningTurns are the turns that this process makes and that are stored as running.
type runningTurns struct {
	s     *Service
	stop  chan struct{}  // closed when the service closes
	group sync.WaitGroup // of what goes on by itself

	mu         sync.Mutex
	of         map[*runningTurn]bool
	background map[storage.Namespace]int // by organization
	total      int                       // of them
	persisting bool                      // persistAll runs
	closed     bool
}

// runningTurn is a turn that runs. It holds what a background turn has said so far,
// for whoever follows it.
type runningTurn struct {
	caller     accounts.Caller
	id         string
	background bool
	cancel     context.CancelCauseFunc
	done       chan struct{} // closed when it has ended and is stored

	persisting *semaphore.Weighted // one, held while pages are written
	persisted  int                 // events that are in pages, or never will be; guarded by persisting

	mu     sync.Mutex
	events []Event
	more   chan struct{} // closed when there are more events or the turn has ended; then there is another
}

// reserve makes room for a background turn.
func (r *runningTurns) reserve(ns storage.Namespace) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed || r.total >= maxBackground:
		return &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable, Message: "The service makes as many responses in the background as it can. Try again later.", RetryAfter: 10 * time.Second}
	case r.background[ns] >= maxBackground/2:
		return &fault.Error{Kind: fault.RateLimited, Code: fault.CodeRateLimited, Message: "The organization has as many responses in the background as it may. Try again later.", RetryAfter: 10 * time.Second}
	}
	r.total++
	r.background[ns]++
	return nil
}

func (r *runningTurns) unreserve(ns storage.Namespace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total--
	if r.background[ns]--; r.background[ns] == 0 {
		delete(r.background, ns)
	}
}

// add registers a turn that is stored as running.
func (r *runningTurns) add(t *turn) *runningTurn {
	l := &runningTurn{
		caller: t.caller, id: t.response.ID, background: t.req.Background, cancel: t.cancel,
		done: make(chan struct{}), persisting: semaphore.NewWeighted(1), persisted: firstPersisted, more: make(chan struct{}),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of[l] = true
	if !r.persisting {
		r.persisting = true
		r.group.Go(r.persistAll)
	}
	if r.closed {
		l.cancel(errStopping)
	}
	return l
}

// remove forgets a turn that has ended; nil is none.
func (r *runningTurns) remove(l *runningTurn) {
	if l == nil {
		return
	}
	r.mu.Lock()
	delete(r.of, l)
	r.mu.Unlock()
	close(l.done)
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.more)
	l.more = nil
}

// find returns the turn of a response that this process makes, or nil.
func (r *runningTurns) find(caller accounts.Caller, id string) *runningTurn {
	r.mu.Lock()
	defer r.mu.Unlock()
	for l := range r.of {
		if l.id == id && l.caller.Namespace() == caller.Namespace() {
			return l
		}
	}
	return nil
}

// errStopping ends the turns that run when the service closes.
var errStopping error = &fault.Error{Kind: fault.Unavailable, Code: CodeInterrupted, Message: "The server was stopped while it made the response."}

// Wait waits for the turns in the background, and reports whether they ended
// before ctx.
func (s *Service) Wait(ctx context.Context) bool {
	for s.running.inBackground() {
		if !background.Sleep(ctx, pollEvery) {
			return false
		}
	}
	return true
}

func (r *runningTurns) inBackground() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total > 0
}

// close ends all turns and waits for them.
func (r *runningTurns) close() {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.stop)
	}
	for l := range r.of {
		l.cancel(errStopping)
	}
	r.mu.Unlock()
	r.group.Wait()
}

// persistAll renews the leases of the turns, stores the events of those in the
// background, and ends those that are to end, until there are none.
func (r *runningTurns) persistAll() {
	ticker := time.NewTicker(persistEvery)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ticker.C:
		case <-r.stop:
			return
		}
		r.mu.Lock()
		lives := make([]*runningTurn, 0, len(r.of))
		for l := range r.of {
			lives = append(lives, l)
		}
		if r.persisting = len(lives) > 0; !r.persisting {
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		renew := map[storage.Namespace][]*runningTurn{}
		for _, l := range lives {
			switch {
			case l.background && r.s.persist(l):
			case n%renewEvery == 0:
				renew[l.caller.Namespace()] = append(renew[l.caller.Namespace()], l)
			}
		}
		for ns, lives := range renew {
			r.s.renew(ns, lives)
		}
	}
}

// renew renews leases.
func (s *Service) renew(ns storage.Namespace, lives []*runningTurn) {
	ctx, cancel := context.WithTimeout(context.Background(), persistTimeout)
	defer cancel()
	ids := make([]string, len(lives))
	for i, l := range lives {
		ids[i] = l.id
	}
	over, err := s.o.Conversations.Renew(ctx, ns, ids)
	if err != nil {
		s.o.Log.LogAttrs(ctx, slog.LevelWarn, "responses: leases were not renewed", slog.Any("err", err))
	}
	for _, l := range lives {
		if over[l.id] {
			l.cancel(context.Canceled)
		}
	}
}

// persist stores what a background turn has said since the last time, and
// reports whether there was anything. It ends the turn where it is to end.
func (s *Service) persist(l *runningTurn) (said bool) {
	ctx, cancel := context.WithTimeout(context.Background(), persistTimeout)
	defer cancel()
	if l.persisting.Acquire(ctx, 1) != nil {
		return false // what it says is stored another time
	}
	defer l.persisting.Release(1)
	cancelled := false
	p, err := l.page(false)
	for n := 0; n < pagesAtOnce && err == nil && p.data != nil && !cancelled; n++ {
		if cancelled, err = s.persistPage(ctx, l, p); err == nil {
			said = true
			p, err = l.page(false)
		}
	}
	if err == nil && !said {
		cancelled, err = s.o.Conversations.Cancelled(ctx, l.caller, l.id)
	}
	switch {
	case err == nil:
	case errors.Is(err, conversations.ErrEnded) || fault.Is(err, fault.NotFound):
		cancelled = true
	default:
		s.o.Log.LogAttrs(ctx, slog.LevelWarn, "responses: events were not stored", slog.String("response", l.id), slog.Any("err", err))
	}
	if cancelled {
		l.cancel(context.Canceled)
	}
	return said
}

// persistPage stores a page of the events of a turn that runs, without their
// log-probabilities where it is too large with them. It reports whether the turn
// is to end. A store that has lost pages before it gets those again, from the next
// one on. persisting is held.
func (s *Service) persistPage(ctx context.Context, l *runningTurn, p eventPage) (cancelled bool, err error) {
	cancelled, err = s.o.Conversations.Progress(ctx, l.caller, l.id, p.at(l.persisted))
	if errors.Is(err, storage.ErrTooLarge) {
		if p, err = l.page(true); err == nil {
			cancelled, err = s.o.Conversations.Progress(ctx, l.caller, l.id, p.at(l.persisted))
		}
	}
	if err == nil {
		l.persisted += p.events
	} else if l.rewind(err) {
		err = nil
	}
	return cancelled, err
}

// rewind reports whether an error says that the store has not kept what it had,
// and has the next page be the one that it is to have. persisting is held.
func (l *runningTurn) rewind(err error) bool {
	lost, ok := errors.AsType[*conversations.LostEvents](err)
	if ok {
		l.persisted = lost.Next
	}
	return ok
}

// page returns the next page of the events that are in none yet, without data
// where there are none; short leaves out their log-probabilities. persisting is held.
func (l *runningTurn) page(short bool) (eventPage, error) {
	l.mu.Lock()
	events := l.events[min(l.persisted, len(l.events)):]
	l.mu.Unlock()
	return encodePage(events, short)
}

// lastPage returns the events of a turn that is about to be stored which are in
// no page yet. Those that would be too many for the
// transaction which stores the turn are stored before. No other page is written
// until unlock is called. A nil live has none.
func (s *Service) lastPage(ctx context.Context, l *runningTurn, short bool) (page conversations.Page, unlock func(), err error) {
	if l == nil || !l.background {
		return page, func() {}, nil
	}
	if err := l.persisting.Acquire(ctx, 1); err != nil {
		return page, func() {}, err
	}
	p, err := l.page(short)
	for err == nil && (p.more || len(p.data) > maxPage) {
		if _, err = s.persistPage(ctx, l, p); err == nil {
			p, err = l.page(short)
		}
	}
	return p.at(l.persisted), func() { l.persisting.Release(1) }, err
}

// detach begins to make the turn in the background.
func (t *turn) detach(ctx context.Context) (*runningTurn, error) {
	t.place.keep()
	ns := t.caller.Namespace()
	if err := t.running.reserve(ns); err != nil {
		t.place.release()
		return nil, err
	}
	var own context.Context
	own, t.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if err := t.open(ctx); err != nil {
		t.cancel(nil)
		t.running.unreserve(ns)
		t.place.release()
		return nil, err
	}
	begun := make(chan struct{})
	t.running.group.Go(func() {
		defer t.running.unreserve(ns)
		err := background.Recover(func() error {
			t.run(own, func(event Event, err error) bool {
				if err != nil {
					return true // the last event has told of it
				}
				t.saving.run.publish(event)
				if event.Type == EventInProgress {
					close(begun)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.o.Log.LogAttrs(own, slog.LevelError, "responses: a background turn failed", slog.String("response", t.saving.run.id), slog.Any("err", err))
		}
	})
	<-begun
	return t.saving.run, nil
}

func (l *runningTurn) publish(event Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, event)
	close(l.more)
	l.more = make(chan struct{})
}

// first returns the first event.
func (l *runningTurn) first() Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events[0]
}

// follow yields the events behind the one with a number, as they come, until the
// turn has ended or ctx ends.
func (l *runningTurn) follow(ctx context.Context, after int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for next := after + 1; ; {
			l.mu.Lock()
			events, more := l.events[min(next, len(l.events)):], l.more
			l.mu.Unlock()
			for _, event := range events {
				if !yield(event, nil) {
					return
				}
			}
			if next += len(events); more == nil && len(events) == 0 {
				return
			}
			if more == nil {
				continue
			}
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
		}
	}
}
