package badgerstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dgraph-io/badger/v4/y"

	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
)

// flushRetry is how long after a table could not be written it is tried again.
const flushRetry = time.Second

// flushLoop writes full memtables to tables until ctx ends. Where the disk or the open
// files are exhausted it tries again.
func (d *database) flushLoop(ctx context.Context) {
	background.Every(ctx, time.Hour, d.full, func() {
		if d.failed.Load() != nil {
			return
		}
		err := d.flush()
		for ; mayPass(err); err = d.flush() {
			d.stall(err)
			if !background.Sleep(ctx, flushRetry) {
				return
			}
		}
		if err != nil {
			d.fail(fmt.Errorf("badgerstore: a table could not be written: %w", err))
			return
		}
		d.stall(nil)
		wake(d.changed)
	})
}

// stall notes why the full memtable cannot be written to tables at present, nil where
// it can.
func (d *database) stall(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil && d.stalled == nil {
		d.log.Error("badgerstore: a table cannot be written at present", "dir", d.dir, "error", err)
	}
	d.stalled = err
	d.flushed.Broadcast()
}

// flush writes the full memtable to tables, and truncates the log.
func (d *database) flush() error {
	d.mu.Lock()
	imm, tables := d.imm, d.tables
	tables.refs++
	d.mu.Unlock()
	defer d.release(tables)
	if imm == nil {
		return nil
	}
	w := &tableWriter{d: d, size: min(d.memtableSize, minBuilder+imm.inTable*5/4)}
	for write := range imm.tree.Writes {
		if write.Deleted && !tables.mayHave(write.Key) {
			continue // nothing is there that it hides
		}
		if err := w.addWrite(write, imm.version); err != nil {
			return w.abort(err)
		}
	}
	if err := w.finish(); err != nil {
		return w.abort(err)
	}
	err := w.install(edit{}, imm.version, func() {
		d.imm = nil
		d.flushed.Broadcast()
	})
	if err != nil {
		return err
	}
	return d.wal.TruncateThrough(imm.version)
}

// tableWriter writes entries, which come in the order of their keys, to tables.
type tableWriter struct {
	d     *database
	size  int // of a table, about
	build *tableBuilder

	tables []*table
	files  []string // names of all that were begun
}

// addWrite adds a write. A large value goes to a file of its own.
func (w *tableWriter) addWrite(write txn.Write, version uint64) error {
	value := y.ValueStruct{Value: write.Value}
	switch {
	case write.Deleted:
		value.Meta = metaDeleted
	case len(write.Value) > blobThreshold:
		ref, err := w.blob(write.Value)
		if err != nil {
			return err
		}
		value = y.ValueStruct{Meta: metaBlob, Value: ref.encode()}
	}
	return w.add(write.Key, version, value)
}

// add adds an entry.
func (w *tableWriter) add(key []byte, version uint64, value y.ValueStruct) error {
	if w.build == nil {
		w.build = newTableBuilder(w.size)
	}
	w.build.add(key, version, value)
	if w.build.full() {
		return w.finish()
	}
	return nil
}

// finish writes the table that was begun.
func (w *tableWriter) finish() error {
	if w.build == nil {
		return nil
	}
	data, tombstones := w.build.finish()
	w.build = nil
	id := w.d.nextID.Add(1)
	if err := w.create(tableName(id), data); err != nil {
		return err
	}
	t, err := openTable(w.d.dir, id, w.d.cache)
	if err != nil {
		return err
	}
	t.tombstones = tombstones
	w.tables = append(w.tables, t)
	return nil
}

// blob writes a large value.
func (w *tableWriter) blob(value []byte) (blobRef, error) {
	id := w.d.nextID.Add(1)
	return newBlobRef(id, value), w.create(blobName(id), value)
}

// create writes a file.
func (w *tableWriter) create(name string, data []byte) error {
	w.files = append(w.files, name)
	return createFile(filepath.Join(w.d.dir, name), data)
}

// abort removes what was written, as far as that is possible, and returns err, which
// may be one that passes, see mayPass. What stays the next start removes.
func (w *tableWriter) abort(err error) error {
	for _, t := range w.tables {
		t.close()
	}
	for _, name := range w.files {
		os.Remove(filepath.Join(w.d.dir, name))
	}
	return exhausted(err)
}

// install adds the tables that were written with a change of the database's tables.
func (w *tableWriter) install(e edit, version uint64, then func()) error {
	e.add = w.tables
	err := w.d.install(e, version, then)
	if mayPass(err) {
		return w.abort(err)
	}
	return err
}
