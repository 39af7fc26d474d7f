package vectorstores

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/storage"
)

const (
	pollEvery    = time.Second            // how often a process looks for work that others have left
	waitEvery    = 200 * time.Millisecond // and for that which waits for the text of a file
	retryAfter   = 5 * time.Second        // after a failure
	storeTimeout = 30 * time.Second       // of a transaction that ends work
	maxRound     = 1000                   // pieces of work of an organization that are looked at in a round
)

// kind is what work is.
type kind string

const (
	indexing kind = "i" // a file of a store is to be indexed; the object is the file
	dropping kind = "d" // a store was deleted, or has expired: what it has is to be removed
	sweeping kind = "g" // chunks belong to no file, or not yet; the object is what they are stored under
)

// work is something to do in the background. Its record has the ID of the process that
// does it, or nothing.
type work struct {
	kind   kind
	store  string
	object string
}

func (w work) key() []byte {
	return []byte(workPrefix + string(w.kind) + "/" + w.store + "/" + w.object)
}

func parseWork(key []byte) (w work, ok bool) {
	parts := strings.SplitN(strings.TrimPrefix(string(key), workPrefix), "/", 3)
	if len(parts) < 3 {
		return w, false
	}
	return work{kind(parts[0]), parts[1], parts[2]}, true
}

// errLost says that work is not this process's any more, or not to be done.
var errLost = errors.New("vectorstores: the work is another's or was taken back")

// look has dispatch look for work now.
func (s *Service) look() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// dispatch begins work until ctx ends, and waits for it.
func (s *Service) dispatch(ctx context.Context) {
	for ctx.Err() == nil {
		wait := pollEvery
		if s.round(ctx) {
			wait = waitEvery
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.wake:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// round begins as much work as there are workers for, and reports whether some has to
// wait. The organizations take turns.
func (s *Service) round(ctx context.Context) (waiting bool) {
	organizations, err := s.organizations.All(ctx)
	s.log(ctx, "", work{}, err)
	left := map[storage.Namespace][]work{}
	for _, ns := range organizations {
		found, idle, err := s.open(ctx, ns)
		if err == nil && idle {
			err = s.organizations.Remove(ctx, ns)
		}
		s.log(ctx, ns, work{}, err)
		if len(found) > 0 {
			left[ns] = found
		}
	}
	for len(left) > 0 && ctx.Err() == nil {
		for ns, list := range left {
			if !s.free() {
				return false
			}
			if left[ns] = list[1:]; len(left[ns]) == 0 {
				delete(left, ns)
			}
			claimed, err := s.claim(ctx, ns, list[0])
			s.log(ctx, ns, list[0], err)
			if claimed {
				s.running.Go(func() { s.do(ctx, ns, list[0]) })
			}
			waiting = waiting || !claimed
		}
	}
	return waiting
}

// free reports whether there is a worker left.
func (s *Service) free() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.busy) < s.o.Workers
}

// open returns work of an organization that nobody does, and whether it has none that
// anybody may have to do.
func (s *Service) open(ctx context.Context, ns storage.Namespace) (found []work, idle bool, err error) {
	now := s.o.Now()
	err = s.o.Store.View(ctx, ns, func(tx storage.Tx) error {
		found, idle = nil, true
		for e, err := range tx.Scan(storage.Prefix([]byte(workPrefix))) {
			if err != nil {
				return err
			}
			w, ok := parseWork(e.Key)
			idle = false
			if ok && !s.taken(string(e.Value), w) && !s.postponed(w, now) {
				found = append(found, w)
			}
			if len(found) == maxRound {
				return nil
			}
		}
		r := storage.Prefix([]byte(expiryPrefix))
		r.KeysOnly = true
		var due []work
		for e, err := range tx.Scan(r) {
			if err != nil {
				return err
			}
			idle = false
			at, store := parseExpiry(e.Key)
			if at > now.Unix() {
				break
			}
			due = append(due, work{expiring, store, string(e.Key[len(expiryPrefix) : len(expiryPrefix)+8])})
		}
		found = append(found, due...)
		return nil
	})
	return found, idle, err
}

// taken reports whether work with an owner is being done.
func (s *Service) taken(owner string, w work) bool {
	if owner == s.o.Cluster.ID() {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.busy[w] || s.held[w]
	}
	return owner != "" && s.o.Cluster.Alive(owner)
}

func (s *Service) postponed(w work, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.later[w]
	if ok && !now.Before(at) {
		delete(s.later, w)
		return false
	}
	return ok
}

// claim makes work this process's, if it is there to be done.
func (s *Service) claim(ctx context.Context, ns storage.Namespace, w work) (claimed bool, err error) {
	s.mu.Lock()
	busy := s.busy[w]
	s.mu.Unlock()
	if busy {
		return false, nil
	}
	if w.kind == indexing {
		if ready, err := s.readable(ctx, ns, w.object); err != nil || !ready {
			return false, err
		}
	}
	if w.kind != expiring {
		err = s.o.Store.Update(ctx, ns, func(tx storage.Tx) error {
			storage.UseReserve(tx)
			claimed = false
			owner, err := tx.Get(w.key())
			if errors.Is(err, storage.ErrNotFound) || err == nil && s.taken(string(owner), w) {
				return nil
			}
			if err != nil {
				return err
			}
			claimed = true
			return tx.Set(w.key(), []byte(s.o.Cluster.ID()))
		})
		if err != nil || !claimed {
			return false, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[w] = true
	return true, nil
}

// readable reports whether the text of a file is there, or never will be.
func (s *Service) readable(ctx context.Context, ns storage.Namespace, file string) (bool, error) {
	f, err := s.o.Files.Get(ctx, caller(ns), file)
	if fault.Is(err, fault.NotFound) {
		return true, nil
	}
	return err == nil && f.Status != files.Uploaded, err
}

// do does work and releases it.
func (s *Service) do(ctx context.Context, ns storage.Namespace, w work) {
	err := background.Recover(func() error {
		switch w.kind {
		case indexing:
			return s.index(ctx, ns, w)
		case expiring:
			return s.expire(ctx, ns, w)
		case dropping:
			return s.drop(ctx, ns, w)
		default:
			return s.sweep(ctx, ns, w)
		}
	})
	s.log(ctx, ns, w, err)
	s.mu.Lock()
	delete(s.busy, w)
	if err != nil && !errors.Is(err, errLost) {
		s.later[w] = s.o.Now().Add(retryAfter)
	}
	s.mu.Unlock()
	s.look()
}
