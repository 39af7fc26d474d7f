package badgerstore

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
)

// TestSnapshots reads what was there when a transaction began, however much was written
// to tables and compacted since then; and all of it after the store was opened again.
func TestSnapshots(t *testing.T) {
	m := newMachine(t, 1)
	s, err := open(m.small())
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 5))
	want := map[string]string{}
	var wg sync.WaitGroup
	defer wg.Wait()
	release := make(chan struct{})
	for i := range 6000 {
		err := s.Update(t.Context(), "n", func(tx storage.Tx) error { return change(tx, r, want) })
		if err != nil {
			t.Fatal(err)
		}
		if i%70 != 0 {
			continue
		}
		begun, then := make(chan struct{}), maps.Clone(want)
		wg.Go(func() {
			err := s.View(t.Context(), "n", func(tx storage.Tx) error {
				close(begun)
				<-release
				return holds(tx, then)
			})
			if err != nil {
				t.Errorf("begun after commit %d: %v", i, err)
			}
		})
		<-begun
		if i%1400 == 0 {
			close(release)
			wg.Wait()
			release = make(chan struct{})
		}
	}
	close(release)
	wg.Wait()
	if n := s.db.nextID.Load(); n < 20 {
		t.Errorf("%d tables were written: the test shows little", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = open(m.small()); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.View(t.Context(), "n", func(tx storage.Tx) error { return holds(tx, want) }); err != nil {
		t.Errorf("opened again: %v", err)
	}
}

// change sets and deletes some keys, in the map as well.
func change(tx storage.Tx, r *rand.Rand, want map[string]string) error {
	for range 1 + r.IntN(6) {
		key := fmt.Sprintf("k%03d", r.IntN(150))
		if r.IntN(3) == 0 {
			delete(want, key)
			if err := tx.Delete([]byte(key)); err != nil {
				return err
			}
			continue
		}
		value := strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(1000))
		want[key] = value
		if err := tx.Set([]byte(key), []byte(value)); err != nil {
			return err
		}
	}
	return nil
}

// holds returns an error where a transaction does not read what the map has.
func holds(tx storage.Tx, want map[string]string) error {
	keys := slices.Sorted(maps.Keys(want))
	for _, reverse := range []bool{false, true} {
		var got []string
		for e, err := range tx.Scan(storage.Range{Start: []byte("k"), Reverse: reverse}) {
			if err != nil {
				return err
			}
			if string(e.Value) != want[string(e.Key)] {
				return fmt.Errorf("a scan has %q for %s, want %q", e.Value, e.Key, want[string(e.Key)])
			}
			got = append(got, string(e.Key))
		}
		if reverse {
			slices.Reverse(got)
		}
		if !slices.Equal(got, keys) {
			return fmt.Errorf("a scan, reverse %t, has the keys %q, want %q", reverse, got, keys)
		}
	}
	for i := range 150 {
		key := fmt.Sprintf("k%03d", i)
		value, err := tx.Get([]byte(key))
		text, ok := want[key]
		if ok != (err == nil) || !ok && !errors.Is(err, storage.ErrNotFound) || string(value) != text {
			return fmt.Errorf("%s is %q, %v, want %q", key, value, err, text)
		}
	}
	return nil
}
