package pgstore_test

import (
	"errors"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/pgstore"
	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
)

// TestPrefetch counts the waits of a transaction that reads three keys and writes
// one, and holds that what was read in advance conflicts as what was read.
func TestPrefetch(t *testing.T) {
	store := open(t, pgtest.Database(t), "prefetch")
	defer store.Close()
	keys := [][]byte{[]byte("a"), []byte("b"), []byte("none")}
	set := func(value string) { // it reads what the other transaction writes: neither can come first
		t.Helper()
		err := store.Update(t.Context(), "org", func(tx storage.Tx) error {
			if _, err := tx.Get([]byte("sum")); err != nil && !errors.Is(err, storage.ErrNotFound) {
				return err
			}
			return errors.Join(tx.Set(keys[0], []byte(value)), tx.Set(keys[1], []byte(value)))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	set("1")
	var before pgstore.Stats
	runs := 0
	err := store.Update(t.Context(), "org", func(tx storage.Tx) error {
		if runs++; runs < 3 {
			before = store.Stats()
		}
		storage.Prefetch(tx, keys...)
		var read string
		for _, key := range keys {
			value, err := tx.Get(key)
			if err != nil && !errors.Is(err, storage.ErrNotFound) {
				return err
			}
			read += string(value)
			if runs == 1 && string(key) == "a" { // the others are read, and change now
				set("2")
				before = store.Stats()
			}
		}
		return tx.Set([]byte("sum"), []byte(read))
	})
	if err != nil {
		t.Fatal(err)
	}
	// The second run: BEGIN and the keys, then the writes and COMMIT.
	if after := store.Stats(); runs != 2 || after.Trips-before.Trips > 3 {
		t.Errorf("it ran %d times, the last with %d waits; want 2 runs, and 2 waits besides one that may ask for the time", runs, after.Trips-before.Trips)
	}
	err = store.View(t.Context(), "org", func(tx storage.Tx) error {
		value, err := tx.Get([]byte("sum"))
		if string(value) != "22" {
			t.Errorf("it read %q, want 22", value)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
