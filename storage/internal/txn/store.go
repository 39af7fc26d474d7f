package txn

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/seed-506d8e5d/svc/storage"
)

// Database is the ordered map under a Store. Keys are those of all namespaces,
// encoded so that none begins another's.
type Database interface {
	// Snapshot returns a reader of the state that the last successful Apply
	// left, which was made as version, or of the state that a later one left.
	// It may be called during an Apply.
	Snapshot(version uint64) Snapshot

	// Apply makes the writes the next version: all of them or none, and durable
	// when it returns. Of two writes of a key the later one counts. Keys may be
	// kept and must not be changed, values are the caller's. Calls do not overlap
	// and their versions ascend. An error that is ErrRefused says that nothing was
	// written, and the version is tried again with other writes; after any other
	// error there are no more calls. One call has no more bytes and writes than
	// one transaction may have, apart from the encoding of namespaces.
	Apply(version uint64, writes []Write) error

	// Room returns nil where the disk has space for a transaction, or where it has
	// for one that may use the reserve, and otherwise why nothing may be written.
	Room(reserved bool) error

	// Forget says that no snapshot older than version is open or will be.
	Forget(version uint64)

	// Close is called once, after all else.
	Close() error
}

// Snapshot is an unchanging view of a Database, used by one goroutine.
type Snapshot interface {
	// Get returns the value of key as bytes of the caller's, never nil, or
	// storage.ErrNotFound.
	Get(key []byte) ([]byte, error)

	// Iterate returns an iterator over the keys from start up to and without
	// end. At most one is open at a time, and closed before the snapshot is.
	Iterate(start, end []byte, reverse bool) Iterator

	Close()
}

// ErrRefused is the error of an Apply that has written nothing.
var ErrRefused = errors.New("storage: the write was refused")

// maxAttempts is how often an Update runs its function before it gives up.
// From the second attempt on a transaction takes the retry lock of its namespace, so
// that only transactions on their first attempt can get in its way.
const maxAttempts = 32

// Store is a storage.Store over a Database.
type Store struct {
	db        Database
	committer committer
	locks     RetryLocks
	gate      Gate
	stats     counters

	mu      sync.Mutex
	version uint64         // the last one applied
	open    map[uint64]int // how many snapshots of each version are open
}

type counters struct{ commits, applies, conflicts atomic.Uint64 }

// Stats counts what a store has done since it was opened.
type Stats struct {
	Commits   uint64 // transactions that wrote something
	Applies   uint64 // groups of them that were written at once
	Conflicts uint64 // attempts that met a conflict with another
}

// NewStore returns a store over db, whose last version is version. The store owns db
// until Close.
func NewStore(db Database, version uint64) *Store {
	s := &Store{
		db:      db,
		version: version,
		open:    make(map[uint64]int),
	}
	s.committer = committer{store: s, version: version, recent: recentCommits{floor: version}}
	return s
}

var _ storage.Store = (*Store)(nil)

// Stats returns the counters as they are now.
func (s *Store) Stats() Stats {
	return Stats{
		Commits:   s.stats.commits.Load(),
		Applies:   s.stats.applies.Load(),
		Conflicts: s.stats.conflicts.Load(),
	}
}

// View implements storage.Store.
func (s *Store) View(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	if err := s.gate.Enter(ctx, ns); err != nil {
		return err
	}
	defer s.gate.Leave()
	a := s.begin(ctx, ns, true)
	defer a.end()
	if err := fn(a.Tx); err != nil {
		return err
	}
	return ctx.Err()
}

// Update implements storage.Store.
func (s *Store) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	if err := s.gate.Enter(ctx, ns); err != nil {
		return err
	}
	defer s.gate.Leave()
	err := s.attempt(ctx, ns, fn)
	if err != errConflict {
		return err
	}
	if err := s.locks.Lock(ctx, ns); err != nil {
		return err
	}
	defer s.locks.Unlock(ns)
	for range maxAttempts - 1 {
		if err := s.attempt(ctx, ns, fn); err != errConflict {
			return err
		}
	}
	return storage.ErrConflict
}

// attempt runs fn once and commits. It returns errConflict, as it is, where the
// transaction read what another has changed meanwhile.
func (s *Store) attempt(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a := s.begin(ctx, ns, false)
	defer a.end()
	if err := fn(a.Tx); err != nil {
		return err
	}
	a.end() // what was scanned is complete only now
	if err := a.Refused(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil || a.Len() == 0 {
		return err
	}
	return s.commit(a)
}

// begin starts a transaction at the last version.
func (s *Store) begin(ctx context.Context, ns storage.Namespace, readOnly bool) *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[s.version]++
	a := &attempt{
		store:    s,
		ctx:      ctx,
		prefix:   prefix(ns),
		version:  s.version,
		snapshot: s.db.Snapshot(s.version),
		readOnly: readOnly,
	}
	a.Tx = NewTx(ctx, reader{a}, readOnly)
	return a
}

// release gives back a snapshot of the version.
func (s *Store) release(version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[version]--; s.open[version] == 0 {
		delete(s.open, version)
	}
}

// publish makes version, which holds that many commits, the one that
// transactions begin at.
func (s *Store) publish(version uint64, commits int) {
	s.stats.applies.Add(1)
	s.stats.commits.Add(uint64(commits))
	s.mu.Lock()
	s.version = version
	oldest := version
	for v := range s.open {
		oldest = min(oldest, v)
	}
	s.mu.Unlock()
	s.db.Forget(oldest)
}

// Close implements storage.Store.
func (s *Store) Close() error {
	return s.gate.Close(s.db.Close)
}
