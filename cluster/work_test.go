package cluster

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// left returns the namespaces in which something may be left, by a process.
func (p *Member) left(t *testing.T) (left []Orphan, all bool) {
	t.Helper()
	left, all, err := p.Orphans(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return left, all
}

// finish says that the work that was left is done.
func (p *Member) finish(t *testing.T, left []Orphan) {
	t.Helper()
	for _, l := range left {
		if err := p.FinishOrphan(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
}

func note(t *testing.T, p *Member, namespaces ...storage.Namespace) {
	t.Helper()
	for _, ns := range namespaces {
		if err := p.RegisterWork(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhatTheDeadHaveLeft has three processes with notes, of which two die.
func TestWhatTheDeadHaveLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.Use(memstore.New())
		defer store.Close()
		a, b, c := join(t, store), join(t, store), join(t, store)
		defer b.Close()
		if left, all := a.left(t); !all || len(left) != 0 {
			t.Errorf("at first: got %v, %t, want that all is looked at", left, all)
		}
		if err := a.FinishFullScan(t.Context()); err != nil {
			t.Fatal(err)
		}
		note(t, a, "org_1", "org_2", "org_1")
		note(t, b, "org_1", "org_3")
		note(t, c, "a/b")
		if left, all := b.left(t); all || len(left) != 0 {
			t.Errorf("while all are alive: got %v, %t", left, all)
		}
		a.kill()
		c.kill()
		time.Sleep(2 * deadAfter)
		left, _ := b.left(t)
		var names []string
		for _, l := range left {
			names = append(names, string(l.Namespace))
		}
		slices.Sort(names)
		if want := []string{"a/b", "org_1", "org_2"}; !slices.Equal(names, want) {
			t.Fatalf("got %q, want %q", names, want)
		}
		b.finish(t, left)
		if left, _ := b.left(t); len(left) != 0 {
			t.Errorf("when it is finished: got %v", left)
		}
	})
}

// TestAProcessThatStoodStill is taken for dead and goes on: its notes are kept anew,
// and what somebody saw of them before is not theirs to end.
func TestAProcessThatStoodStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.Use(memstore.New())
		defer store.Close()
		a, b := join(t, store), join(t, store)
		defer b.Close()
		if err := b.FinishFullScan(t.Context()); err != nil {
			t.Fatal(err)
		}
		note(t, a, "org_1", "org_2")
		wantLease(t, "at first", a, true)
		a.kill() // it stands still, and goes on below
		time.Sleep(2 * deadAfter)
		before, _ := b.left(t)
		if len(before) != 2 {
			t.Fatalf("got %v, want two namespaces", before)
		}
		if err := b.FinishOrphan(t.Context(), before[0]); err != nil {
			t.Fatal(err)
		}
		wantLease(t, "while others may take it for dead", a, false)
		note(t, a, "org_1", "org_2")
		b.finish(t, before)
		time.Sleep(2 * deadAfter)
		after, _ := b.left(t)
		if len(after) != 2 {
			t.Errorf("when it has died: got %v, want two namespaces", after)
		}
		b.finish(t, after)
		if left, _ := b.left(t); len(left) != 0 {
			t.Errorf("when that is finished: got %v", left)
		}
	})
}

// TestAChangeAfterLostCommits is seen where the database has forgotten the change
// before it, which was seen.
func TestAChangeAfterLostCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.Use(memstore.New())
		defer store.Close()
		a, b := join(t, store), join(t, store)
		defer a.Close()
		defer b.Close()
		changes := 0
		b.OnInvalidate(func() { changes++ })
		change := func() {
			t.Helper()
			if err := store.Update(t.Context(), system, a.InvalidateCaches); err != nil {
				t.Fatal(err)
			}
		}
		change()
		time.Sleep(time.Second)
		synctest.Wait()
		if err := store.Update(t.Context(), system, func(tx storage.Tx) error { return tx.Delete([]byte(generationKey)) }); err != nil {
			t.Fatal(err)
		}
		change() // at the same moment
		time.Sleep(time.Second)
		synctest.Wait()
		if changes != 2 {
			t.Errorf("%d changes were seen, want 2", changes)
		}
	})
}
