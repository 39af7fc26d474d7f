package badgerstore

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/wal"
)

// manyTables makes a store of which the log has one segment and badger several tables.
func manyTables(t *testing.T, dir string) {
	t.Helper()
	s, err := openTables(dir, false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		err := s.Update(t.Context(), "n", func(tx storage.Tx) error {
			return errors.Join(tx.Set(fmt.Appendf(nil, "%03d", i), fillValue(i)), tx.Set(fmt.Appendf(nil, "filler %03d", i), bytes.Repeat([]byte{'f'}, 30_000)))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// openTables opens a store in whose tables there is little.
func openTables(dir string, salvage bool, log *slog.Logger) (*Store, error) {
	opts := badgerOptions(dir, log).WithMemTableSize(1 << 20)
	return open(settings{dir: dir, badger: opts, fs: wal.Dir(dir), segment: 16 << 20, disk: disk{freeBytes}, log: log, salvage: salvage})
}

// TestCutManifest cuts off what badger's manifest says last, which badger takes for the
// end of a write that a crash has cut short: it would go on without the newest tables
// and remove them. The store is not opened, everything is there when the manifest is,
// and salvaging finds it without.
func TestCutManifest(t *testing.T) {
	for name, cut := range map[string]func([]byte) []byte{
		"a byte":           func(b []byte) []byte { return b[:len(b)-1] },
		"the last change":  func(b []byte) []byte { at, _ := lastChange(b); return b[:at] },
		"all changes":      func([]byte) []byte { return []byte(emptyManifest) },
		"a changed length": func(b []byte) []byte { at, _ := lastChange(b); b[at+3] = byte(len(b) - 1); return b },
		"a changed byte":   func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"all":              func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			manyTables(t, dir)
			path := filepath.Join(dir, manifestFile)
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
			if err != nil || len(tables) < 3 {
				t.Fatal(tables, err)
			}
			if err := os.WriteFile(path, cut(slices.Clone(whole)), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = Open(Options{Dir: dir})
			if !errors.Is(err, storage.ErrDamaged) || !strings.Contains(err.Error(), manifestFile) {
				t.Errorf("Open: %v", err)
			}
			if problems := check(t, dir); len(problems) == 0 {
				t.Error("Check finds nothing")
			}
			after, err := filepath.Glob(filepath.Join(dir, "*.sst"))
			if !slices.Equal(after, tables) {
				t.Fatalf("of %d tables %d are left, %v", len(tables), len(after), err)
			}

			salvaged := t.TempDir()
			if err := copyFiles(salvaged, dir); err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			s, err := openTables(salvaged, true, slog.New(slog.NewTextHandler(&said, nil)))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(said.String(), "taken up again") {
				t.Errorf("salvaging said %s", said.String())
			}
			checkFilled(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}

			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			if s, err = Open(Options{Dir: dir}); err != nil {
				t.Fatal(err)
			}
			checkFilled(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestMissingManifestIsSalvaged has a store without its manifest found again.
func TestMissingManifestIsSalvaged(t *testing.T) {
	for _, log := range []bool{true, false} {
		dir := t.TempDir()
		manyTables(t, dir)
		if err := os.Remove(filepath.Join(dir, manifestFile)); err != nil {
			t.Fatal(err)
		}
		if !log {
			logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
			if err != nil || len(logs) == 0 {
				t.Fatal(logs, err)
			}
			for _, name := range logs {
				if err := os.Remove(name); err != nil {
					t.Fatal(err)
				}
			}
		}
		s, err := openTables(dir, true, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		checkFilled(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
