package pgstore

import (
	"context"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/internal/background"
)

const (
	askEvery = time.Second
	askFirst = 4    // times at the start, of which the quickest answer counts
	drift    = 5000 // one in so many is the most that the machine's clock gains or loses while it is not compared
)

// clock says between which bounds the time of the database server is: what the
// server said, and how much time has gone by since, which the machine's clock tells
// without being right itself.
type clock struct {
	machine func() time.Time

	mu          sync.Mutex
	at          time.Time // when the bounds were so, by the machine
	least, most time.Time
}

// bounds returns the bounds as they are now.
func (c *clock) bounds() (least, most time.Time) {
	at := c.machine()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.boundsAt(at)
}

func (c *clock) boundsAt(at time.Time) (least, most time.Time) {
	gone := at.Sub(c.at)
	return c.least.Add(gone - gone/drift), c.most.Add(gone + gone/drift)
}

// ask has the server say what time it is. It answered between then and now: it is
// what it said, or up to that much later. That narrows the bounds; where it
// contradicts them, as after another server has taken over, it stands for them.
func (c *clock) ask(ctx context.Context, server func(context.Context) (time.Time, error)) error {
	asked := c.machine()
	said, err := server(ctx)
	if err != nil {
		return err
	}
	answered := c.machine()
	latest := said.Add(answered.Sub(asked))
	c.mu.Lock()
	defer c.mu.Unlock()
	least, most := c.boundsAt(answered)
	if c.at.IsZero() || least.After(latest) || most.Before(said) {
		least, most = said, latest
	}
	if least.Before(said) {
		least = said
	}
	if most.After(latest) {
		most = latest
	}
	c.at, c.least, c.most = answered, least, most
	return nil
}

// wait returns when the time that was the most that it could be has gone by, or
// ctx has ended. A commit takes longer, almost always.
func (c *clock) wait(ctx context.Context, most time.Time) {
	least, _ := c.bounds()
	left := most.Sub(least)
	if left <= 0 {
		return
	}
	timer := time.NewTimer(min(left+left/drift, askEvery))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Now implements storage.Clock: the time of the database server, or as much later as
// it took to answer. An Update that returned has waited until that was over.
func (s *Store) Now() time.Time {
	_, most := s.clock.bounds()
	return most
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
