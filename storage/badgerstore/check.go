package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
	"github.com/seed-506d8e5d/svc/storage/internal/wal"
)

// ErrNoStore: there is no store in the directory.
var ErrNoStore = errors.New("badgerstore: there is no store")

// Check reads and verifies everything in a directory that no process has open. It calls
// report for what is damaged, and returns how many records can be read. It changes
// nothing, so that the directory may be on a disk that cannot be written. The error is
// an ErrNoStore where there is no store.
func Check(ctx context.Context, dir string, report func(error)) (records int, err error) {
	s, err := openDamaged(dir, report)
	if err != nil {
		return 0, err
	}
	err = s.ReadAll(ctx, func(scan storage.ScanAll) error {
		for _, err := range scan(false) {
			if err != nil {
				return err
			}
			records++
		}
		return nil
	})
	return records, errors.Join(err, s.Close())
}

// openDamaged opens a store for reading alone, without what cannot be read.
func openDamaged(dir string, report func(error)) (*Store, error) {
	if err := hasStore(dir); err != nil {
		return nil, err
	}
	held, err := lock(dir, false)
	if err != nil {
		return nil, err
	}
	s := settingsOf(Options{Dir: dir})
	s.lost = report
	d, err := s.load(held)
	if err != nil {
		held.release()
		return nil, errors.Join(err, d.closeFiles())
	}
	return &Store{store: txn.NewStore(d, d.mem.version), db: d}, nil
}

// hasStore returns an error where a directory has no store of this version.
func hasStore(dir string) error {
	tables, err := filepath.Glob(filepath.Join(dir, "*"+tableExtension))
	if err != nil {
		return err
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*"+logExtension))
	switch {
	case err != nil:
		return err
	case exists(dir, listName):
		return nil
	case exists(dir, badgerList):
		return fmt.Errorf("badgerstore: %s was written by an earlier version: start the server with it once, and check it then", dir)
	case len(tables)+len(logs) == 0:
		return fmt.Errorf("%w in %s", ErrNoStore, dir)
	}
	return nil
}

// settingsOf returns what a store is opened with for a program.
func settingsOf(opts Options) settings {
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return settings{dir: opts.Dir, fs: wal.Dir(opts.Dir), memtableSize: memtableSize, disk: disk{lately(freeBytes)}, log: log}
}
