package badgerstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
)

// TestReclaim deletes most of what the value log holds, while other
// transactions read and write.
func TestReclaim(t *testing.T) {
	const chunks, size, kept = 400, 256 << 10, 10
	dir := t.TempDir()
	s, err := open(badgerOptions(dir, slog.New(slog.DiscardHandler)).WithValueLogFileSize(8<<20), slog.New(slog.DiscardHandler))
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

	done := make(chan struct{})
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				if err := readKept(s, kept, chunk); err != nil {
					t.Error(err)
				}
				if err := s.Update(ctx, "w", func(tx storage.Tx) error {
					return tx.Set(fmt.Appendf(nil, "%d/%d", worker, i%100), []byte("x"))
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	err = s.db.reclaim(ctx)
	close(done)
	wg.Wait()
	if err != nil {
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
