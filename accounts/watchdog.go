package accounts

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

const (
	// DefaultMaxDuration is how long one operation may have models work, where
	// [Options] do not say.
	DefaultMaxDuration = 30 * time.Minute

	// CodeTimeout is the code of the Upstream error of one that took longer.
	CodeTimeout = "generation_timeout"

	// checkEvery is how often it is seen whether what runs may still run.
	checkEvery = 500 * time.Millisecond
)

// watchdog ends operations that may not go on. It knows those that have models work
// by the key that they were asked for with; while there are any, a goroutine checks
// their keys, organizations, balances and budgets.
type watchdog struct {
	mu       sync.Mutex
	groups   map[watched]*group // guarded by mu
	watching bool               // the goroutine runs; guarded by mu
	wg       sync.WaitGroup     // for the goroutine
}

// watched is a key with the limits that an operation began with.
type watched struct {
	organization, key string
	limits            KeyLimits
}

func watchedOf(c Caller) watched { return watched{c.Organization, c.Key, c.KeyLimits} }

// group are the operations of one key.
type group struct {
	cancels map[*operation]struct{}
	seen    *grants // when the key and its organization were looked at last; nil: not yet
}

type operation struct{ cancel context.CancelCauseFunc }

// Running returns a context for an operation that has models work for a caller. It
// ends with ctx, and before that, within a second, when the caller's key is
// revoked, its organization suspended or deleted, or its balance or the key's
// budget emptied, or when the store has failed for good, and when
// Options.MaxDuration is over: [Cause] is then the error
// that a new request would get, or an Upstream one with [CodeTimeout]. done must be
// called in the end.
func (s *Service) Running(ctx context.Context, c Caller) (limited context.Context, done func()) {
	limited, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(s.maxDuration, func() { cancel(errTimeout()) })
	op, who := &operation{cancel}, watchedOf(c)
	s.watchdog.add(who, op, s.watch)
	return limited, func() {
		timer.Stop()
		s.watchdog.remove(who, op)
		cancel(nil)
	}
}

func errTimeout() error {
	return &fault.Error{Kind: fault.Upstream, Code: CodeTimeout, Message: "The model took longer than an answer may take."}
}

// Cause returns why a context of [Service.Running] was ended before its time, and
// otherwise err, which came of it.
func Cause(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*fault.Error](context.Cause(ctx)); ok && err != nil {
		return e
	}
	return err
}

func (r *watchdog) add(who watched, op *operation, watch func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.groups[who]
	if g == nil {
		g = &group{cancels: map[*operation]struct{}{}}
		if r.groups == nil {
			r.groups = map[watched]*group{}
		}
		r.groups[who] = g
	}
	g.cancels[op] = struct{}{}
	if !r.watching {
		r.watching = true
		r.wg.Go(watch)
	}
}

func (r *watchdog) remove(who watched, op *operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.groups[who]
	if delete(g.cancels, op); len(g.cancels) == 0 {
		delete(r.groups, who)
	}
}

// watch looks after what runs until nothing does or the service is closed.
func (s *Service) watch() {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
		}
		if !s.check() {
			return
		}
	}
}

// check ends the operations that may not go on and reports whether there were any.
func (s *Service) check() bool {
	r := &s.watchdog
	r.mu.Lock()
	var due []watched
	seen := map[watched]*grants{}
	for who, g := range r.groups {
		due = append(due, who)
		seen[who] = g.seen
	}
	if len(due) == 0 {
		r.watching = false
	}
	r.mu.Unlock()
	for _, who := range due {
		known := s.known.Load()
		err := s.mayContinue(who, seen[who] != known)
		if err != nil && fault.From(err).Kind == fault.Internal {
			s.log.Log(context.Background(), slog.LevelError, "accounts: could not see whether an organization may go on", "organization", who.organization, "err", err)
			continue // nobody is cut off because of us
		}
		r.mu.Lock()
		if g := r.groups[who]; g != nil {
			if g.seen = known; err != nil {
				g.seen = nil // an operation that begins beside those that are ending is looked at, too
				for op := range g.cancels {
					op.cancel(err)
				}
			}
		}
		r.mu.Unlock()
	}
	return len(due) > 0
}

// mayContinue returns why operations of a key may not go on, or nil. Keys and
// organizations are looked up where they may have changed.
func (s *Service) mayContinue(who watched, changed bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	if err := s.store.Writable(ctx); errors.Is(err, storage.ErrFailed) {
		return err // what models still generate could never be charged
	}
	if changed {
		if err := s.mayCall(ctx, who); err != nil {
			return err
		}
	}
	if s.own != nil {
		return nil // it says so before the next operation
	}
	balance, err := s.Balance(ctx, who.organization)
	if err != nil {
		return &fault.Error{Kind: fault.Internal, Code: fault.CodeInternal, Err: err}
	}
	if balance <= 0 {
		return errNoCredits()
	}
	return s.checkBudget(ctx, who)
}

// mayCall returns why a key may not call any more. What the program says of its
// own callers is not ours to judge.
func (s *Service) mayCall(ctx context.Context, who watched) error {
	ours := strings.HasPrefix(who.key, "key_")
	var refusal error
	err := s.store.View(ctx, system, func(tx storage.Tx) error {
		refusal = nil
		if ours {
			if _, err := tx.Get(keyKey(who.key)); errors.Is(err, storage.ErrNotFound) {
				refusal = errInvalidKey()
				return nil
			} else if err != nil {
				return err
			}
		}
		var record organizationRecord
		err := storage.GetJSON(tx, organizationKey(who.organization), &record)
		switch {
		case errors.Is(err, storage.ErrNotFound):
			if ours {
				refusal = errInvalidKey()
			}
			return nil
		case err != nil:
			return err
		}
		refusal = record.refusal()
		return nil
	})
	if err != nil {
		return &fault.Error{Kind: fault.Internal, Code: fault.CodeInternal, Err: err}
	}
	return refusal
}
