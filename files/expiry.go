package files

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
)

const (
	expireBatch = 1000        // expired files that are looked up together
	expireRetry = time.Minute // after a failure
)

// expiry knows for each namespace when its next file expires.
type expiry struct {
	wake chan struct{} // has an element when a time was noted

	mu   sync.Mutex
	next map[storage.Namespace]int64 // guarded by mu; Unix seconds
}

func newExpiry() *expiry {
	return &expiry{wake: make(chan struct{}, 1), next: map[storage.Namespace]int64{}}
}

// note says that a file expires at a time.
func (e *expiry) note(ns storage.Namespace, at int64) {
	e.mu.Lock()
	if next, ok := e.next[ns]; !ok || at < next {
		e.next[ns] = at
	}
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// earliest returns the time at which the next file of all expires.
func (e *expiry) earliest() (at int64, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, next := range e.next {
		if !ok || next < at {
			at, ok = next, true
		}
	}
	return at, ok
}

// due takes out the namespaces in which files have expired.
func (e *expiry) due(now int64) []storage.Namespace {
	e.mu.Lock()
	defer e.mu.Unlock()
	var due []storage.Namespace
	for ns, next := range e.next {
		if next <= now {
			due = append(due, ns)
			delete(e.next, ns)
		}
	}
	return due
}

// expire removes files when they expire, until ctx ends. They are gone for
// everybody before that: who reads a record looks at the time.
func (s *Service) expire(ctx context.Context) {
	for ctx.Err() == nil {
		var due <-chan time.Time
		if at, ok := s.expiry.earliest(); ok {
			due = time.After(time.Unix(at, 0).Sub(s.now()))
		}
		select {
		case <-ctx.Done():
		case <-s.expiry.wake:
		case <-due:
			for _, ns := range s.expiry.due(s.now().Unix()) {
				s.expireIn(ctx, ns)
			}
		}
	}
}

// expireIn removes the expired files of a namespace and notes when the next one
// expires.
func (s *Service) expireIn(ctx context.Context, ns storage.Namespace) {
	now := s.now().Unix()
	expired, next, err := s.expired(ctx, ns, now)
	for _, id := range expired {
		if err == nil {
			if _, err = s.remove(ctx, ns, id); errors.Is(err, errNone) {
				err = nil // somebody else did
			}
		}
	}
	if err != nil && ctx.Err() == nil {
		s.log.ErrorContext(ctx, "files: expired files are not removed yet", "err", err)
		next = now + int64(expireRetry/time.Second)
	}
	if next != 0 {
		s.expiry.note(ns, next)
	}
}

// expired returns files of a namespace that have expired, and when the next one
// does, 0 for none.
func (s *Service) expired(ctx context.Context, ns storage.Namespace, now int64) (ids []string, next int64, err error) {
	r := storage.Prefix([]byte(expiryPrefix))
	r.KeysOnly = true
	err = s.store.View(ctx, ns, func(tx storage.Tx) error {
		ids, next = nil, 0
		for entry, err := range tx.Scan(r) {
			if err != nil {
				return err
			}
			at, id := parseExpiryKey(entry.Key)
			if at > now || len(ids) == expireBatch {
				next = at
				break
			}
			ids = append(ids, id)
		}
		return nil
	})
	return ids, next, err
}
