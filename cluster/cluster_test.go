package cluster

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

func join(t *testing.T, store *storage.DB) *Member {
	t.Helper()
	p, err := Join(t.Context(), Options{Store: store, Shared: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// kill ends a process without a word to the others.
func (p *Member) kill() {
	p.stop()
	p.background.Wait()
}

func wantAlive(t *testing.T, when string, want int, processes ...*Member) {
	t.Helper()
	for i, p := range processes {
		if got := p.Members(); got != want {
			t.Errorf("%s: process %d sees %d alive, want %d", when, i, got, want)
		}
	}
}

func wantLease(t *testing.T, when string, p *Member, want bool) {
	t.Helper()
	if held, err := p.AcquireLease(t.Context(), "sweep"); err != nil || held != want {
		t.Errorf("%s: the lease is held: %t, %v, want %t", when, held, err, want)
	}
}

func TestProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.Use(memstore.New())
		defer store.Close()
		a, b, c := join(t, store), join(t, store), join(t, store)
		time.Sleep(time.Second)
		wantAlive(t, "at first", 3, a, b, c)
		wantLease(t, "first come", a, true)
		wantLease(t, "again", a, true)
		wantLease(t, "taken", b, false)

		a.kill()
		time.Sleep(deadAfter / 2)
		wantLease(t, "soon after a kill", b, false)
		time.Sleep(deadAfter)
		wantAlive(t, "after a kill", 2, b, c)
		wantLease(t, "after a kill", b, true)
		wantLease(t, "taken over", c, false)
		if b.Alive(a.ID()) || !b.Alive(c.ID()) || !b.Alive(b.ID()) {
			t.Error("b is wrong about who lives")
		}
		if err := b.ReleaseLease(t.Context(), "sweep"); err != nil {
			t.Error(err)
		}
		wantLease(t, "released", c, true)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		wantAlive(t, "after an end", 1, b)
		wantLease(t, "after an end", b, true)
		time.Sleep(7 * deadAfter)
		if err := b.RemoveDeadPeers(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(7 * deadAfter)
		b.mu.Lock()
		if len(b.peers) != 1 {
			t.Errorf("%d records are left, want 1", len(b.peers))
		}
		b.mu.Unlock()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestChangesAreSeenWithinHalfASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.Use(memstore.New())
		defer store.Close()
		a, b := join(t, store), join(t, store)
		defer a.Close()
		defer b.Close()
		var calls atomic.Int32
		b.OnInvalidate(func() { calls.Add(1) })
		time.Sleep(2 * time.Second)
		if calls.Load() != 0 {
			t.Error("a change was seen before there was one")
		}
		if err := store.Update(t.Context(), system, a.InvalidateCaches); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
		if calls.Load() != 1 {
			t.Errorf("%d changes were seen, want 1", calls.Load())
		}
		if !a.CachesValid() || !b.CachesValid() {
			t.Error("who looks does not know it")
		}
		c := join(t, store)
		c.kill() // it looks no more
		time.Sleep(time.Second)
		if c.CachesValid() {
			t.Error("who has not looked for a second takes what it remembers for true")
		}
	})
}

// TestAlone has a store that one process can have open: nothing is written, and
// everything is this process's.
func TestAlone(t *testing.T) {
	store := storage.Use(memstore.New())
	defer store.Close()
	p, err := Join(t.Context(), Options{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	wantAlive(t, "alone", 1, p)
	wantLease(t, "alone", p, true)
	if p.Shared() || p.Alive("another") {
		t.Error("there is another process")
	}
	if err := store.Update(t.Context(), system, p.InvalidateCaches); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	err = store.View(t.Context(), system, func(tx storage.Tx) error {
		for e := range tx.Scan(storage.Range{}) {
			t.Errorf("%q was written", e.Key)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
