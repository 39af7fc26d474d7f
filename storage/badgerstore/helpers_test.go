package badgerstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
)

// fill makes a store with small and large values and closes it, or leaves it as a
// kill does.
func fill(t *testing.T, dir string, killed bool) {
	t.Helper()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		err := s.Update(t.Context(), "n", func(tx storage.Tx) error {
			return tx.Set(fmt.Appendf(nil, "%03d", i), fillValue(i))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !killed {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	abandon(t, s, dir)
}

func fillValue(i int) []byte {
	if i%50 == 7 {
		return bytes.Repeat([]byte{byte(i)}, blobThreshold+1+i)
	}
	return bytes.Repeat([]byte{byte(i)}, 100)
}

// checkFilled checks that all is there that fill has written.
func checkFilled(t *testing.T, s *Store) {
	t.Helper()
	err := s.View(t.Context(), "n", func(tx storage.Tx) error {
		for i := range 300 {
			value, err := tx.Get(fmt.Appendf(nil, "%03d", i))
			if err != nil || !bytes.Equal(value, fillValue(i)) {
				return fmt.Errorf("%d has %d bytes: %w", i, len(value), err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// abandon leaves a directory as a kill of the process would: what is in it is
// copied, the store closed, and the copy put in its place.
func abandon(t *testing.T, s *Store, dir string) {
	t.Helper()
	killed := copyStore(t, dir)
	if err := errors.Join(s.Close(), os.RemoveAll(dir), os.Rename(killed, dir)); err != nil {
		t.Fatal(err)
	}
}

// copyStore copies the directory of a running store as it is at one moment: one in
// which the list of tables does not change.
func copyStore(t *testing.T, dir string) string {
	t.Helper()
	for {
		to := t.TempDir()
		before, _ := os.ReadFile(filepath.Join(dir, listName))
		err := os.CopyFS(to, os.DirFS(dir))
		after, _ := os.ReadFile(filepath.Join(dir, listName))
		if err == nil && bytes.Equal(before, after) {
			return to
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
	}
}

// flip changes bytes of the first file that matches, at an offset, which counts from
// the end where it is negative.
func flip(t *testing.T, dir, pattern string, at int) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no file %s: %v", pattern, err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if at < 0 {
		at += len(data)
	}
	for i := range 4 {
		data[at+i] ^= 0x55
	}
	if err := os.WriteFile(names[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Base(names[0])
}

// check returns what Check finds.
func check(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	if _, err := Check(context.Background(), dir, func(err error) { found = append(found, err.Error()) }); err != nil {
		t.Fatal(err)
	}
	return found
}
