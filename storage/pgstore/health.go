package pgstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
)

// healthLifetime is how long the outcome of a write predicts that of the next one.
const healthLifetime = 2 * time.Second

// health is what is known about whether the database can be written.
type health struct {
	mu      sync.Mutex
	err     error
	at      time.Time     // when err was found out; zero: nothing is known
	probing chan struct{} // closed when the running probe ends; nil: none is running
}

// note records how a transaction ended. A failed one may only have had a broken
// connection: it makes the next caller probe.
func (h *health) note(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil, errors.Is(err, errConflict):
		h.err, h.at = nil, time.Now()
	case errors.Is(err, errPooler):
		h.err, h.at = err, time.Now()
	case h.err == nil && (errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrInDoubt)):
		h.at = time.Time{}
	}
}

// down reports whether the database could not be written a moment ago.
func (h *health) down() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err != nil && h.fresh()
}

func (h *health) fresh() bool { return time.Since(h.at) < healthLifetime }

// Healthy implements storage.HealthChecker. If nothing was written lately it writes
// a row of the store's own.
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

// look returns what is known, or else the end of the running probe. If it returns
// neither, the caller must start a probe.
func (h *health) look() (probing chan struct{}, fresh bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fresh() {
		return nil, true, h.err
	}
	return h.probing, false, nil
}

// probe starts to write a row of the store's own, unless that is under way.
func (s *Store) probe() {
	h := &s.health
	gateErr := s.gate.Enter(context.Background(), everywhere)
	h.mu.Lock()
	defer h.mu.Unlock()
	if gateErr != nil {
		h.err, h.at = unavailable(gateErr), time.Now()
		return
	}
	if h.probing != nil {
		s.gate.Leave()
		return
	}
	done := make(chan struct{})
	h.probing = done
	s.background.Go(func() {
		defer s.gate.Leave()
		err := s.writeOwn()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.err, h.probing, h.at = err, nil, time.Now()
		close(done)
	})
}

// writeOwn writes the store's own row.
func (s *Store) writeOwn() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	for range maxBroken {
		_, err = s.pool.Exec(ctx, upsertOne, []byte(ownNamespace), []byte(healthKey), []byte(time.Now().UTC().Format(time.RFC3339)))
		if err = classify(err); err == nil || errors.Is(err, errConflict) {
			return nil
		}
	}
	return err
}
