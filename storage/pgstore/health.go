package pgstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
)

// healthAge is how long the last transaction that wrote, or failed to, says
// something about the next.
const healthAge = 2 * time.Second

// health is what is known of the database's.
type health struct {
	mu      sync.Mutex
	err     error
	at      time.Time
	probing chan struct{} // closed when the probe under way has ended; nil without one
}

// note remembers how a transaction went. One that failed may only have had a
// connection that broke: that all was well is too old then, and a probe says more.
func (h *health) note(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil, errors.Is(err, errLost):
		h.err, h.at = nil, time.Now()
	case h.err == nil && (errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrUnknown)):
		h.at = time.Time{}
	}
}

// down says whether the database was away a moment ago.
func (h *health) down() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err != nil && time.Since(h.at) < healthAge
}

// Healthy implements storage.HealthChecker. Where nothing was written lately it
// writes something.
func (s *Store) Healthy(ctx context.Context) error {
	for {
		probing, fresh, err := s.health.look()
		if fresh {
			return err
		}
		if probing == nil {
			s.probe()
			continue
		}
		select {
		case <-probing:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// look returns what is known, or the end of the probe to wait for. Without
// either the caller has to probe.
func (h *health) look() (probing chan struct{}, fresh bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.at) < healthAge {
		return nil, true, h.err
	}
	if h.probing != nil {
		return h.probing, false, nil
	}
	return nil, false, nil
}

// probe starts to write a row of the store's own, unless that is under way.
func (s *Store) probe() {
	if err := s.gate.Enter(context.Background(), "-"); err != nil {
		s.health.mu.Lock()
		defer s.health.mu.Unlock()
		s.health.err, s.health.at = unavailable(err), time.Now()
		return
	}
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	if s.health.probing != nil {
		s.gate.Leave()
		return
	}
	done := make(chan struct{})
	s.health.probing = done
	s.endings.Go(func() {
		defer s.gate.Leave()
		ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
		defer cancel()
		var err error
		for range maxBroken {
			_, err = s.pool.Exec(ctx, upsertOne, []byte(ownNamespace), []byte(healthKey), []byte(time.Now().UTC().Format(time.RFC3339)))
			if err = classify(err); err == nil || errors.Is(err, errLost) {
				err = nil
				break
			}
		}
		s.health.mu.Lock()
		defer s.health.mu.Unlock()
		s.health.err, s.health.probing, s.health.at = err, nil, time.Now()
		close(done)
	})
}
