package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
	"github.com/seed-506d8e5d/svc/storage/internal/wal"
)

// database is the map under a store: the log, what it has in memory, and tables.
type database struct {
	settings
	lock  *dirLock
	wal   *wal.Log
	cache *blockCache

	failed atomic.Pointer[error] // why nothing can be written before the store is opened again
	nextID atomic.Uint64         // of a file

	// editing is held while the list of tables is changed.
	editing sync.Mutex
	saved   uint64 // the version up to which tables have everything, as the list says

	// mu guards what a snapshot is made of. What it points to is not changed.
	mu      sync.Mutex
	flushed *sync.Cond // when imm becomes nil, cannot be written, or the store fails
	mem     *memtable
	imm     *memtable // full, and being written to tables; nil most of the time
	stalled error     // why imm cannot be written to tables at present
	tables  *tableSet
	earlier []*tableSet // that snapshots still have, the oldest first

	unlisted bool            // the list of tables cannot be read: only with lost
	blobs    map[uint64]bool // that tables referred to when they were loaded

	stop    context.CancelFunc
	ending  sync.WaitGroup
	full    chan struct{} // capacity 1; wakes flushLoop
	changed chan struct{} // capacity 1; wakes compactLoop
}

// memtable is what was written since the one before it was full.
type memtable struct {
	tree    *txn.Tree
	size    int    // bytes
	inTable int    // of them, those that go to tables: all but large values
	version uint64 // the last one that it has
}

// A table that is built has a buffer of twice the size that it may get to, so that
// small ones are built with less than their level allows: minBuilder bytes and about
// what they come to, which is compressionRatio times what compacted tables take.
const (
	minBuilder       = 64 << 10
	compressionRatio = 4
)

// memtableWrite is about what a write takes besides its key and value.
const memtableWrite = 64

// begin starts what goes on in the background.
func (d *database) begin() {
	var ctx context.Context
	ctx, d.stop = context.WithCancel(context.Background())
	d.ending.Go(func() { d.flushLoop(ctx) })
	d.ending.Go(func() { d.compactLoop(ctx) })
	d.ending.Go(func() { d.scrubLoop(ctx) })
	wake(d.changed)
}

// wake lets a loop go on at once.
func wake(loop chan struct{}) {
	select {
	case loop <- struct{}{}:
	default:
	}
}

// Apply implements txn.Database. The log makes the writes durable.
func (d *database) Apply(version uint64, writes []txn.Write) error {
	if d.lost != nil {
		return storage.ErrReadOnly
	}
	if err := d.rotate(); err != nil {
		return err
	}
	err := d.append(version, writes)
	if errors.Is(err, wal.ErrRefused) {
		return fmt.Errorf("%w: %w", txn.ErrRefused, err)
	}
	if err != nil {
		return d.fail(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mem = d.mem.with(version, writes)
	return nil
}

// with returns a memtable that has the writes of a version, too. Of writes that were
// made by callers the values are copied.
func (m *memtable) with(version uint64, writes []txn.Write) *memtable {
	next := &memtable{tree: m.tree.Copy(), size: m.size, inTable: m.inTable, version: version}
	for _, w := range writes {
		w.Value = slices.Clone(w.Value)
		next.tree.Set(w)
		next.size += memtableWrite + len(w.Key) + len(w.Value)
		next.inTable += memtableWrite + len(w.Key)
		if len(w.Value) <= blobThreshold {
			next.inTable += len(w.Value)
		}
	}
	return next
}

// full reports whether a memtable is to be written to tables. Large values, which go
// to files of their own, count twice: they are what an upload holds in memory.
func (m *memtable) full(most int) bool { return 2*m.size-m.inTable >= most }

// rotate begins a new memtable where the present one is full. It waits for the one
// before it to be written to tables, and refuses where that cannot be at present.
func (d *database) rotate() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	full := d.mem.full(d.memtableSize)
	for full && d.imm != nil && d.stalled == nil && d.failed.Load() == nil {
		d.flushed.Wait()
	}
	if err := d.failed.Load(); err != nil {
		return *err
	}
	switch {
	case full && d.imm != nil:
		return fmt.Errorf("%w: %w", txn.ErrRefused, d.stalled)
	case full:
		d.imm, d.mem = d.mem, &memtable{tree: txn.NewTree(), version: d.mem.version}
		wake(d.full)
	}
	return nil
}

// fail lets nothing be written any more.
func (d *database) fail(err error) error {
	err = fmt.Errorf("%w: %w", storage.ErrFailed, err)
	if d.failed.CompareAndSwap(nil, &err) {
		d.log.Error("badgerstore: nothing is written any more until the store is opened again", "dir", d.dir, "error", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flushed.Broadcast()
	return *d.failed.Load()
}

// append writes to the log.
func (d *database) append(version uint64, writes []txn.Write) error {
	size := encodedSize(writes)
	if !d.wal.Fits(size) {
		if err := d.wal.Rotate(version-1, 0, size); err != nil {
			return err
		}
	}
	return d.wal.AppendFunc(version, size, func(b []byte) []byte { return encode(b, writes) })
}

// Snapshot implements txn.Database.
func (d *database) Snapshot(uint64) txn.Snapshot {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tables.refs++
	s := &snapshot{database: d, tables: d.tables, trees: []*txn.Tree{d.mem.tree}}
	if d.imm != nil {
		s.trees = append(s.trees, d.imm.tree)
	}
	return s
}

// release gives up a table set. Files of tables that are in none any more are removed.
// Large values stay as long as an earlier set does, whose tables may refer to them.
func (d *database) release(s *tableSet) {
	d.mu.Lock()
	var unused []*table
	var blobs []uint64
	if s.refs--; s.refs == 0 {
		for _, t := range s.all() {
			if t.refs--; t.refs == 0 {
				unused = append(unused, t)
			}
		}
		at := slices.Index(d.earlier, s)
		d.earlier = slices.Delete(d.earlier, at, at+1)
		if at > 0 {
			d.earlier[at-1].dropped = append(d.earlier[at-1].dropped, s.dropped...)
		} else {
			blobs = s.dropped
		}
	}
	d.mu.Unlock()
	var err error
	for _, t := range unused {
		err = errors.Join(err, t.close(), os.Remove(filepath.Join(d.dir, tableName(t.id))))
	}
	for _, id := range blobs {
		err = errors.Join(err, os.Remove(filepath.Join(d.dir, blobName(id))))
	}
	if err != nil { // the next start removes them
		d.log.Warn("badgerstore: files that are not needed any more could not be removed", "error", err)
	}
}

// install makes a change of the tables, durably. Tables have then what was written up
// to and with the version, and with that of earlier changes. It calls then while the
// change becomes visible. After an error that mayPass nothing has changed.
func (d *database) install(e edit, version uint64, then func()) error {
	d.editing.Lock()
	defer d.editing.Unlock()
	saved := max(d.saved, version)
	d.mu.Lock()
	old := d.tables
	d.mu.Unlock()
	next := old.with(e)
	if err := syncPath(d.dir); err != nil {
		return exhausted(err)
	}
	if err := writeFile(filepath.Join(d.dir, listName), encodeList(next, saved)); err != nil {
		return err
	}
	d.saved = saved
	d.mu.Lock()
	for _, t := range next.all() {
		t.refs++
	}
	old.dropped = e.dropped
	d.earlier = append(d.earlier, old)
	d.tables = next
	then()
	d.mu.Unlock()
	d.release(old)
	return nil
}

// Room implements txn.Database.
func (d *database) Room(reserved bool) error { return d.disk.room(d.dir, reserved) }

// Healthy returns nil where a write can be expected to succeed.
func (d *database) Healthy() error {
	if err := d.failed.Load(); err != nil {
		return *err
	}
	d.mu.Lock()
	stalled := d.stalled
	d.mu.Unlock()
	if stalled != nil {
		return stalled
	}
	return d.Room(false)
}

// Forget implements txn.Database.
func (d *database) Forget(uint64) {}

// Close implements txn.Database. It writes what is in memory to tables, so that the
// log is empty. After a failure, or on a full disk, it leaves that to the next start.
func (d *database) Close() error {
	defer d.lock.release()
	var err error
	if d.stop != nil {
		d.stop()
		d.ending.Wait()
		err = d.empty()
	}
	if mayPass(err) {
		d.log.Warn("badgerstore: closed with what was written last in the log alone", "error", err)
		err = nil
	}
	return errors.Join(err, d.closeFiles())
}

// closeFiles gives up the files. Those of a store that was not opened may be nil.
func (d *database) closeFiles() (err error) {
	if d.wal != nil {
		err = d.wal.Close()
	}
	if d.tables != nil {
		for _, t := range d.tables.all() {
			err = errors.Join(err, t.close())
		}
	}
	d.cache.Close()
	return err
}

// empty writes all that is in memory to tables and begins the log anew.
func (d *database) empty() error {
	if d.failed.Load() != nil || d.mem.tree.Len() == 0 && d.imm == nil {
		return nil
	}
	if err := d.disk.atLeast(d.dir, tableReserve); err != nil {
		return err
	}
	for d.imm != nil || d.mem.tree.Len() > 0 {
		if d.imm == nil {
			d.imm, d.mem = d.mem, &memtable{tree: txn.NewTree(), version: d.mem.version}
		}
		if err := d.flush(); err != nil {
			return err
		}
	}
	return d.restartLog()
}

// restartLog leaves one segment of the log, without records. Tables have all of them.
func (d *database) restartLog() error {
	if err := d.wal.Rotate(d.mem.version, 0, 0); err != nil {
		return err
	}
	return d.wal.TruncateThrough(d.mem.version)
}

// Size returns how many bytes of the disk the files in the directory take up.
func (d *database) Size() (int64, error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return 0, err
	}
	var size int64
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return 0, err
		}
		size += diskBytes(info)
	}
	return size, nil
}

// settings are what a store is opened with.
type settings struct {
	dir          string
	fs           wal.FS // where the log is
	segment      int64  // bytes of a segment of the log, 0 for the usual
	memtableSize int    // bytes
	disk         disk
	log          *slog.Logger

	// lost, if set, opens the store for reading alone and is called with what cannot be
	// read. Nothing in the directory is changed.
	lost func(error)
}
