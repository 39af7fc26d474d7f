// Package badgerstore is a [storage.Store] in a directory: it needs no server. [Open]
// takes the directory for this process alone.
//
// It is a log-structured merge tree. An Update is acknowledged when it is in the log
// (package wal), synced; transactions that commit at the same time share a record and a
// sync. What the log has is in memory, too, in a memtable. A full memtable is written
// to a table, and the log is truncated. Tables are immutable, sorted files in the format
// of the badger database, which also reads and writes them; they are compacted in the
// background, level by level. The file TABLES lists them: it is replaced, never changed,
// and only after the tables that it names are on the disk. A value larger than
// [storage.SmallValue] is in a file of its own, which is removed when the last table
// that referred to it is.
//
// Everything is verified when it is read. A store with a damaged file is not opened,
// and reading a place that has become damaged since is a [storage.ErrDamaged]. [Check]
// says what is damaged, and [Salvage] exports the rest. A failed write ends all writes
// until the store is opened again, a [storage.ErrFailed]; reads go on.
package badgerstore

import (
	"context"
	"errors"
	"log/slog"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
)

// ErrInUse: another process has the directory open, or this one has it open
// already.
var ErrInUse = errors.New("in use by another process")

// Options say where a store keeps its data.
type Options struct {
	// Dir is the directory of the store. It must be given, and is created, for
	// its owner alone, where it does not exist.
	Dir string

	// Logger gets warnings and errors. Nil discards them.
	Logger *slog.Logger
}

// Stats counts what a store has done since it was opened.
type Stats struct {
	Commits   uint64 // transactions that wrote something
	Syncs     uint64 // waits for the disk that they shared
	Conflicts uint64 // attempts that lost to another transaction and were repeated
}

// Store is a [storage.Store] in a directory.
type Store struct {
	store *txn.Store
	db    *database
}

var (
	_ storage.Store       = (*Store)(nil)
	_ storage.Snapshotter = (*Store)(nil)
	_ storage.Sizer       = (*Store)(nil)
)

// Open opens the store in opts.Dir or creates it. The error is an [ErrInUse]
// where another process has it open. The store owns goroutines and must be
// closed.
func Open(opts Options) (*Store, error) {
	if opts.Dir == "" {
		return nil, errors.New("badgerstore: no directory given")
	}
	return open(settingsOf(opts))
}

// View implements [storage.Store].
func (s *Store) View(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	return s.store.View(ctx, ns, fn)
}

// Update implements [storage.Store].
func (s *Store) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	return s.store.Update(ctx, ns, fn)
}

// Close implements [storage.Store].
func (s *Store) Close() error { return s.store.Close() }

// Healthy implements [storage.HealthChecker]. The error is a [storage.ErrFailed]
// where only opening the store again helps.
func (s *Store) Healthy(context.Context) error {
	if err := s.store.Failed(); err != nil {
		return err
	}
	return s.db.Healthy()
}

// Stats returns the counters as they are now.
func (s *Store) Stats() Stats {
	n := s.store.Stats()
	return Stats{Commits: n.Commits, Syncs: n.Applies, Conflicts: n.Conflicts}
}

// Syncs returns how often the log was synced since the store was opened.
func (s *Store) Syncs() uint64 { return s.Stats().Syncs }

// ReadAll implements storage.Snapshotter.
func (s *Store) ReadAll(ctx context.Context, fn func(storage.ScanAll) error) error {
	return s.store.ReadAll(ctx, fn)
}

// Size implements storage.Sizer.
func (s *Store) Size() (int64, error) { return s.db.Size() }
