package storagetest

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
)

var endRules = []rule{
	{"a function is not run when its context has ended", func(t *testing.T, s storage.Store) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		never := func(storage.Tx) error {
			t.Error("the function ran")
			return nil
		}
		view, update := s.View(ctx, ns, never), s.Update(ctx, ns, never)
		if !errors.Is(view, context.Canceled) || !errors.Is(update, context.Canceled) {
			t.Errorf("View: %v, Update: %v, want context.Canceled", view, update)
		}
	}},
	{"nothing is written when the context ends before the commit", func(t *testing.T, s storage.Store) {
		ctx, cancel := context.WithCancel(context.Background())
		err := s.Update(ctx, ns, func(tx storage.Tx) error {
			defer cancel()
			return setAll(tx, "a", "1")
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Update: %v, want context.Canceled", err)
		}
		db{t, s, ns}.want()
	}},
	{"a transaction goes no further when its context has ended", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		d.set("a", "1", "b", "2")
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var get, set, del, begun, begin error
		update := s.Update(ctx, ns, func(tx storage.Tx) error {
			for _, begun = range tx.Scan(storage.Range{}) {
				if ctx.Err() == nil && begun != nil {
					return begun // it has not ended
				}
				cancel()
			}
			_, get = tx.Get([]byte("a"))
			set, del = tx.Set([]byte("a"), nil), tx.Delete([]byte("a"))
			_, begin = scan(tx, storage.Range{})
			return nil
		})
		ctx, cancel = context.WithCancel(context.Background())
		view := s.View(ctx, ns, func(tx storage.Tx) error {
			cancel()
			return nil
		})
		for i, err := range []error{get, set, del, begun, begin, update, view} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("call %d: %v, want context.Canceled", i, err)
			}
		}
		d.want("a", "1", "b", "2")
	}},
	{"a transaction ends with its function", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		d.set("a", "1")
		var kept storage.Tx
		d.update(func(tx storage.Tx) error {
			kept = tx
			return nil
		})
		if _, err := kept.Get([]byte("a")); err == nil {
			t.Error("Get works after the end")
		}
		if err := kept.Set([]byte("a"), []byte("2")); err == nil {
			t.Error("Set works after the end")
		}
		if err := kept.Delete([]byte("a")); err == nil {
			t.Error("Delete works after the end")
		}
		if _, err := scan(kept, storage.Range{}); err == nil {
			t.Error("Scan works after the end")
		}
		d.want("a", "1")
	}},
	{"a closed store returns ErrClosed and may be closed again", func(t *testing.T, s storage.Store) {
		db{t, s, ns}.set("a", "1")
		closeStore(t, s)
		never := func(storage.Tx) error {
			t.Error("the function ran")
			return nil
		}
		view := s.View(context.Background(), ns, never)
		update := s.Update(context.Background(), ns, never)
		if !errors.Is(view, storage.ErrClosed) || !errors.Is(update, storage.ErrClosed) {
			t.Errorf("View: %v, Update: %v, want ErrClosed", view, update)
		}
		closeStore(t, s)
	}},
	{"Close waits for running transactions", testCloseWaits},
}

func testCloseWaits(t *testing.T, s storage.Store) {
	started, release := make(chan struct{}), make(chan struct{})
	result := make(chan error, 1)
	var once sync.Once
	go func() {
		result <- s.Update(context.Background(), ns, func(tx storage.Tx) error {
			once.Do(func() { close(started) })
			<-release
			_, err := scan(tx, storage.Range{})
			return errors.Join(err, setAll(tx, "a", "1"))
		})
	}()
	<-started
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		closeStore(t, s)
	}()
	// Close has begun when the store takes no transactions any more.
	for s.View(context.Background(), ns, func(storage.Tx) error { return nil }) == nil {
		runtime.Gosched()
	}
	select {
	case <-closed:
		t.Error("Close returned while a transaction was running")
	default:
	}
	close(release)
	if err := <-result; err != nil {
		t.Errorf("the running Update: %v", err)
	}
	<-closed
}

var persistenceRules = []struct {
	name string
	test func(t *testing.T, s storage.Store, reopen func() storage.Store)
}{
	{"what was acknowledged is there when the store is opened again", func(t *testing.T, s storage.Store, reopen func() storage.Store) {
		large := strings.Repeat("v", storage.MaxValue)
		d, other := db{t, s, ns}, db{t, s, "other"}
		d.set("a", "1", "b", "2", "c", large)
		d.update(func(tx storage.Tx) error { return errors.Join(setAll(tx, "a", "3"), tx.Delete([]byte("b"))) })
		other.set("a", "4")
		d.store = reopen()
		other.store = d.store
		d.want("a", "3", "c", large)
		other.want("a", "4")
	}},
	{"a store that was opened again goes on", func(t *testing.T, s storage.Store, reopen func() storage.Store) {
		d := db{t, s, ns}
		for i := range 3 {
			d.update(func(tx storage.Tx) error { return errors.Join(add(tx, "n", 1), setAll(tx, strconv.Itoa(i), "x")) })
			d.store = reopen()
		}
		d.update(func(tx storage.Tx) error { return tx.Delete([]byte("1")) })
		d.want("0", "x", "2", "x", "n", "3")
		d.store = reopen()
		d.want("0", "x", "2", "x", "n", "3")
	}},
}
