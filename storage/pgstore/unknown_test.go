package pgstore_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
)

// TestUnknownOutcome breaks connections in the middle of COMMIT. What an Update
// says was written is there, what it says was not is not, and only of what it
// says is unknown there is some of both.
func TestUnknownOutcome(t *testing.T) {
	proxy := pgtest.NewProxy(t, pgtest.Database(t))
	store := open(t, proxy.URL, "unknown")
	defer store.Close()
	proxy.Set(pgtest.Faults{CutCommit: 0.3})
	const writes = 60
	outcomes := make([]error, writes)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := worker; i < writes; i += 4 {
				key := fmt.Appendf(nil, "%02d", i)
				outcomes[i] = store.Update(t.Context(), "org", func(tx storage.Tx) error {
					if _, err := tx.Get(key); err != nil && !errors.Is(err, storage.ErrNotFound) {
						return err
					}
					return tx.Set(key, nil)
				})
			}
		})
	}
	wg.Wait()
	proxy.Set(pgtest.Faults{})
	unknown := map[bool]int{}
	err := store.View(t.Context(), "org", func(tx storage.Tx) error {
		clear(unknown)
		for i, outcome := range outcomes {
			_, err := tx.Get(fmt.Appendf(nil, "%02d", i))
			there := err == nil
			if err != nil && !errors.Is(err, storage.ErrNotFound) {
				return err
			}
			switch {
			case errors.Is(outcome, storage.ErrUnknown):
				unknown[there]++
			case there != (outcome == nil):
				t.Errorf("write %d: %v, and there: %t", i, outcome, there)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if unknown[true] == 0 || unknown[false] == 0 {
		t.Errorf("of the writes whose outcome is unknown %d are there and %d are not: want some of both", unknown[true], unknown[false])
	}
}

// TestBrokenConnections breaks every connection of the pool, as a failover does.
// What comes after goes on.
func TestBrokenConnections(t *testing.T) {
	proxy := pgtest.NewProxy(t, pgtest.Database(t))
	store := open(t, proxy.URL, "broken")
	defer store.Close()
	for i := range 3 {
		if err := store.Update(t.Context(), "org", func(tx storage.Tx) error {
			if _, err := tx.Get([]byte("a")); err != nil && !errors.Is(err, storage.ErrNotFound) {
				return err
			}
			return tx.Set([]byte("a"), nil)
		}); err != nil {
			t.Errorf("round %d: %v", i, err)
		}
		proxy.CutAll()
	}
	if err := store.Healthy(t.Context()); err != nil {
		t.Errorf("Healthy: %v", err)
	}
}
