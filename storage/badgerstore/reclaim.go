package badgerstore

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/dgraph-io/badger/v4"
)

const (
	reclaimInterval = 10 * time.Minute

	// reclaimRatio is how much of a file of the value log must be unused for it
	// to be rewritten.
	reclaimRatio = 0.5

	// reclaimDeletes is how many deletes, since tables were last compacted on
	// their account, make it worth while to do so again.
	reclaimDeletes = 256
)

// marker is a key outside all namespaces.
var marker = []byte("\x01reclaim")

// reclaimAlways reclaims unused space of the value log from time to time, until
// ctx ends.
func (d *database) reclaimAlways(ctx context.Context) {
	every(ctx, reclaimInterval, nil, func() {
		if err := d.reclaim(ctx); err != nil {
			d.log.Warn("badgerstore: unused space could not be reclaimed", "error", err)
		}
	})
}

// reclaim rewrites files of the value log that are largely unused. Badger reads
// the last version of its tables without their lock meanwhile, to keep deletes
// from being forgotten too early; that it may read one too old only keeps more.
func (d *database) reclaim(ctx context.Context) error {
	d.mu.Lock()
	due := d.deletes >= reclaimDeletes
	d.mu.Unlock()
	if err := d.disk.room(d.dir, true); err != nil {
		return err
	}
	if due {
		if err := d.flush(); err != nil {
			return translated("compact", err)
		}
	}
	for ctx.Err() == nil {
		ratio, err := d.ratio()
		if err != nil {
			return err
		}
		if err := d.whole(ctx); err != nil {
			return err
		}
		more, err := d.rewrite(ratio)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// ratio returns how much of a file must be unused for what is left of it to fit
// on the disk beside it.
func (d *database) ratio() (float64, error) {
	free, err := d.disk.free(d.dir)
	if err != nil {
		return 0, err
	}
	room := float64(free) - lastReserve
	return min(max(reclaimRatio, 1-room/float64(d.db.Opts().ValueLogFileSize)), 0.99), nil
}

// whole returns an error where the file that badger would rewrite next is
// damaged: badger would remove it with all that is behind the damage.
func (d *database) whole(ctx context.Context) error {
	n, err := candidate(d.dir)
	if err != nil || n == 0 {
		return err
	}
	err = checkValues(ctx, d.dir, valueName(n))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// rewrite moves what is used of one file elsewhere and removes the file, or
// returns false where there is none that is so much unused. Badger would remove
// the file while what was moved is in its memory and in files that are not
// synced. It waits for iterators, and so for the one that is open here until what
// was moved is durable.
func (d *database) rewrite(ratio float64) (bool, error) {
	txn := d.db.NewTransactionAt(0, false)
	hold := txn.NewIterator(badger.IteratorOptions{})
	err := d.db.RunValueLogGC(ratio)
	if err == nil {
		if err = d.flush(); err == nil {
			err = d.settle()
		}
		if err != nil {
			// The file is left to the next start: to close the iterator now would
			// remove it.
			return false, translated("rewrite", err)
		}
	}
	hold.Close()
	txn.Discard()
	if errors.Is(err, badger.ErrNoRewrite) {
		return false, nil
	}
	if err != nil {
		return false, translated("rewrite", err)
	}
	return true, nil
}

// flush makes badger write a table of what it has in memory, and compact it right
// away: only then does it find out what is unused. By itself it would begin a
// table after memTable bytes of keys and small values, while a deleted file is
// hardly more than its chunks in the value log. Dropping a prefix makes it do so.
// Writes wait meanwhile.
func (d *database) flush() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deletes = 0
	txn := d.db.NewTransactionAt(d.version, true)
	defer txn.Discard()
	if err := txn.Set(marker, nil); err != nil {
		return err
	}
	if err := txn.CommitAt(d.version, nil); err != nil {
		return err
	}
	return d.db.DropPrefix(marker)
}
