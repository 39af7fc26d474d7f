package badgerstore

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
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

// TestCommitsAreSynced holds what no test that kills a process can: the system
// still has what a killed process has written, and a machine that crashes does not.
func TestCommitsAreSynced(t *testing.T) {
	s := openDir(t, t.TempDir())
	if !s.db.db.Opts().SyncWrites {
		t.Error("badger does not sync its writes")
	}
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
	l := logger{slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
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
	s.db.free = func(string) (uint64, error) { return reserve - 1, nil }
	if err := set(); err == nil {
		t.Error("a write to a full disk succeeded")
	}
	s.db.free = freeBytes
	if err := set(); err != nil {
		t.Errorf("a write when there was space again: %v", err)
	}
}
