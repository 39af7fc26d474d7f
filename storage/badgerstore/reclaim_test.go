package badgerstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/wal"
)

// TestReclaim deletes most of what the value log holds and reclaims it beside
// other transactions.
func TestReclaim(t *testing.T) {
	const chunks, size, kept = 400, 256 << 10, 10
	dir := t.TempDir()
	log := slog.New(slog.DiscardHandler)
	s, err := open(settings{dir: dir, badger: badgerOptions(dir, log).WithValueLogFileSize(8 << 20), fs: wal.Dir(dir), disk: disk{freeBytes}, log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	chunk := make([]byte, size)
	rand.Read(chunk)
	for i := range chunks {
		key := fmt.Appendf(nil, "%03d", i)
		if err := s.Update(ctx, "n", func(tx storage.Tx) error { return tx.Set(key, chunk) }); err != nil {
			t.Fatal(err)
		}
	}
	before := valueLogSize(t, dir)
	err = s.Update(ctx, "n", func(tx storage.Tx) error {
		for i := kept; i < chunks; i++ {
			if err := tx.Delete(fmt.Appendf(nil, "%03d", i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	read := func(int) error { return readKept(s, kept, chunk) }
	write := func(i int) error {
		return s.Update(ctx, "w", func(tx storage.Tx) error { return tx.Set(fmt.Append(nil, i%100), nil) })
	}
	if err := beside(t, func() error { return s.db.flush(ctx) }, read, write); err != nil {
		t.Fatal(err)
	}
	// Without writers: the race detector would report what reclaim tells about.
	if err := beside(t, func() error { return s.db.reclaim(ctx) }, read); err != nil {
		t.Fatal(err)
	}
	after := valueLogSize(t, dir)
	if want := int64(5 * kept * size); after > want {
		t.Errorf("the value log has %d bytes of %d left, want %d at most", after, before, want)
	}
	if err := readKept(s, kept, chunk); err != nil {
		t.Error(err)
	}
}

// TestCompact deletes what was written, one by one: there is a wake-up, and after it
// nothing is left that a reader of the range would walk over. Deletions among as
// many other writes wake nobody.
func TestCompact(t *testing.T) {
	s := openDir(t, t.TempDir())
	s.db.stop() // the test compacts
	s.db.ending.Wait()
	write := func(key string, n int, deleted bool) {
		err := s.Update(t.Context(), "n", func(tx storage.Tx) error {
			for i := range n {
				key := fmt.Appendf(nil, "%s/%05d", key, i)
				if deleted {
					if err := tx.Delete(key); err != nil {
						return err
					}
				} else if err := tx.Set(key, []byte("v")); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 30 {
		write("a", 100, false)
		write("a", 100, true)
	}
	if len(s.db.dense) != 0 {
		t.Error("deletions among other writes are compacted")
	}
	const many = 3 * purgeDeletes
	write("b", many+1, false)
	write("b", many, true)
	if len(s.db.dense) != 1 {
		t.Fatal("many deletions are not compacted")
	}
	if err := s.db.compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	txn := s.db.db.NewTransactionAt(s.db.version, false)
	defer txn.Discard()
	it := txn.NewIterator(badger.IteratorOptions{AllVersions: true, Prefix: []byte("\x81nb/")})
	defer it.Close()
	left := 0
	for it.Rewind(); it.Valid(); it.Next() {
		left++
	}
	if left != 1 {
		t.Errorf("%d records and deletions are left, want 1", left)
	}
}

// TestLogOfLargeValues writes large values alone, of which badger would not write a
// table for long: the log does not keep them all.
func TestLogOfLargeValues(t *testing.T) {
	s := openDir(t, t.TempDir())
	s.db.stop() // the test shortens the log
	s.db.ending.Wait()
	value := make([]byte, 4<<20)
	for i := range maxLog/len(value) + 2 {
		if err := s.Update(t.Context(), "n", func(tx storage.Tx) error { return tx.Set(fmt.Append(nil, i), value) }); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // a table is written; the log is shortened
		if err := s.db.trim(); err != nil {
			t.Fatal(err)
		}
		err := s.db.await(t.Context(), func() bool {
			last, first, err := files(s.db.dir, memExtension)
			return err == nil && last == first
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if size := s.db.wal.Size(); size > maxLog/4 {
		t.Errorf("the log has %d bytes", size)
	}
}

// TestFileOfMemoryThatStays has badger fail to remove a file that mirrored its memory:
// the log is shortened all the same, and space reclaimed.
func TestFileOfMemoryThatStays(t *testing.T) {
	s := openDir(t, t.TempDir())
	s.db.stop() // the test shortens the log
	s.db.ending.Wait()
	stays, _, err := files(s.db.dir, memExtension)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * maxLog / (4 << 20) / 8 {
		if err := s.Update(t.Context(), "n", func(tx storage.Tx) error { return tx.Set(fmt.Append(nil, i), make([]byte, 4<<20)) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.db.written(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.db.dir, memName(stays)), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := s.db.wal.Size()
	if err := errors.Join(s.db.trim(), s.db.written(t.Context())); err != nil {
		t.Fatal(err)
	}
	if size := s.db.wal.Size(); size > before/2 {
		t.Errorf("the log has %d of %d bytes", size, before)
	}
}

// beside runs fn while each of the others runs again and again, numbered.
func beside(t *testing.T, fn func() error, others ...func(int) error) error {
	done := make(chan struct{})
	var wg sync.WaitGroup
	for _, other := range others {
		wg.Go(func() {
			for i := 0; ; i++ {
				if err := other(i); err != nil {
					t.Error(err)
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	err := fn()
	close(done)
	wg.Wait()
	return err
}

func readKept(s *Store, kept int, chunk []byte) error {
	return s.View(context.Background(), "n", func(tx storage.Tx) error {
		n := 0
		for entry, err := range tx.Scan(storage.Range{}) {
			if err != nil {
				return err
			}
			if string(entry.Value) != string(chunk) {
				return fmt.Errorf("%s has %d other bytes", entry.Key, len(entry.Value))
			}
			n++
		}
		if n != kept {
			return fmt.Errorf("%d chunks, want %d", n, kept)
		}
		return nil
	})
}

// valueLogSize returns the bytes that the sealed files of the value log have.
// The last file is larger than what is in it.
func valueLogSize(t *testing.T, dir string) int64 {
	files, err := filepath.Glob(filepath.Join(dir, "*.vlog"))
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, file := range files[:len(files)-1] {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	return sum
}
