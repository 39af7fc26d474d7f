package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/occ"
	"github.com/seed-506d8e5d/svc/storage/internal/wal"
)

// database is the log and badger as the map under a store. Versions are badger's
// timestamps and those of the log's records.
type database struct {
	dir      string
	lock     *dirLock
	wal      *wal.Log
	db       *badger.DB
	manifest *manifest
	log      *slog.Logger
	disk     disk
	failed   atomic.Pointer[error] // why nothing can be written before the store is opened again
	dead     chan struct{}         // closed by the first failure
	dying    sync.Once
	stuck    bool // badger could not be closed and has the directory until the process ends
	gone     lostKeys

	recent  atomic.Pointer[recent] // over what badger has
	merging sync.Mutex             // held while a tree of it is made

	// unsettled says that no table may be made any more of what badger has in memory,
	// which is elsewhere as well: it tells of values that may never reach the disk, or
	// is not known for what it is.
	unsettled atomic.Bool

	stop   context.CancelFunc
	ending sync.WaitGroup
	sealed chan struct{} // holds a value when a segment was completed

	mu      sync.Mutex    // held while badger writes for a transaction or compacts
	version uint64        // the last one applied
	mark    uint64        // the last mark that badger was given
	due     bool          // the segment of the log that is written to has no mark yet
	record  []byte        // reused
	deletes int           // since badger's memory was last emptied by flush
	purge   int           // how many more than what was set, lately
	dense   chan struct{} // holds a value when tombstones should be compacted away
	done    []segment     // of the log, complete and not removed
	synced  int           // number of the first file of the value log that may not be durable
}

// segment is a part of the log that is complete.
type segment struct {
	last     uint64 // version
	memtable int    // number of the last file of badger's that held something of it
}

// begin starts what goes on in the background.
func (d *database) begin() {
	var ctx context.Context
	ctx, d.stop = context.WithCancel(context.Background())
	d.sealed = make(chan struct{}, 1)
	d.dense = make(chan struct{}, 1)
	d.recent.Store(nothingRecent(d.version))
	d.Forget(d.version)
	d.ending.Go(func() { d.reclaimAlways(ctx) })
	d.ending.Go(func() { d.trimAlways(ctx) })
	d.ending.Go(func() { d.scrubAlways(ctx) })
	d.ending.Go(func() { d.compactAlways(ctx) })
}

// Snapshot implements occ.Database. It is of the version that was applied last, which
// may be one that is not published yet.
func (d *database) Snapshot(uint64) occ.Snapshot {
	r := d.recent.Load()
	return occ.Over(func() *occ.Tree { return d.treeOf(r) }, d.at(r.version))
}

// at is badger as of a version.
func (d *database) at(version uint64) *snapshot {
	return &snapshot{db: d.db, gone: &d.gone, txn: d.db.NewTransactionAt(version, false)}
}

// Apply implements occ.Database. The log is what makes the writes durable; what
// badger has of them counts only once it is in a table.
func (d *database) Apply(version uint64, writes []occ.Write) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.failed.Load(); err != nil {
		return *err
	}
	writes, err := d.append(version, writes)
	if errors.Is(err, wal.ErrRefused) {
		return fmt.Errorf("%w: %w", occ.ErrRefused, err)
	}
	if err == nil {
		err = d.keep(version, writes)
	}
	if err != nil {
		return d.fail(err)
	}
	d.version = version
	if d.purge >= purgeDeletes {
		select {
		case d.dense <- struct{}{}:
		default:
		}
	}
	return nil
}

// fail lets nothing be written any more.
func (d *database) fail(err error) error {
	err = fmt.Errorf("%w: %w", storage.ErrFailed, err)
	d.failed.Store(&err)
	d.dying.Do(func() { close(d.dead) })
	return err
}

// keptRecord is up to how many bytes the buffer is kept for the next record.
const keptRecord = 1 << 20

// append writes to the log and returns what has to be in badger, too.
func (d *database) append(version uint64, writes []occ.Write) ([]occ.Write, error) {
	size := encodedSize(writes)
	if !d.wal.Fits(size + 64) {
		if err := d.seal(); err != nil {
			return nil, err
		}
		memtable, _, err := files(d.dir, memExtension)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", wal.ErrRefused, err)
		}
		if err := d.wal.Start(version-1, d.mark, size+64); err != nil {
			return nil, err
		}
		d.done = append(d.done, segment{last: version - 1, memtable: memtable})
		d.due = true
		select {
		case d.sealed <- struct{}{}:
		default:
		}
	}
	if d.due {
		writes = append(writes, markWrite(version))
	}
	record := encode(d.record[:0], writes)
	if cap(record) <= keptRecord {
		d.record = record
	}
	if err := d.wal.Append(version, record); err != nil {
		return nil, err
	}
	if d.due {
		d.mark, d.due = version, false
	}
	return writes, nil
}

// index gives badger the writes, in as many of its transactions as they need.
// Their number does not matter: nobody reads the version before all are there,
// and after a crash the log has them.
func (d *database) index(version uint64, writes iter.Seq[occ.Write]) error {
	txn := d.db.NewTransactionAt(version, true)
	defer func() { txn.Discard() }()
	set := func(w occ.Write) error {
		if w.Deleted {
			d.deletes++
			d.purge++
			return txn.Delete(w.Key)
		}
		d.purge = max(d.purge-1, 0)
		return txn.Set(w.Key, w.Value)
	}
	for w := range writes {
		err := set(w)
		if errors.Is(err, badger.ErrTxnTooBig) {
			if err := txn.CommitAt(version, nil); err != nil {
				return translated("commit", err)
			}
			txn = d.db.NewTransactionAt(version, true)
			err = set(w)
		}
		if err != nil {
			return translated("write", err)
		}
	}
	if err := txn.CommitAt(version, nil); err != nil {
		return translated("commit", err)
	}
	return nil
}

// trimInterval is how often at the latest it is looked whether a part of the log
// can be removed.
const trimInterval = 10 * time.Second

// trimAlways removes what badger has of the log until ctx ends.
func (d *database) trimAlways(ctx context.Context) {
	background.Every(ctx, trimInterval, d.sealed, func() {
		if err := d.trim(); err != nil {
			d.log.Warn("badgerstore: the log could not be shortened", "error", err)
		}
	})
}

// maxLog is how many bytes the log may have before badger is made to write a table of
// what it has in memory: of large values that is hardly anything, and all of the log is
// replayed after a kill.
const maxLog = 64 << 20

// trim removes the segments of the log of which badger has everything in tables,
// which it has synced, and in the value log, which is synced here. What is only
// in its memory and the files that mirror it does not count.
func (d *database) trim() error {
	d.mu.Lock()
	done := d.done
	d.mu.Unlock()
	if len(done) == 0 {
		return nil
	}
	memory, memtable, err := memories(d.dir)
	if err != nil {
		return err
	}
	if done[0].memtable == memory && d.wal.Size() > maxLog {
		d.mu.Lock()
		defer d.mu.Unlock()
		_, err := d.rotate()
		return err // the table is there the next time
	}
	n := 0
	for n < len(done) && done[n].memtable < memtable {
		n++
	}
	if n == 0 {
		return nil
	}
	if err := d.settle(); err != nil {
		return err
	}
	if err := d.wal.Drop(done[n-1].last); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = d.done[n:]
	return nil
}

// settle makes the value log and the names of badger's files durable.
func (d *database) settle() error {
	d.mu.Lock()
	from := d.synced
	d.mu.Unlock()
	last, err := d.syncValues(from)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced = max(d.synced, last)
	return nil
}

// syncValues makes the value log from a file on durable, and the names of badger's
// files. It returns the number of the last file.
func (d *database) syncValues(from int) (int, error) {
	last, err := syncFiles(d.dir, valueExtension, from)
	if err != nil {
		return 0, err
	}
	return last, syncDirectory(d.dir)
}

// Healthy returns nil where a write can be expected to succeed.
func (d *database) Healthy() error {
	if err := d.failed.Load(); err != nil {
		return *err
	}
	return d.Room(false)
}

// Room implements occ.Database.
func (d *database) Room(reserved bool) error { return d.disk.room(d.dir, reserved) }

// Forget implements occ.Database.
func (d *database) Forget(version uint64) { d.db.SetDiscardTs(version) }

// Close implements occ.Database. The log is left empty: badger has everything in
// tables when it has closed. Where it cannot close, all is in the log, and the
// directory stays taken until the process ends.
func (d *database) Close() error {
	d.stop()
	d.ending.Wait()
	defer d.wal.Close()
	if err := d.Room(true); err != nil {
		// Badger would write tables to a full disk through its mapped files, which
		// kills the process. It is left as a kill would leave it.
		return fmt.Errorf("badgerstore: not closed, and all is in the log: %w", err)
	}
	if d.unsettled.Load() {
		d.manifest.over.Store(true)
		return fmt.Errorf("badgerstore: not closed, and the next start finds all: %w", *d.failed.Load())
	}
	err := d.closeBadger()
	if d.stuck {
		return err
	}
	defer d.lock.release()
	if err != nil || d.failed.Load() != nil {
		return err
	}
	if d.wal.Segments() == 1 && d.wal.Last() < d.wal.First() {
		return nil
	}
	if err := d.restart(); err != nil {
		d.log.Warn("badgerstore: the log could not be emptied", "error", err)
	}
	return nil
}

// restart leaves one segment of the log, without records. Badger has all of them
// in its tables.
func (d *database) restart() error {
	if err := syncDirectory(d.dir); err != nil {
		return err
	}
	if err := d.wal.Start(d.version, d.mark, 0); err != nil {
		return err
	}
	return d.wal.Drop(d.version)
}
