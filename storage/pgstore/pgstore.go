// Package pgstore keeps everything in a database that speaks PostgreSQL's wire
// protocol: a [storage.Store] that several processes share. PostgreSQL is what it
// is tested with; it uses nothing that CockroachDB and YugabyteDB do not have, as
// docs/scaling.md says.
//
// All is in one table, kv, which [Open] makes. A transaction that writes is
// SERIALIZABLE: its reads go to the database as they come, the first one together
// with BEGIN; its writes wait in memory and are sent, as one statement for what is
// set and one for what is deleted, together with COMMIT. What the database refuses
// because of others is run again, and so is what was not committed where the answer
// to COMMIT was lost (marks.go). A View reads one snapshot.
package pgstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
)

// Options say which database a store is in. Only URL is required.
type Options struct {
	// URL is where the database is, as libpq has it:
	// postgres://user:password@host:port/database?sslmode=verify-full. Besides
	// libpq's parameters it takes pool_max_conns, the most connections that the
	// store has open, 20 unless given, and default_query_exec_mode=exec for
	// poolers that do not keep prepared statements.
	URL string

	// Timeout bounds each wait for the database; 0 is 30 seconds.
	Timeout time.Duration

	// Logger gets what nobody waits for; nil discards it.
	Logger *slog.Logger
}

const (
	defaultTimeout = 30 * time.Second
	defaultConns   = 20

	// maxAttempts is how often an Update runs its function before it gives up,
	// some four seconds: the database takes transactions for conflicting that only
	// touch keys near each other, so that three of four may be lost where several
	// processes write as fast as they can. maxBroken is how often an Update goes on
	// after a connection that broke before the commit was sent.
	maxAttempts = 128
	maxBroken   = 8

	// maxPause bounds the pause between two attempts, which grows from
	// firstPause on. Transactions of this process wait for each other's turn; the
	// pause is for those of others.
	firstPause = time.Millisecond
	maxPause   = 64 * time.Millisecond
	maxTurn    = 250 * time.Millisecond
)

// Stats counts what a store has done since it was opened.
type Stats struct {
	Commits    uint64 // transactions that wrote something
	Conflicts  uint64 // attempts that the database refused because of others
	Settled    uint64 // commits without an answer, of which it was found out what became of them
	Statements uint64 // that were sent, BEGIN and COMMIT among them
	Trips      uint64 // waits for an answer of the database
}

// Store is a [storage.Store] in a database.
type Store struct {
	pool    *pgxpool.Pool
	log     *slog.Logger
	timeout time.Duration
	turns   txn.Turns
	gate    txn.Gate
	endings sync.WaitGroup // of transactions that nobody waits for
	health  health
	marks   *marks
	clock   clock
	endTime context.CancelFunc // of keepTime
	closing chan struct{}      // closed when the store is

	commits, conflicts, settled, statements, trips atomic.Uint64

	connections atomic.Uint64 // that were ever made
}

var (
	_ storage.Store         = (*Store)(nil)
	_ storage.Snapshotter   = (*Store)(nil)
	_ storage.HealthChecker = (*Store)(nil)
	_ storage.Sharer        = (*Store)(nil)
	_ storage.Clock         = (*Store)(nil)
	_ storage.Ager          = (*Store)(nil)
)

// Open connects to the database and makes its table where there is none. It
// fails where the database cannot be reached by ctx's end or belongs to a later
// version. The store owns connections and must be closed.
func Open(ctx context.Context, o Options) (*Store, error) {
	config, err := poolConfig(o.URL)
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, config.ConnConfig); err != nil {
		return nil, translated("open", err)
	}
	return newStore(ctx, config, o)
}

func newStore(ctx context.Context, config *pgxpool.Config, o Options) (*Store, error) {
	s := &Store{log: o.Logger, timeout: o.Timeout, marks: newMarks(time.Now()), closing: make(chan struct{})}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.timeout <= 0 {
		s.timeout = defaultTimeout
	}
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		s.connections.Add(1)
		return prepareAll(ctx, conn)
	}
	var err error
	if s.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), config); err != nil {
		return nil, translated("open", err)
	}
	s.clock.machine = time.Now
	for range askFirst {
		if err := s.clock.ask(ctx, s.serverTime); err != nil {
			s.pool.Close()
			return nil, err
		}
	}
	s.health.note(nil)
	s.endings.Go(s.sweepMarks)
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.endTime = stop
	s.endings.Go(func() { s.keepTime(background) })
	return s, nil
}

// Stats returns the counters as they are now.
func (s *Store) Stats() Stats {
	return Stats{s.commits.Load(), s.conflicts.Load(), s.settled.Load(), s.statements.Load(), s.trips.Load()}
}

// Shared implements storage.Sharer.
func (s *Store) Shared() bool { return true }

// Age implements storage.Ager: whatever takes a server's place, it is met by
// connections of its own.
func (s *Store) Age() uint64 { return s.connections.Load() }

// View implements storage.Store.
func (s *Store) View(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	if err := s.gate.Enter(ctx, ns); err != nil {
		return err
	}
	defer s.gate.Leave()
	return s.retry(ctx, ns, func() error {
		t := s.begin(ctx, ns, beginView)
		defer t.abandon()
		tx := txn.New(ctx, t, true)
		defer tx.End()
		err := fn(tx)
		if t.err != nil {
			return t.err
		}
		if err != nil {
			return err
		}
		return ctx.Err()
	})
}

// Update implements storage.Store.
func (s *Store) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	if err := s.gate.Enter(ctx, ns); err != nil {
		return err
	}
	defer s.gate.Leave()
	return s.retry(ctx, ns, func() error { return s.attempt(ctx, ns, fn) })
}

// attempt runs fn once and commits.
func (s *Store) attempt(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	t := s.begin(ctx, ns, beginUpdate)
	defer t.abandon()
	tx := txn.New(ctx, t, false)
	defer tx.End()
	err := fn(tx)
	tx.End()
	switch {
	case t.err != nil: // whatever fn made of it
		return t.err
	case err != nil:
		return err
	case tx.Refused() != nil:
		return tx.Refused()
	case ctx.Err() != nil:
		return ctx.Err()
	case tx.Len() == 0 && t.conn == nil: // it has neither read nor written
		return nil
	}
	_, made := s.clock.bounds() // no ID in it is later
	if err := t.commit(tx); err != nil {
		return err
	}
	s.clock.wait(ctx, made)
	return nil
}

// retry calls attempt until it neither lost to another transaction nor met a
// broken connection, a bounded number of times.
func (s *Store) retry(ctx context.Context, ns storage.Namespace, attempt func() error) error {
	lost, broken := 0, 0
	for {
		err := ctx.Err()
		if err == nil {
			err = attempt()
		}
		switch {
		case errors.Is(err, errLost):
			s.conflicts.Add(1)
			if lost++; lost == maxAttempts {
				return storage.ErrConflict
			}
			if lost == 1 && s.turn(ctx, ns) {
				defer s.turns.Pass(ns)
			}
		case errors.Is(err, storage.ErrUnavailable):
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.health.note(err)
			if broken++; broken > maxBroken || s.health.down() {
				return err
			}
		default:
			return err
		}
		if lost+broken > 1 {
			pause(ctx, lost+broken)
		}
	}
}

// turn waits for the turn of the namespace and says whether it came, which is
// better but not needed: it is not waited for long.
func (s *Store) turn(ctx context.Context, ns storage.Namespace) bool {
	ctx, cancel := context.WithTimeout(ctx, maxTurn)
	defer cancel()
	return s.turns.Wait(ctx, ns) == nil
}

// pause waits for a random time that grows with n, or for ctx's end.
func pause(ctx context.Context, n int) {
	background.Sleep(ctx, rand.N(min(firstPause<<min(n, 10), maxPause)))
}

// Close implements storage.Store.
func (s *Store) Close() error {
	return s.gate.Close(func() error {
		close(s.closing)
		s.endTime()
		s.endings.Wait()
		s.pool.Close()
		return nil
	})
}

// translated returns err as an error of this package: the driver's own mean
// nothing to callers, who must not come to depend on them.
func translated(what string, err error) error { return fmt.Errorf("pgstore: %s: %v", what, err) }
