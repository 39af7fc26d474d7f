package badgerstore

import (
	"context"
	"errors"
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
	tick := time.NewTicker(reclaimInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := d.reclaim(ctx); err != nil {
			d.log.Warn("badgerstore: unused space could not be reclaimed", "error", err)
		}
	}
}

// reclaim rewrites files of the value log that are largely unused. Badger reads
// the last version of its tables without their lock meanwhile, to keep deletes
// from being forgotten too early; that it may read one too old only keeps more.
func (d *database) reclaim(ctx context.Context) error {
	if err := d.countUnused(); err != nil {
		return translated("compact", err)
	}
	for ctx.Err() == nil {
		err := d.db.RunValueLogGC(reclaimRatio)
		if errors.Is(err, badger.ErrNoRewrite) {
			return nil
		}
		if err != nil {
			return translated("rewrite", err)
		}
	}
	return nil
}

// countUnused makes badger find out what is unused, if much was deleted. It does
// so only when it compacts tables, and it would begin a table only after
// memTable bytes of keys and small values, while a deleted file is hardly more
// than its chunks in the value log. Dropping a prefix makes it write the table
// and compact it right away. Writes wait meanwhile.
func (d *database) countUnused() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.deletes < reclaimDeletes {
		return nil
	}
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
