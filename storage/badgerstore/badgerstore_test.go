package badgerstore

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/waltest"
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

// TestOpenBroken opens a directory that badger cannot read.
func TestOpenBroken(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "MANIFEST"), []byte("not a manifest, and long enough to be read as one"), 0o600); err != nil {
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

func TestLogger(t *testing.T) {
	var out bytes.Buffer
	l := logger{to: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
		Level: slog.LevelInfo,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))}
	l.Debugf("one %d\n", 1)
	l.Infof("two %d\n", 2)
	l.Warningf("three %d\n", 3)
	l.Errorf("four %d", 4)
	want := "level=WARN msg=\"badger: three 3\"\nlevel=ERROR msg=\"badger: four 4\"\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
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

// TestOpenOnFullDisk opens a store where there is no room for writes, and where
// there is none for opening it.
func TestOpenOnFullDisk(t *testing.T) {
	m := &machine{t: t, fs: &waltest.FS{}, dir: t.TempDir()}
	for _, test := range []struct {
		free uint64
		want error
	}{{reserve - 1, nil}, {openReserve - 1, storage.ErrFull}, {reserve, nil}} {
		set := m.small()
		set.disk.free = func(string) (uint64, error) { return test.free, nil }
		s, err := open(set)
		if !errors.Is(err, test.want) {
			t.Errorf("with %d bytes: %v, want %v", test.free, err, test.want)
		}
		if err == nil {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestReclaimOnFullDisk holds how much of a file must be unused for what is left of
// it to fit on the disk.
func TestReclaimOnFullDisk(t *testing.T) {
	s := openDir(t, t.TempDir())
	for free, want := range map[uint64]float64{1 << 40: reclaimRatio, lastReserve + valueLogFile/4: 0.75, lastReserve: 0.99} {
		s.db.disk.free = func(string) (uint64, error) { return free, nil }
		if got, err := s.db.ratio(); err != nil || got != want {
			t.Errorf("%d bytes left: %v, %v, want %v", free, got, err, want)
		}
	}
	s.db.disk.free = freeBytes
}
