package conversations

import (
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/cluster"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
	"github.com/seed-506d8e5d/svc/storage/storagetest"
)

// TestAStoreThatLosesTurns goes on without its last commits. A process that has read
// what was lost reads what came in its place, and stores no turn behind what was lost.
func TestAStoreThatLosesTurns(t *testing.T) {
	is := is.New(t)
	store := &storagetest.Lossy{Store: memstore.New()}
	defer store.Close()
	here, there := New(Options{Store: store}), New(Options{Store: store})
	c, err := here.Create(t.Context(), caller, nil, []Item{UserMessage("a")})
	is.NoErr(err)
	commits := store.Commits()
	add := func(s *Service, text string) {
		t.Helper()
		_, err := s.AddItems(t.Context(), caller, c.ID, []Item{UserMessage(text)})
		is.NoErr(err)
	}
	heard := func(s *Service) (texts string) {
		t.Helper()
		p, err := s.Continue(t.Context(), caller, "", c.ID)
		is.NoErr(err)
		for _, e := range p.Entries {
			texts += e.Item.(*Message).Content[0].Text
		}
		return texts
	}
	add(here, "b")
	is.Equal(heard(here), "ab")
	lost, err := here.Continue(t.Context(), caller, "", c.ID)
	is.NoErr(err)
	is.NoErr(store.Lose(t.Context(), commits))
	add(there, "c")
	is.Equal(heard(there), "ac")
	is.Equal(heard(here), "ac")

	d := &NewTurn{ID: "resp_1", Parent: lost, Input: []Item{WithID(UserMessage("d"), here.newID)}, Body: []byte("{}")}
	write := func() error {
		return store.Update(t.Context(), caller.Namespace(), func(tx storage.Tx) error { return here.Write(tx, d) })
	}
	is.True(fault.Is(write(), fault.Unavailable))
	is.Equal(heard(here), "ac")
	d.Parent, err = here.Continue(t.Context(), caller, "", c.ID)
	is.NoErr(err)
	is.NoErr(store.Lose(t.Context(), store.Commits())) // nothing of it
	is.NoErr(write())
	is.Equal(heard(there), "acd")
}

// TestTheLastItemIsDeleted has somebody delete what a turn continues from while its
// model runs, and the store change servers without losing anything: the turn ends
// as it would over one that does not.
func TestTheLastItemIsDeleted(t *testing.T) {
	call := func() Item { return &FunctionCall{CallID: "c", Name: "look", Arguments: "{}"} }
	output := func() Item { return &FunctionCallOutput{CallID: "c", Output: "{}"} }
	for name, test := range map[string]struct {
		said    []Item
		deleted int // which of them
		left    int
	}{
		"a message":          {[]Item{UserMessage("a"), UserMessage("b")}, 1, 1},
		"a call, its output": {[]Item{UserMessage("a"), call(), output()}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			store := &storagetest.Lossy{Store: memstore.New()}
			defer store.Close()
			s := New(Options{Store: store})
			c, err := s.Create(t.Context(), caller, nil, nil)
			is.NoErr(err)
			write := func(id string, p *Parent, items []Item) error {
				d := &NewTurn{ID: id, Parent: p, Input: items, Body: []byte("{}")}
				return store.Update(t.Context(), caller.Namespace(), func(tx storage.Tx) error { return s.Write(tx, d) })
			}
			p, err := s.Continue(t.Context(), caller, "", c.ID)
			is.NoErr(err)
			for i, item := range test.said {
				test.said[i] = WithID(item, s.newID)
				if o, ok := test.said[i].(*FunctionCallOutput); ok {
					o.Call = test.said[i-1].ItemID()
				}
			}
			is.NoErr(write("resp_1", p, test.said))

			p, err = s.Continue(t.Context(), caller, "", c.ID)
			is.NoErr(err)
			is.Equal(len(p.Entries), len(test.said))
			_, err = s.DeleteItem(t.Context(), caller, c.ID, test.said[test.deleted].ItemID())
			is.NoErr(err)
			is.NoErr(store.Lose(t.Context(), store.Commits())) // nothing
			is.NoErr(write("resp_2", p, []Item{WithID(UserMessage("c"), s.newID)}))
			p, err = s.Continue(t.Context(), caller, "", c.ID)
			is.NoErr(err)
			is.Equal(len(p.Entries), test.left+1)
		})
	}
}

// TestAStoreThatLosesPlacesInLine has what a turn left when it ended stand in line
// again: its process takes it away.
func TestAStoreThatLosesPlacesInLine(t *testing.T) {
	is := is.New(t)
	store := &storagetest.Lossy{Store: memstore.New()}
	t.Cleanup(func() { store.Close() })
	here := New(Options{Store: store, Cluster: join(t, store)})
	there := New(Options{Store: store, Cluster: join(t, store)})
	c, err := here.Create(t.Context(), caller, nil, nil)
	is.NoErr(err)
	release, err := here.Queue(t.Context(), caller, c.ID)
	is.NoErr(err)
	commits := store.Commits()
	release()
	is.NoErr(store.Lose(t.Context(), commits))
	here.ClearQueues()
	release, err = there.Queue(t.Context(), caller, c.ID)
	is.NoErr(err)
	release()
}

func join(t *testing.T, store storage.Store) *cluster.Member {
	t.Helper()
	p, err := cluster.Join(t.Context(), cluster.Options{Store: storage.Use(store)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}
