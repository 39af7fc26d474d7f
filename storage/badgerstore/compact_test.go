package badgerstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
)

// quiet opens a new store that compacts only when the test does.
func quiet(t *testing.T) *Store { return openQuiet(t, t.TempDir()) }

func openQuiet(t *testing.T, dir string) *Store {
	t.Helper()
	s := openDir(t, dir)
	s.db.stop()
	s.db.ending.Wait()
	return s
}

// flushNow writes what is in memory to tables.
func flushNow(t *testing.T, s *Store) {
	t.Helper()
	if err := s.db.empty(); err != nil {
		t.Fatal(err)
	}
}

// compactAll compacts as long as something is due, and returns how often.
func compactAll(t *testing.T, s *Store) (n int) {
	t.Helper()
	for c := s.db.pick(true); c != nil; c = s.db.pick(true) {
		if err := s.db.compact(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if n++; n > 100 {
			t.Fatal("there is no end of compactions")
		}
	}
	return n
}

// writeKeys sets or deletes n keys, one transaction for all.
func writeKeys(t *testing.T, s *Store, prefix string, n, size int, deleted bool) {
	t.Helper()
	err := s.Update(t.Context(), "n", func(tx storage.Tx) error {
		for i := range n {
			key := fmt.Appendf(nil, "%s/%05d", prefix, i)
			if deleted {
				if err := tx.Delete(key); err != nil {
					return err
				}
			} else if err := tx.Set(key, make([]byte, size)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTombstonesAreCompacted deletes what is in tables: nothing is left that a reader
// of the range would walk over. What is deleted before it was in a table leaves no
// tombstone, and few tombstones are not worth a compaction.
func TestTombstonesAreCompacted(t *testing.T) {
	s := quiet(t)
	writeKeys(t, s, "a", 5000, 10, false)
	writeKeys(t, s, "a", 5000, 10, true)
	flushNow(t, s)
	if n := s.db.tables.all(); len(n) != 0 {
		t.Errorf("there are %d tables of what was deleted before", len(n))
	}
	writeKeys(t, s, "b", 5000, 10, false)
	flushNow(t, s)
	compactAll(t, s)
	writeKeys(t, s, "b", manyTombstones-1, 10, true)
	flushNow(t, s)
	if n := compactAll(t, s); n != 0 {
		t.Errorf("few tombstones were compacted %d times", n)
	}
	writeKeys(t, s, "b", 4999, 10, true)
	flushNow(t, s)
	compactAll(t, s)
	var keys uint32
	for _, table := range s.db.tables.all() {
		keys += table.t.KeyCount()
	}
	if keys > manyTombstones {
		t.Errorf("%d entries are left, want hardly more than 1", keys)
	}
}

// TestDeletionCostsWhatItDeletes holds how many bytes of tables are written when
// conversations are deleted one by one from a store of many.
func TestDeletionCostsWhatItDeletes(t *testing.T) {
	s := quiet(t)
	const conversations, items = 400, 20
	for i := range conversations {
		writeKeys(t, s, fmt.Sprintf("c%04d", i), items, 1500, false)
		if s.db.mem.full(s.db.memtableSize) {
			flushNow(t, s)
			compactAll(t, s)
		}
	}
	flushNow(t, s)
	compactAll(t, s)
	before := s.db.nextID.Load()
	for i := range conversations / 2 {
		writeKeys(t, s, fmt.Sprintf("c%04d", 2*i), items, 0, true)
	}
	flushNow(t, s)
	compactAll(t, s)
	var written int64
	for id := before + 1; id <= s.db.nextID.Load(); id++ {
		if info, err := os.Stat(filepath.Join(s.db.dir, tableName(id))); err == nil {
			written += info.Size()
		}
	}
	if most := int64(conversations / 2 * items * 1500); written > most {
		t.Errorf("%d bytes of tables were written for the deletion of %d", written, most)
	}
}

// TestBlobsAreRemoved deletes and replaces large values: their files go when no table
// and no reader has them any more.
func TestBlobsAreRemoved(t *testing.T) {
	s := quiet(t)
	writeKeys(t, s, "large", 10, blobThreshold+1, false)
	flushNow(t, s)
	count := func() int {
		names, err := filepath.Glob(filepath.Join(s.db.dir, "*"+blobExtension))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	if n := count(); n != 10 {
		t.Fatalf("%d files of large values, want 10", n)
	}
	err := s.View(t.Context(), "n", func(tx storage.Tx) error {
		writeKeys(t, s, "large", 9, 1, false)
		writeKeys(t, s, "large", 8, 1, true)
		flushNow(t, s)
		if err := s.db.compact(t.Context(), s.db.tables.compaction(0, nil)); err != nil {
			return err
		}
		for i := range 10 {
			if value, err := tx.Get(fmt.Appendf(nil, "large/%05d", i)); err != nil || len(value) != blobThreshold+1 {
				return fmt.Errorf("a reader from before: %d bytes, %w", len(value), err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 1 {
		t.Errorf("%d files of large values are left, want 1", n)
	}
}

// TestBlobsStayForOldReaders replaces large values after a compaction has moved the
// references to them: a reader from before that compaction still has the values, and
// their files go when it ends.
func TestBlobsStayForOldReaders(t *testing.T) {
	s := quiet(t)
	compact := func() {
		flushNow(t, s)
		if err := s.db.compact(t.Context(), s.db.tables.compaction(0, nil)); err != nil {
			t.Fatal(err)
		}
	}
	writeKeys(t, s, "large", 10, blobThreshold+1, false)
	flushNow(t, s)
	err := s.View(t.Context(), "n", func(tx storage.Tx) error {
		writeKeys(t, s, "small", 1, 1, false)
		compact() // the references go to another table
		writeKeys(t, s, "large", 10, 1, false)
		compact() // they are dropped, and that table is removed
		for i := range 10 {
			if value, err := tx.Get(fmt.Appendf(nil, "large/%05d", i)); err != nil || len(value) != blobThreshold+1 {
				return fmt.Errorf("a reader from before: %d bytes, %w", len(value), err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if names, _ := filepath.Glob(filepath.Join(s.db.dir, "*"+blobExtension)); len(names) != 0 {
		t.Errorf("%d files of large values are left, want none", len(names))
	}
}

// TestCompactionAfterFailedFlush fails the replacing of the list of tables after a flush,
// and lets a compaction that was under way replace it: what the flush had is still taken
// from the log.
func TestCompactionAfterFailedFlush(t *testing.T) {
	dir := t.TempDir()
	s := openQuiet(t, dir)
	for _, prefix := range []string{"a", "b"} {
		writeKeys(t, s, prefix, 3, 10, false)
		flushNow(t, s)
	}
	writeKeys(t, s, "c", 3, 10, false)
	s.db.imm, s.db.mem = s.db.mem, &memtable{tree: txn.NewTree(), version: s.db.mem.version}
	obstacle := filepath.Join(dir, listName+".new")
	if err := os.MkdirAll(filepath.Join(obstacle, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.db.flush(); err == nil {
		t.Fatal("the flush did not fail")
	}
	if err := os.RemoveAll(obstacle); err != nil {
		t.Fatal(err)
	}
	if err := s.db.compact(t.Context(), s.db.tables.compaction(0, nil)); err != nil {
		t.Fatal(err)
	}
	abandon(t, s, dir)
	err := openDir(t, dir).View(t.Context(), "n", func(tx storage.Tx) error {
		for _, key := range []string{"a/00002", "b/00002", "c/00002"} {
			if _, err := tx.Get([]byte(key)); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestLogIsTruncated writes large values alone: the log does not keep them all.
func TestLogIsTruncated(t *testing.T) {
	s := openDir(t, t.TempDir())
	for i := range 20 {
		if err := s.Update(t.Context(), "n", func(tx storage.Tx) error { return tx.Set(fmt.Append(nil, i), make([]byte, 4<<20)) }); err != nil {
			t.Fatal(err)
		}
	}
	if size := s.db.wal.Size(); size > 32<<20 {
		t.Errorf("the log has %d bytes", size)
	}
}

// TestFailedTable fails the making of a table: no writes are taken, none waits for ever,
// the health says so, reads go on, and all is there after the next start.
func TestFailedTable(t *testing.T) {
	for _, kind := range []string{"flush", "compaction"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, false)
			s, err := Open(Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			flushed := s.db.nextID.Load()
			for id := flushed + 1; id < flushed+40; id++ { // a name that is taken
				if kind == "flush" || id > flushed+newTables {
					if err := os.WriteFile(filepath.Join(dir, tableName(id)), nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			set := func(i int) error {
				return s.Update(t.Context(), "m", func(tx storage.Tx) error { return tx.Set(fmt.Append(nil, i), make([]byte, 60_000)) })
			}
			acked := 0
			for err = nil; err == nil && acked < 10_000; acked++ {
				err = set(acked)
			}
			if !errors.Is(err, storage.ErrFailed) {
				t.Fatalf("after %d writes: %v, want %v", acked, err, storage.ErrFailed)
			}
			if err := s.Healthy(t.Context()); !errors.Is(err, storage.ErrFailed) {
				t.Errorf("the health is %v, want %v", err, storage.ErrFailed)
			}
			checkFilled(t, s)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if found := check(t, dir); len(found) > 0 {
				t.Errorf("Check: %q", found)
			}
			s = openDir(t, dir)
			checkFilled(t, s)
			err = s.View(t.Context(), "m", func(tx storage.Tx) error {
				for i := range acked - 1 {
					if _, err := tx.Get(fmt.Append(nil, i)); err != nil {
						return fmt.Errorf("%d of %d: %w", i, acked, err)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// panicking is a database whose writes panic.
type panicking struct{ *database }

func (panicking) Apply(uint64, []txn.Write) error { panic("at the disco") }

// TestPanicInWrite has a write panic: that and later ones are ErrFailed, and the health
// says so.
func TestPanicInWrite(t *testing.T) {
	s := openDir(t, t.TempDir())
	s.store = txn.NewStore(panicking{s.db}, s.db.mem.version)
	for range 2 {
		err := s.Update(t.Context(), "n", func(tx storage.Tx) error { return tx.Set([]byte("a"), nil) })
		if !errors.Is(err, storage.ErrFailed) {
			t.Errorf("a write: %v, want %v", err, storage.ErrFailed)
		}
	}
	if err := s.Healthy(t.Context()); !errors.Is(err, storage.ErrFailed) {
		t.Errorf("the health is %v, want %v", err, storage.ErrFailed)
	}
}
