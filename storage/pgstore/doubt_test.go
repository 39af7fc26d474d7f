package pgstore_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/pgstore"
	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
)

// TestCommitsInDoubt breaks connections in the middle of COMMIT. Each Update is
// written once all the same.
func TestCommitsInDoubt(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) { testCommitsInDoubt(t, mode) })
	}
}

func testCommitsInDoubt(t *testing.T, mode string) {
	proxy := pgtest.NewProxy(t, pgtest.Database(t))
	store := open(t, inMode(proxy.URL, mode), "unknown")
	defer store.Close()
	proxy.Set(pgtest.Faults{CutCommit: 0.3})
	const writers, writes = 4, 40
	var wg sync.WaitGroup
	for worker := range writers {
		wg.Go(func() {
			key := fmt.Appendf(nil, "%02d", worker)
			for range writes {
				err := store.Update(t.Context(), "org", func(tx storage.Tx) error {
					value, err := tx.Get(key)
					if err != nil && !errors.Is(err, storage.ErrNotFound) {
						return err
					}
					return tx.Set(key, append(value, 'x'))
				})
				if err != nil {
					t.Error(err)
				}
				// Without a read, too: its snapshot is that of its mark.
				if err := store.Update(t.Context(), "org", func(tx storage.Tx) error { return tx.Set([]byte("blind"), key) }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	proxy.Set(pgtest.Faults{})
	err := store.View(t.Context(), "org", func(tx storage.Tx) error {
		for worker := range writers {
			value, err := tx.Get(fmt.Appendf(nil, "%02d", worker))
			if err != nil {
				return err
			}
			if len(value) != writes {
				t.Errorf("worker %d has written %d times, want %d", worker, len(value), writes)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if n := store.Stats().Resolved; n < writes/2 {
		t.Errorf("the outcome of %d commits was found out", n)
	}
}

// TestCommitStaysInDoubt has a database that does not answer any more when it is
// asked what became of a commit.
func TestCommitStaysInDoubt(t *testing.T) {
	proxy := pgtest.NewProxy(t, pgtest.Database(t))
	store, err := pgstore.Open(t.Context(), pgstore.Options{URL: proxy.URL, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	err = store.Update(t.Context(), "org", func(tx storage.Tx) error {
		if _, err := tx.Get([]byte("b")); !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		proxy.Set(pgtest.Faults{CutCommit: 1, Cut: 1})
		return tx.Set([]byte("a"), nil)
	})
	if !errors.Is(err, storage.ErrInDoubt) {
		t.Errorf("got %v, want ErrInDoubt", err)
	}
	proxy.Set(pgtest.Faults{})
	err = store.View(t.Context(), "org", func(tx storage.Tx) error {
		_, err := tx.Get([]byte("a"))
		return err
	})
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		t.Error(err)
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

// TestSilentConnections has the machine of the database vanish, and another one take
// its place: whoever finds that a connection does not answer has all of them
// dropped, so that it is the only one that is waited for.
func TestSilentConnections(t *testing.T) {
	const conns = 12 // more than would be tried one after the other
	proxy := pgtest.NewProxy(t, pgtest.Database(t))
	store, err := pgstore.Open(t.Context(), pgstore.Options{URL: proxy.URL, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var readers sync.WaitGroup
	var open atomic.Int64
	all := make(chan struct{})
	for range conns {
		readers.Go(func() {
			// An Update gives its connection back before it returns.
			err := store.Update(t.Context(), "org", func(tx storage.Tx) error {
				_, err := tx.Get([]byte("a"))
				if open.Add(1) == conns {
					close(all)
				}
				<-all
				if errors.Is(err, storage.ErrNotFound) {
					err = nil
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	readers.Wait()
	proxy.Silence()
	if err := store.Update(t.Context(), "org", func(tx storage.Tx) error { return tx.Set([]byte("a"), nil) }); err != nil {
		t.Error(err)
	}
}
