// Package storagetest states every rule of the contract of package storage as
// a sentence and a test. A store keeps the contract when [Run] passes.
//
// Package storage is the contract that is tested.
package storagetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/seed-506d8e5d/svc/driver"
	"github.com/seed-506d8e5d/svc/storage"
)

// Suite says how to open the store under test.
type Suite struct {
	// Open opens a store whose data, if it is kept anywhere, is kept in dir. It
	// fails the test where it cannot. Run closes the store.
	Open func(t *testing.T, dir string) storage.Store

	// Persistent stores have what they acknowledged when they are opened again
	// in the same directory.
	Persistent bool
}

type rule struct {
	name string
	test func(*testing.T, storage.Store)
}

// Run tests each rule with a fresh store. To interleave transactions without
// chance, some functions run another transaction before they go on, in the same
// goroutine: a store must not hold a lock while it runs a function. Functions may
// run again for no reason that a rule could know, as over a network that fails.
func Run(t *testing.T, suite Suite) {
	for _, rules := range [][]rule{valueRules, scanRules, limitRules, isolationRules, endRules} {
		for _, r := range rules {
			t.Run(r.name, func(t *testing.T) {
				store := suite.Open(t, t.TempDir())
				t.Cleanup(func() { closeStore(t, store) })
				r.test(t, store)
			})
		}
	}
	t.Run("optional: reading everything", func(t *testing.T) {
		for _, r := range readAllRules {
			t.Run(r.name, func(t *testing.T) {
				store := suite.Open(t, t.TempDir())
				t.Cleanup(func() { closeStore(t, store) })
				if _, ok := driver.As[storage.Snapshotter](store); !ok {
					t.Skip("the store is no storage.Snapshotter")
				}
				r.test(t, store)
			})
		}
	})
	if !suite.Persistent {
		return
	}
	for _, r := range persistenceRules {
		t.Run(r.name, func(t *testing.T) {
			dir := t.TempDir()
			store := suite.Open(t, dir)
			t.Cleanup(func() { closeStore(t, store) })
			r.test(t, store, func() storage.Store {
				closeStore(t, store)
				store = suite.Open(t, dir)
				return store
			})
		})
	}
}

func closeStore(t *testing.T, store storage.Store) {
	t.Helper()
	if err := store.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// ns is the namespace of tests that need only one.
const ns storage.Namespace = "org"

var errTest = errors.New("the function's error")

// db is a store with short ways to do what must not fail.
type db struct {
	t     *testing.T
	store storage.Store
	ns    storage.Namespace
}

func (d db) update(fn func(storage.Tx) error) {
	d.t.Helper()
	if err := d.store.Update(context.Background(), d.ns, fn); err != nil {
		d.t.Fatalf("Update: %v", err)
	}
}

func (d db) view(fn func(storage.Tx) error) {
	d.t.Helper()
	if err := d.store.View(context.Background(), d.ns, fn); err != nil {
		d.t.Fatalf("View: %v", err)
	}
}

// set writes keys and values, which alternate.
func (d db) set(pairs ...string) {
	d.t.Helper()
	d.update(func(tx storage.Tx) error { return setAll(tx, pairs...) })
}

func setAll(tx storage.Tx, pairs ...string) error {
	for pair := range slices.Chunk(pairs, 2) {
		if err := tx.Set([]byte(pair[0]), []byte(pair[1])); err != nil {
			return err
		}
	}
	return nil
}

// want compares the whole namespace with keys and values, which alternate.
func (d db) want(pairs ...string) {
	d.t.Helper()
	var got []string
	d.view(func(tx storage.Tx) (err error) {
		got, err = scan(tx, storage.Range{})
		return err
	})
	if !slices.Equal(got, pairs) {
		d.t.Fatalf("the store holds %q, want %q", clip(got), clip(pairs))
	}
}

// scan returns the keys and values of a range, alternating.
func scan(tx storage.Tx, r storage.Range) ([]string, error) {
	var pairs []string
	for entry, err := range tx.Scan(r) {
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, string(entry.Key), string(entry.Value))
	}
	return pairs, nil
}

// get returns the value of key, or "-" where there is none.
func get(tx storage.Tx, key string) (string, error) {
	value, err := tx.Get([]byte(key))
	if errors.Is(err, storage.ErrNotFound) {
		return "-", nil
	}
	return string(value), err
}

// clip shortens values for messages.
func clip(pairs []string) []string {
	short := make([]string, len(pairs))
	for i, s := range pairs {
		short[i] = s
		if len(s) > 40 {
			short[i] = fmt.Sprintf("%s… (%d bytes)", s[:40], len(s))
		}
	}
	return short
}
