package badgerstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/dgraph-io/badger/v4/table"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/backup"
)

// TestFailedChange fails what badger does to make a compaction's tables and to say
// in its manifest which there are. Badger would lose what is in them: here no more
// writes are taken, and all is there, now and after the next start.
func TestFailedChange(t *testing.T) {
	for name, fail := range map[string]func(*testing.T, *Store){
		"a table": func(t *testing.T, s *Store) {
			tables, err := listTables(s.db.db.Opts())
			if err != nil {
				t.Fatal(err)
			}
			// The next one is of what is in memory, the one after it of a compaction.
			id := slices.Max(slices.Collect(keys(tables))) + 2
			if err := os.WriteFile(table.NewFilename(id, s.db.dir), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"the sync of a table from memory": func(_ *testing.T, s *Store) {
			s.db.manifest.fsync = func(*os.File) error { return syscall.EIO }
		},
		"the sync of a compaction": func(_ *testing.T, s *Store) {
			syncs := 0
			s.db.manifest.fsync = func(f *os.File) error {
				if syncs++; syncs == 2 {
					return syscall.EIO
				}
				return f.Sync()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := keptDir(t)
			fill(t, dir, false)
			s, err := Open(Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			set := func(i int) error {
				return s.Update(t.Context(), "n", func(tx storage.Tx) error { return tx.Set(fmt.Appendf(nil, "%03d", i), fillValue(i)) })
			}
			for i := range 20 {
				if err := set(i); err != nil {
					t.Fatal(err)
				}
			}
			fail(t, s)
			if err := drop(s); err == nil {
				// Of a compaction badger tells only its log.
				if err := s.Healthy(t.Context()); !errors.Is(err, storage.ErrFailed) {
					t.Errorf("the health is %v, want %v", err, storage.ErrFailed)
				}
			}
			if err := set(0); !errors.Is(err, storage.ErrFailed) {
				t.Errorf("a write: %v, want %v", err, storage.ErrFailed)
			}
			checkFilled(t, s)
			if err := s.Close(); err == nil {
				t.Error("the store was closed")
			}
			left := copyStore(t, dir)
			if found := check(t, left); len(found) > 0 {
				t.Errorf("Check: %q", found)
			}
			s = openDir(t, left)
			checkFilled(t, s)
			if err := backup.Write(t.Context(), s, io.Discard); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestManifestRewritten has badger write its manifest anew after a change that was
// taken back: what it then says is not what counts.
func TestManifestRewritten(t *testing.T) {
	dir := keptDir(t)
	fill(t, dir, false)
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s.db.manifest.fsync = func(*os.File) error { return syscall.EIO }
	if err := s.db.flush(t.Context()); err == nil {
		t.Fatal("the manifest was synced")
	}
	path := filepath.Join(dir, manifestFile)
	if err := os.WriteFile(path, []byte("other tables"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syncManifest(f); err == nil {
		t.Error("a change after one that was taken back was taken")
	}
	checkFilled(t, openDir(t, copyStore(t, dir)))
	if err := s.Close(); err == nil {
		t.Error("the store was closed")
	}
}

// TestUndoneChange leaves a directory as a kill does between a compaction's change of
// the manifest and the removal of what it was made of, with a table of its own
// missing: it did not come to count. A change that was carried out stays.
func TestUndoneChange(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, false)
	path := filepath.Join(dir, manifestFile)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "*"+tableExtension))
	if err != nil || len(tables) == 0 {
		t.Fatalf("tables %v, %v", tables, err)
	}
	id, _ := table.ParseFileID(tables[0])
	if err := changeTable(dir, id, deleteTable, 0); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{"all", "truncated", "gone"} {
		if err := os.WriteFile(path, after, 0o600); err != nil {
			t.Fatal(err)
		}
		want := before
		switch left {
		case "truncated":
			want, err = after, os.Truncate(tables[0], 0)
		case "gone":
			want, err = after, os.Remove(tables[0])
		}
		if err := errors.Join(err, undoChange(dir)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: the manifest is %q, %v, want %q", left, got, err, want)
		}
	}
	whole, removed := lastChange(after)
	if whole != len(before) || !slices.Equal(removed, []uint64{id}) {
		t.Errorf("the last change is at %d and takes out %d, want %d and %d", whole, removed, len(before), id)
	}
	if torn, removed := lastChange(after[:len(after)-1]); torn >= len(before) || len(removed) > 0 {
		t.Errorf("with the last change torn, the last one is at %d and takes out %d", torn, removed)
	}
}

// drop makes badger write a table of what it has in memory and compact it.
func drop(s *Store) error {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if err := s.db.giveAll(); err != nil {
		return err
	}
	txn := s.db.db.NewTransactionAt(s.db.version, true)
	defer txn.Discard()
	if err := txn.Set(marker, nil); err != nil {
		return err
	}
	return errors.Join(txn.CommitAt(s.db.version, nil), s.db.db.DropPrefix(marker))
}

// keptDir returns a directory for a store that fails: badger may still write to it when
// it is removed.
func keptDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "badgerstore")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
