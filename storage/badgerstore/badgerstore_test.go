package badgerstore

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/storagetest"
)

func openDir(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	storagetest.Run(t, storagetest.Suite{
		Open:       func(t *testing.T, dir string) storage.Store { return openDir(t, dir) },
		Persistent: true,
	})
}

func BenchmarkStore(b *testing.B) {
	s := openDir(b, b.TempDir())
	storagetest.Benchmark(b, s, func() uint64 { return s.Stats().Syncs })
}

func TestOpenNowhere(t *testing.T) {
	if s, err := Open(Options{}); err == nil {
		s.Close()
		t.Error("Open without a directory succeeded")
	}
}

// TestOpenBroken opens a directory whose list of tables cannot be read, of this
// version's and of an earlier one's.
func TestOpenBroken(t *testing.T) {
	for _, name := range []string{listName, badgerList} {
		openBroken(t, name)
	}
}

func openBroken(t *testing.T, name string) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("not a list, and long enough to be read as one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(Options{Dir: dir}); err == nil {
		s.Close()
		t.Error("Open of a broken directory succeeded")
	}
}

func TestDirectoryIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "store")
	openDir(t, dir)
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("the directory has mode %o, want 700", got)
	}
}

func TestFullDisk(t *testing.T) {
	s := openDir(t, t.TempDir())
	set := func() error {
		return s.Update(t.Context(), "n", func(tx storage.Tx) error { return tx.Set([]byte("a"), nil) })
	}
	for _, test := range []struct {
		name string
		free uint64
		set  error
		less error // of a deletion, and of a write that may use the reserve
	}{
		{"enough", reserve, nil, nil},
		{"into the reserve", reserve - 1, storage.ErrFull, nil},
		{"through the reserve", lastReserve - 1, storage.ErrFull, storage.ErrFull},
		{"enough again", reserve, nil, nil},
	} {
		s.db.disk.free = func(string) (uint64, error) { return test.free, nil }
		if err := set(); !errors.Is(err, test.set) {
			t.Errorf("%s: a write: %v, want %v", test.name, err, test.set)
		}
		if err := s.Healthy(t.Context()); !errors.Is(err, test.set) {
			t.Errorf("%s: the health is %v, want %v", test.name, err, test.set)
		}
		err := s.Update(t.Context(), "n", func(tx storage.Tx) error { return tx.Delete([]byte("a")) })
		if !errors.Is(err, test.less) {
			t.Errorf("%s: a deletion: %v, want %v", test.name, err, test.less)
		}
		err = s.Update(t.Context(), "n", func(tx storage.Tx) error {
			storage.UseReserve(tx)
			return tx.Set([]byte("b"), nil)
		})
		if !errors.Is(err, test.less) {
			t.Errorf("%s: a write that uses the reserve: %v, want %v", test.name, err, test.less)
		}
	}
}

// TestOpenOnFullDisk opens a store where there is no room for writes: it reads, and
// deletes as long as there is some, and has everything when there is room again.
func TestOpenOnFullDisk(t *testing.T) {
	m := newMachine(t, 1)
	free := uint64(reserve)
	set := m.small()
	set.disk.free = func(string) (uint64, error) { return free, nil }
	try := func(write func(storage.Tx) error) error {
		t.Helper()
		s, err := open(set)
		if err != nil {
			t.Fatal(err)
		}
		err = s.Update(t.Context(), "n", write)
		if failed := s.View(t.Context(), "n", func(tx storage.Tx) error { _, err := tx.Get([]byte("a")); return err }); failed != nil {
			t.Errorf("with %d bytes: reading: %v", free, failed)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		return err
	}
	put := func(tx storage.Tx) error { return errors.Join(tx.Set([]byte("a"), nil), tx.Set([]byte("b"), nil)) }
	if err := try(put); err != nil {
		t.Fatal(err)
	}
	remove := func(tx storage.Tx) error { return tx.Delete([]byte("b")) }
	for _, test := range []struct {
		free      uint64
		put, less error
	}{{47 << 20, storage.ErrFull, nil}, {1 << 20, storage.ErrFull, storage.ErrFull}, {0, storage.ErrFull, storage.ErrFull}, {reserve, nil, nil}} {
		free = test.free
		if err := try(put); !errors.Is(err, test.put) {
			t.Errorf("with %d bytes: a write: %v, want %v", free, err, test.put)
		}
		if err := try(remove); !errors.Is(err, test.less) {
			t.Errorf("with %d bytes: a deletion: %v, want %v", free, err, test.less)
		}
	}
}

// TestNewDirectoryIsDurable makes a store in a directory that is not there: what is
// above it is synced.
func TestNewDirectoryIsDurable(t *testing.T) {
	var paths []string
	synced = func(path string) { paths = append(paths, path) }
	defer func() { synced = nil }()
	root := t.TempDir()
	s, err := Open(Options{Dir: filepath.Join(root, "a", "b")})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{root, filepath.Join(root, "a"), filepath.Join(root, "a", "b")} {
		if !slices.Contains(paths, dir) {
			t.Errorf("%s was not synced: %q", dir, paths)
		}
	}
}
