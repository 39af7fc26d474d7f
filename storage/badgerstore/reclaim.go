package badgerstore

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/storage"
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

// purgeDeletes is how many more deletions than other writes are compacted away at
// once: whoever reads a range in which they were walks over each of them until
// then. Where as much is set as deleted, what is set would be compacted with them.
const purgeDeletes = 1000

// compactInterval is how often fewer deletions are looked for.
const compactInterval = 30 * time.Second

// compactAlways compacts deletions away until ctx ends.
func (d *database) compactAlways(ctx context.Context) {
	background.Every(ctx, compactInterval, d.dense, func() {
		if err := d.compact(ctx); err != nil && ctx.Err() == nil {
			d.log.Warn("badgerstore: deletions could not be compacted", "error", err)
		}
	})
}

// compact compacts deletions away where there are some.
func (d *database) compact(ctx context.Context) error {
	d.mu.Lock()
	due := d.purge >= reclaimDeletes
	d.mu.Unlock()
	if !due || d.failed.Load() != nil || d.disk.room(d.dir, true) != nil {
		return nil
	}
	return d.flush(ctx)
}

// marker is a key outside all namespaces.
var marker = []byte("\x01reclaim")

// reclaimAlways reclaims unused space of the value log from time to time, until
// ctx ends.
func (d *database) reclaimAlways(ctx context.Context) {
	background.Every(ctx, reclaimInterval, nil, func() {
		if err := d.reclaim(ctx); err != nil && ctx.Err() == nil {
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
		if err := d.flush(ctx); err != nil {
			return translated("compact", err)
		}
	}
	for ctx.Err() == nil {
		ratio, err := d.ratio()
		if err != nil {
			return err
		}
		n, err := candidate(d.dir, ratio)
		if err != nil || n == 0 {
			return err
		}
		if err := d.whole(ctx, n); err != nil {
			return err
		}
		more, err := d.rewrite(context.WithoutCancel(ctx), ratio)
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
func (d *database) whole(ctx context.Context, n int) error {
	err := checkValues(ctx, d.dir, valueName(n))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var found damage
	if !errors.As(err, &found) {
		return err
	}
	needed, failed := d.needs(n, found.offset)
	if needed || failed != nil {
		return errors.Join(err, failed)
	}
	return nil
}

// rewrite moves what is used of one file elsewhere and removes the file, or
// returns false where there is none that is so much unused. Badger would remove
// the file while what was moved is in its memory and in files that are not
// synced. It waits for iterators, and so for the one that is open here until what
// was moved is durable.
func (d *database) rewrite(ctx context.Context, ratio float64) (bool, error) {
	txn := d.db.NewTransactionAt(0, false)
	hold := txn.NewIterator(badger.IteratorOptions{})
	moved, err := d.move(ratio)
	if moved && err == nil {
		if err = d.written(ctx); err == nil {
			err = d.settle()
		}
	}
	if moved && err != nil {
		// The file is left to the next start: to close the iterator now would
		// remove it.
		return false, translated("rewrite", err)
	}
	hold.Close()
	txn.Discard()
	if err != nil {
		return false, translated("rewrite", err)
	}
	return moved, nil
}

// move lets badger move what is used of one file, and makes it durable. The log
// has nothing of that, so there must be no table that says where it is before the
// disk has it: badger's memory is emptied first, where what is moved fits with
// room to spare, and writes wait meanwhile.
func (d *database) move(ratio float64) (moved bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.rotate(); err != nil {
		return false, err
	}
	err = d.db.RunValueLogGC(ratio)
	if errors.Is(err, badger.ErrNoRewrite) {
		return false, nil
	}
	if last, failed := d.syncValues(d.synced); failed != nil {
		d.unsettled.Store(true)
		d.fail(failed)
		err = errors.Join(err, failed)
	} else {
		d.synced = last
	}
	return true, err
}

// rotate makes badger write a table, in the background, of what it has in memory,
// and go on with memory that is empty but for one value. It does so when memory is
// full, and is given zeros until then. By itself it would begin a table after
// memTable bytes of keys and small values, while a file is hardly more than its
// chunks in the value log. The number is that of the memory's file, which is removed
// when there is the table. d.mu is held.
func (d *database) rotate() (int, error) {
	if err := d.failed.Load(); err != nil {
		return 0, *err
	}
	if err := d.giveAll(); err != nil {
		return 0, d.fail(err)
	}
	last, _, err := files(d.dir, memExtension)
	if err != nil {
		return 0, err
	}
	zeros := make([]byte, storage.SmallValue)
	for range 2*d.db.Opts().MemTableSize/storage.SmallValue + 2 {
		txn := d.db.NewTransactionAt(d.version, true)
		err := txn.Set(marker, zeros)
		if err == nil {
			err = txn.CommitAt(d.version, nil)
		}
		txn.Discard()
		if err != nil {
			return 0, d.fail(translated("write", err))
		}
		if exists(d.dir, memName(last+1)) {
			return last, nil
		}
	}
	return 0, errors.New("badgerstore: badger does not empty its memory")
}

// written waits until all that badger has in memory is in tables. An iterator may be
// open, which keeps the file of the memory that it reads: badger writes tables one
// after the other, and the file of the next one goes when it is written.
func (d *database) written(ctx context.Context) error {
	var n int
	for range 2 {
		d.mu.Lock()
		var err error
		n, err = d.rotate()
		d.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return d.await(ctx, func() bool {
		_, first, err := memories(d.dir)
		return err == nil && first > n
	})
}

// flush makes badger write a table of what it has in memory, and compact it right
// away: only then does it find out what is unused. It compacts its newest tables
// when there are enough of them.
func (d *database) flush(ctx context.Context) error {
	d.mu.Lock()
	d.deletes, d.purge = 0, 0
	d.mu.Unlock()
	if err := d.written(ctx); err != nil {
		return err
	}
	newest := func() (ids []uint64) {
		for _, t := range d.db.Tables() {
			if t.Level == 0 {
				ids = append(ids, t.ID)
			}
		}
		return ids
	}
	these := newest()
	gone := func() bool {
		return !slices.ContainsFunc(newest(), func(id uint64) bool { return slices.Contains(these, id) })
	}
	few := func() bool { return len(newest()) < d.db.Opts().NumLevelZeroTables }
	for !gone() {
		var err error
		if few() {
			err = d.written(ctx)
		} else {
			err = d.await(ctx, func() bool { return gone() || few() })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const awaitEvery = 5 * time.Millisecond

var awaitMost = time.Minute // shorter in tests

// await waits for what badger does in the background.
func (d *database) await(ctx context.Context, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, awaitMost)
	defer cancel()
	for !done() {
		select {
		case <-time.After(awaitEvery):
		case <-d.dead:
			return *d.failed.Load()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
