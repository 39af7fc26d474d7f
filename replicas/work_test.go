package replicas

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// left returns the namespaces in which something may be left, by a process.
func (p *Process) left(t *testing.T) (left []Left, all bool) {
	t.Helper()
	left, all, err := p.Left(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return left, all
}

func note(t *testing.T, p *Process, namespaces ...storage.Namespace) {
	t.Helper()
	for _, ns := range namespaces {
		if err := p.Note(t.Context(), ns); err != nil {
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
		if err := a.LookedAtAll(t.Context()); err != nil {
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
		for _, l := range left {
			if err := b.Finished(t.Context(), l); err != nil {
				t.Fatal(err)
			}
		}
		if left, _ := b.left(t); len(left) != 0 {
			t.Errorf("when it is finished: got %v", left)
		}
	})
}
