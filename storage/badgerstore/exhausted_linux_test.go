package badgerstore

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
)

// TestTooManyOpenFiles writes while no file can be opened: what is refused is not
// written, and as soon as there are files again the store takes writes, without files
// that nothing refers to.
func TestTooManyOpenFiles(t *testing.T) {
	m := newMachine(t, 1)
	settings := m.small()
	s, err := open(settings)
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	write := func() error {
		err := s.Update(t.Context(), "n", func(tx storage.Tx) error {
			return tx.Set(fmt.Appendf(nil, "%05d", written), bytes.Repeat([]byte{1}, 4000))
		})
		if err == nil {
			written++
		}
		return err
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	restore := func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
	}
	defer restore()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 1, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if err = write(); err != nil {
			break
		}
	}
	restore()
	if !errors.Is(err, storage.ErrUnavailable) {
		t.Fatalf("after %d writes without files: %v, want %v", written, err, storage.ErrUnavailable)
	}
	if err := s.db.Healthy(); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("healthy: %v, want %v", err, storage.ErrUnavailable)
	}
	s.db.mu.Lock()
	for s.db.stalled != nil {
		s.db.flushed.Wait()
	}
	s.db.mu.Unlock()
	for range 200 {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(m.dir, "*.sst"))
	if listed, _, failed := readList(m.dir); err != nil || failed != nil || len(tables) != len(listed) {
		t.Errorf("%d files of tables, %v, and %d tables, %v", len(tables), err, len(listed), failed)
	}
	if s, err = open(settings); err != nil {
		t.Fatal(err)
	}
	for i := range written {
		err := s.View(t.Context(), "n", func(tx storage.Tx) error {
			_, err := tx.Get(fmt.Appendf(nil, "%05d", i))
			return err
		})
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
