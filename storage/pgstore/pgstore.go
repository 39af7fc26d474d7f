// Package pgstore is a [storage.Store] in a database that speaks PostgreSQL's wire
// protocol. Several processes can share it. It is tested with PostgreSQL, and uses
// nothing that CockroachDB and YugabyteDB do not have (docs/scaling.md).
//
// All data is in one table, kv, which [Open] creates. A transaction that writes is
// SERIALIZABLE. Its reads go to the database as they come, the first one together
// with BEGIN. Its writes are kept in memory and sent together with COMMIT, as one
// statement for what is set and one for what is deleted. A transaction that conflicts
// with another one is run again. If the answer to COMMIT is lost, a commit record
// tells whether the transaction was committed (records.go). A View reads one snapshot.
package pgstore

import (
	"context"
	"errors"
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

// Options configure a store. Only URL is required.
type Options struct {
	// URL is the address of the database as libpq has it:
	// postgres://user:password@host:port/database?sslmode=verify-full. Besides
	// libpq's parameters it takes pool_max_conns, the maximum number of open
	// connections, 20 by default, and default_query_exec_mode=exec for poolers that
	// do not keep prepared statements.
	URL string

	// Timeout bounds each wait for the database; 0 is 30 seconds.
	Timeout time.Duration

	// Logger gets what no caller is told; nil discards it.
	Logger *slog.Logger
}

const (
	defaultTimeout = 30 * time.Second
	defaultConns   = 20

	// maxConflicts is how often an Update is run again because of conflicts, which
	// takes some four seconds. The database also reports conflicts between
	// transactions that only touch neighbouring keys: three of four attempts may
	// fail if several processes write as fast as they can.
	maxConflicts = 128
	// maxBroken is how often a transaction is run again because its connection broke
	// before COMMIT was sent.
	maxBroken = 8

	// The pause between two attempts grows from firstPause to maxPause. It is for
	// conflicts with other processes: transactions of this process queue for the
	// retry lock of their namespace, for maxLockWait at most.
	firstPause  = time.Millisecond
	maxPause    = 64 * time.Millisecond
	maxLockWait = 250 * time.Millisecond
)

// Stats counts what a store has done since it was opened.
type Stats struct {
	Commits    uint64 // transactions that wrote something
	Conflicts  uint64 // attempts that the database rolled back because of others
	Resolved   uint64 // commits in doubt whose outcome was found out
	Statements uint64 // statements sent besides BEGIN, COMMIT and ROLLBACK, which go along with others
	Trips      uint64 // waits for an answer of the database
}

// Store is a [storage.Store] in a database.
type Store struct {
	pool       *pgxpool.Pool
	log        *slog.Logger
	timeout    time.Duration
	locks      txn.RetryLocks
	gate       txn.Gate
	health     health
	records    *commitRecords
	clock      clock
	background sync.WaitGroup     // rollbacks, probes and periodic work
	stop       context.CancelFunc // ends the periodic work

	commits, conflicts, resolved, statements, trips atomic.Uint64

	connections atomic.Uint64 // made since the store was opened
}

var (
	_ storage.Store         = (*Store)(nil)
	_ storage.Snapshotter   = (*Store)(nil)
	_ storage.HealthChecker = (*Store)(nil)
	_ storage.MultiProcess  = (*Store)(nil)
	_ storage.Clock         = (*Store)(nil)
	_ storage.Epocher       = (*Store)(nil)
)

// Open connects to the database and creates its tables if they do not exist. It
// fails if the database cannot be reached before ctx ends, was written by a later
// version, or is behind a pooler that the URL does not allow for. The caller must
// close the store.
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

// newStore opens the pool of a database that has its tables.
func newStore(ctx context.Context, config *pgxpool.Config, o Options) (*Store, error) {
	s := &Store{log: o.Logger, timeout: o.Timeout, records: newCommitRecords(), clock: clock{machine: time.Now}}
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
	if err := s.connect(ctx); err != nil {
		s.pool.Close()
		return nil, err
	}
	s.health.note(nil)
	periodic, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.background.Go(func() {
		background.Every(periodic, sweepEvery, nil, s.removeRecords)
		s.removeRecords()
	})
	s.background.Go(func() { s.keepTime(periodic) })
	return s, nil
}

// connect makes the first connections, and refuses a pooler that loses prepared
// statements: there, two connections share one to the server, and the second
// connection finds the statements of the first.
func (s *Store) connect(ctx context.Context) error {
	for range min(2, s.pool.Config().MaxConns) {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return unavailable(err)
		}
		defer conn.Release()
	}
	return s.clock.start(ctx, s.serverTime)
}

// Stats returns the counters as they are now.
func (s *Store) Stats() Stats {
	return Stats{s.commits.Load(), s.conflicts.Load(), s.resolved.Load(), s.statements.Load(), s.trips.Load()}
}

// Shared implements storage.MultiProcess.
func (s *Store) Shared() bool { return true }

// Age implements storage.Epocher. It counts connections, because a server that takes
// over from another one is reached by new connections only.
func (s *Store) Epoch() uint64 { return s.connections.Load() }

// View implements storage.Store.
func (s *Store) View(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	return s.retry(ctx, ns, func() error {
		t := s.newSession(ctx, ns, beginView)
		defer t.abandon()
		tx := txn.NewTx(ctx, t, true)
		defer tx.End()
		err := fn(tx)
		switch {
		case t.err != nil: // whatever fn returned for it
			return t.err
		case err != nil:
			return err
		}
		return ctx.Err()
	})
}

// Update implements storage.Store.
func (s *Store) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	return s.retry(ctx, ns, func() error { return s.attempt(ctx, ns, fn) })
}

// attempt runs fn once and commits.
func (s *Store) attempt(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	t := s.newSession(ctx, ns, beginUpdate)
	defer t.abandon()
	tx := txn.NewTx(ctx, t, false)
	defer tx.End()
	err := fn(tx)
	tx.End()
	switch {
	case t.err != nil: // whatever fn returned for it
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
	latest := s.Now() // no ID that fn made has a later time
	if err := t.commit(tx); err != nil {
		return err
	}
	s.clock.wait(ctx, latest)
	return nil
}

// retry calls attempt, and calls it again after conflicts and broken connections, a
// bounded number of times. The store cannot be closed meanwhile.
func (s *Store) retry(ctx context.Context, ns storage.Namespace, attempt func() error) error {
	if err := s.gate.Enter(ctx, ns); err != nil {
		return err
	}
	defer s.gate.Leave()
	conflicts, broken := 0, 0
	for {
		err := ctx.Err()
		if err == nil {
			err = attempt()
		}
		switch {
		case errors.Is(err, errConflict):
			s.conflicts.Add(1)
			if conflicts++; conflicts == maxConflicts {
				return storage.ErrConflict
			}
			if conflicts == 1 && s.lockForRetry(ctx, ns) {
				defer s.locks.Unlock(ns)
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
		if conflicts+broken > 1 {
			pause(ctx, conflicts+broken)
		}
	}
}

// lockForRetry waits for the retry lock of the namespace and reports whether it was
// acquired. The lock saves work but is not needed, so the wait is short.
func (s *Store) lockForRetry(ctx context.Context, ns storage.Namespace) bool {
	ctx, cancel := context.WithTimeout(ctx, maxLockWait)
	defer cancel()
	return s.locks.Lock(ctx, ns) == nil
}

// pause waits for a random time that grows with n, or until ctx ends.
func pause(ctx context.Context, n int) {
	background.Sleep(ctx, rand.N(min(firstPause<<min(n, 10), maxPause)))
}

// Close implements storage.Store.
func (s *Store) Close() error {
	return s.gate.Close(func() error {
		s.stop()
		s.background.Wait()
		s.pool.Close()
		return nil
	})
}
