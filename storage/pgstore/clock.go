package pgstore

import (
	"context"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/internal/background"
)

const (
	askEvery = time.Second
	askFirst = 4    // questions at the start; the quickest answer is the most exact
	maxDrift = 5000 // the machine's clock gains or loses at most one part in so many
)

// clock estimates the time of the database server. It keeps the earliest and the
// latest time that it can be, and lets both go on by the machine's clock, which may
// be set wrong.
type clock struct {
	machine func() time.Time

	mu               sync.Mutex
	at               time.Time // by the machine, when the bounds were computed
	earliest, latest time.Time
}

// bounds returns the earliest and the latest time that it can be now.
func (c *clock) bounds() (earliest, latest time.Time) {
	at := c.machine()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.boundsAt(at)
}

func (c *clock) boundsAt(at time.Time) (earliest, latest time.Time) {
	passed := at.Sub(c.at)
	return c.earliest.Add(passed - passed/maxDrift), c.latest.Add(passed + passed/maxDrift)
}

// start asks the server a few times.
func (c *clock) start(ctx context.Context, server func(context.Context) (time.Time, error)) error {
	for range askFirst {
		if err := c.ask(ctx, server); err != nil {
			return err
		}
	}
	return nil
}

// ask asks the server what time it is and narrows the bounds: the time is now what
// the server said, or later by as much as the answer took. An answer that contradicts
// the bounds replaces them, because another server may have taken over.
func (c *clock) ask(ctx context.Context, server func(context.Context) (time.Time, error)) error {
	asked := c.machine()
	said, err := server(ctx)
	if err != nil {
		return err
	}
	answered := c.machine()
	most := said.Add(answered.Sub(asked))
	c.mu.Lock()
	defer c.mu.Unlock()
	earliest, latest := c.boundsAt(answered)
	if c.at.IsZero() || earliest.After(most) || latest.Before(said) {
		earliest, latest = said, most
	}
	if earliest.Before(said) {
		earliest = said
	}
	if latest.After(most) {
		latest = most
	}
	c.at, c.earliest, c.latest = answered, earliest, latest
	return nil
}

// wait returns when a time that was the latest possible one has certainly passed, or
// when ctx ends. A commit nearly always takes longer than that.
func (c *clock) wait(ctx context.Context, latest time.Time) {
	earliest, _ := c.bounds()
	if left := latest.Sub(earliest); left > 0 {
		background.Sleep(ctx, min(left+left/maxDrift, askEvery))
	}
}

// Now implements storage.Clock. It returns the latest time that it can be at the
// server. An Update returns when that time has passed.
func (s *Store) Now() time.Time {
	_, latest := s.clock.bounds()
	return latest
}

// serverTime asks the database server for the time.
func (s *Store) serverTime(ctx context.Context) (now time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	for range maxBroken {
		s.trips.Add(1)
		s.statements.Add(1)
		if err = s.pool.QueryRow(ctx, selectNow).Scan(&now); err == nil || ctx.Err() != nil {
			break
		}
	}
	return now, classify(err)
}

// keepTime asks for the time until ctx ends.
func (s *Store) keepTime(ctx context.Context) {
	background.Every(ctx, askEvery, nil, func() {
		if err := s.clock.ask(ctx, s.serverTime); err != nil && ctx.Err() == nil {
			s.log.Debug("pgstore: the server did not say what time it is", "err", err)
		}
	})
}
