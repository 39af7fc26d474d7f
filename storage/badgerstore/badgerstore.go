// Package badgerstore keeps everything in a directory, with the badger key-value
// store: a [storage.Store] that needs no server.
//
// [Open] takes the directory for this process alone. What an Update has
// acknowledged is in a log, synced; transactions that commit at the same time
// share a record and a sync. Badger is the index: it is written to after the log,
// some transactions at once, and never waits for the disk, and a part of the log is
// removed when badger has all of it in files that are synced. Small values lie in badger's tree, large
// ones such as the chunks of files in its value log, whose unused space is
// reclaimed in the background.
//
// What is read was verified: a store with a damaged table or log is not opened,
// and a damaged value is a [storage.ErrDamaged].
package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/occ"
	"github.com/seed-506d8e5d/svc/storage/internal/wal"
)

// ErrInUse: another process has the directory open, or this one has it open
// already.
var ErrInUse = errors.New("in use by another process")

// Options say where a store keeps its data. There is no mode without a
// directory, since badger's does not take a value of [storage.MaxValue]: package
// memstore is for that.
type Options struct {
	// Dir is the directory of the store. It must be given, and is created, for
	// its owner alone, where it does not exist.
	Dir string

	// Salvage opens a store that is damaged without what is lost, which is logged
	// as errors. Without it such a store is not opened.
	Salvage bool

	// Logger gets badger's messages: warnings and errors as such, all else at
	// debug level. Nil discards them.
	Logger *slog.Logger
}

// Stats counts what a store has done since it was opened.
type Stats struct {
	Commits   uint64 // transactions that wrote something
	Syncs     uint64 // waits for the disk that they shared
	Conflicts uint64 // attempts that lost to another transaction and were repeated
}

// Store is a [storage.Store] over a badger database.
type Store struct {
	store *occ.Store
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
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return open(settings{dir: opts.Dir, badger: badgerOptions(opts.Dir, log), fs: wal.Dir(opts.Dir), disk: disk{lately(freeBytes)}, log: log, salvage: opts.Salvage})
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
func (s *Store) Healthy(context.Context) error { return s.db.Healthy() }

// Stats returns the counters as they are now.
func (s *Store) Stats() Stats {
	n := s.store.Stats()
	return Stats{Commits: n.Commits, Syncs: n.Applies, Conflicts: n.Conflicts}
}

// Syncs returns how often the log was synced since the store was opened.
func (s *Store) Syncs() uint64 { return s.Stats().Syncs }

// translated returns err as an error of this package: badger's own errors mean
// nothing to callers, who must not come to depend on them.
func translated(what string, err error) error { return fmt.Errorf("badgerstore: %s: %v", what, err) }

// ReadAll implements storage.Snapshotter. Space that is unused meanwhile is not
// reclaimed before it ends. All tables are verified first: the error is a
// [storage.ErrDamaged] where one is damaged.
func (s *Store) ReadAll(ctx context.Context, fn func(storage.ScanAll) error) error {
	if err := s.db.verifyOpen(ctx, func(d damage) error { return d }); err != nil {
		return err
	}
	return s.store.ReadAll(ctx, fn)
}

// Size returns how many bytes of the disk the store takes up at present.
func (s *Store) Size() (int64, error) {
	entries, err := os.ReadDir(s.db.db.Opts().Dir)
	if err != nil {
		return 0, translated("size", err)
	}
	var size int64
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // compacted away meanwhile
		}
		if err != nil {
			return 0, translated("size", err)
		}
		size += diskBytes(info)
	}
	return size, nil
}
