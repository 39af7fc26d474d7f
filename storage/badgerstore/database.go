package badgerstore

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/dgraph-io/badger/v4"

	"github.com/seed-506d8e5d/svc/storage/internal/occ"
)

// reserve is how many bytes of the disk are left alone. Badger writes to mapped
// files, and a disk that is full when it does kills the process.
const reserve = 128 << 20

// database is badger as the map under a store. Versions are badger's timestamps.
type database struct {
	db     *badger.DB
	log    *slog.Logger
	free   func(dir string) (uint64, error) // bytes left on the disk
	stop   context.CancelFunc
	ending sync.WaitGroup

	mu      sync.Mutex // held while badger writes for a transaction or compacts
	version uint64     // the last one applied
	deletes int        // since countUnused last went to work
}

func newDatabase(db *badger.DB, log *slog.Logger, version uint64) *database {
	ctx, stop := context.WithCancel(context.Background())
	d := &database{db: db, log: log, free: freeBytes, stop: stop, version: version}
	d.Forget(version)
	d.ending.Go(func() { d.reclaimAlways(ctx) })
	return d
}

// Snapshot implements occ.Database.
func (d *database) Snapshot(version uint64) occ.Snapshot {
	return &snapshot{db: d.db, txn: d.db.NewTransactionAt(version, false)}
}

// Apply implements occ.Database.
func (d *database) Apply(version uint64, writes []occ.Write) error {
	free, err := d.free(d.db.Opts().Dir)
	if err != nil {
		return fmt.Errorf("%w: free space is unknown: %v", occ.ErrRefused, err)
	}
	if free < reserve {
		return fmt.Errorf("%w: %d bytes are left on the disk, %d are kept free", occ.ErrRefused, free, reserve)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	txn := d.db.NewTransactionAt(version, true)
	defer txn.Discard()
	for _, w := range writes {
		var err error
		if w.Deleted {
			d.deletes++
			err = txn.Delete(w.Key)
		} else {
			err = txn.Set(w.Key, w.Value)
		}
		if err != nil {
			return translated("write", err)
		}
	}
	if err := txn.CommitAt(version, nil); err != nil {
		return translated("commit", err)
	}
	d.version = version
	return nil
}

// Forget implements occ.Database.
func (d *database) Forget(version uint64) { d.db.SetDiscardTs(version) }

// Close implements occ.Database.
func (d *database) Close() error {
	d.stop()
	d.ending.Wait()
	if err := d.db.Close(); err != nil {
		return translated("close", err)
	}
	return nil
}
