package conversations

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// said returns what the history is behind a turn or a conversation, or the code of
// the error.
func said(t testing.TB, s *Service, previous, conversation string) (items []Item, code string) {
	t.Helper()
	p, err := s.Continue(t.Context(), caller, previous, conversation)
	if err != nil {
		return nil, fault.From(err).Code
	}
	for _, e := range p.Entries {
		items = append(items, e.Item)
	}
	return items, ""
}

// TestHistoriesAreThoseOfTheStore does everything that changes histories in any
// order, in two services over one store. Both find what one finds that has never
// read anything.
func TestHistoriesAreThoseOfTheStore(t *testing.T) {
	is := is.New(t)
	random := rand.New(rand.NewPCG(1, 2))
	one, store := newService(t)
	two := New(Options{Store: store, NewID: one.newID})
	c, err := one.Create(t.Context(), caller, nil, []Item{UserMessage("first")})
	is.NoErr(err)
	var turns, items []string
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	step := func(n int) {
		s := []*Service{one, two}[random.IntN(2)]
		switch action := random.IntN(12); {
		case action == 0:
			added, err := s.AddItems(t.Context(), caller, c.ID, []Item{UserMessage(fmt.Sprint("added ", n))})
			is.NoErr(err)
			items = append(items, added[0].ItemID())
		case action == 1 && items != nil:
			_, err := s.DeleteItem(t.Context(), caller, c.ID, pick(items))
			is.True(err == nil || fault.Is(err, fault.NotFound))
		case action == 2:
			_, err := s.Update(t.Context(), caller, c.ID, map[string]string{"n": fmt.Sprint(n)})
			is.NoErr(err)
		case action == 3 && turns != nil:
			err := s.DeleteTurn(t.Context(), caller, pick(turns))
			is.True(err == nil || fault.Is(err, fault.NotFound))
		default:
			previous, conversation := "", c.ID
			if turns != nil && action > 5 {
				previous, conversation = pick(turns), ""
			}
			p, err := s.Continue(t.Context(), caller, previous, conversation)
			if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Invalid) {
				return // deleted, or it failed
			}
			is.NoErr(err)
			d := &NewTurn{ID: fmt.Sprint("resp_", n), Parent: p, Incomplete: random.IntN(6) == 0}
			for i := range 1 + random.IntN(3) {
				d.Input = append(d.Input, WithID(UserMessage(fmt.Sprint(n, " ", i)), s.newID))
				items = append(items, d.Input[i].ItemID())
			}
			put(t, s, d)
			turns = append(turns, d.ID)
		}
	}
	for n := range 300 {
		step(n)
		previous, conversation := "", c.ID
		if turns != nil && n%3 > 0 {
			previous, conversation = pick(turns), ""
		}
		want, code := said(t, New(Options{Store: store}), previous, conversation)
		for _, s := range []*Service{one, two} {
			got, gotCode := said(t, s, previous, conversation)
			is.Equal(gotCode, code)
			is.True(reflect.DeepEqual(got, want))
		}
	}
	is.NoErr(two.Delete(t.Context(), caller, c.ID))
	for _, s := range []*Service{one, two} {
		_, code := said(t, s, "", c.ID)
		is.Equal(code, CodeNotFound)
	}
}

// TestATurnReadsWhatIsNew: what was read of a history is not read again.
func TestATurnReadsWhatIsNew(t *testing.T) {
	is := is.New(t)
	s, store := newService(t)
	id := large(t, s, 500)
	_, code := said(t, s, "", id)
	is.Equal(code, "")
	for n := range 3 {
		p, err := s.Continue(t.Context(), caller, "", id)
		is.NoErr(err)
		put(t, s, &NewTurn{ID: fmt.Sprint("resp_", n), Parent: p, Input: []Item{WithID(UserMessage("more"), s.newID)}})
		store.scanned = 0
		items, _ := said(t, s, fmt.Sprint("resp_", n), "")
		is.Equal(len(items), 500+n+1)
		is.Equal(store.scanned, 1)
	}
}

// TestAKnownHistoryIsNobodyElses: what was read for one organization is not there
// for another, though it had the same IDs.
func TestAKnownHistoryIsNobodyElses(t *testing.T) {
	is := is.New(t)
	s, _ := newService(t)
	id := large(t, s, MaxItems)
	_, code := said(t, s, "", id)
	is.Equal(code, "")
	other := accounts.Caller{Organization: "org_2"}
	_, err := s.Continue(t.Context(), other, "", id)
	is.Equal(fault.From(err).Code, CodeNotFound)
	is.NoErr(s.update(t.Context(), other, func(tx storage.Tx) error {
		if err := create(tx, Conversation{ID: id}); err != nil {
			return err
		}
		return s.add(tx, id, []Entry{{Item: WithID(UserMessage("mine"), s.newID)}})
	}))
	p, err := s.Continue(t.Context(), other, "", id)
	is.NoErr(err)
	is.Equal(len(p.Entries), 1)
	is.Equal(text(p.Entries[0]), "mine")
}

// TestTurnsContinueFromOnePointAtOnce: nobody's history is written over by
// another's. It is for the race detector too.
func TestTurnsContinueFromOnePointAtOnce(t *testing.T) {
	is := is.New(t)
	store := memstore.New()
	defer store.Close()
	s := New(Options{Store: store})
	c, err := s.Create(t.Context(), caller, nil, []Item{UserMessage("base")})
	is.NoErr(err)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			p, err := s.Continue(t.Context(), caller, "", c.ID)
			for i := 0; err == nil && i < 10; i++ {
				id := fmt.Sprintf("resp_%d_%d", n, i)
				put(t, s, &NewTurn{ID: id, Parent: p, Input: []Item{WithID(UserMessage(fmt.Sprint(n)), s.newID)}})
				if p, err = s.Continue(t.Context(), caller, id, ""); err != nil {
					break
				}
				if got := len(p.Entries); got < i+2 || text(p.Entries[got-1]) != fmt.Sprint(n) {
					t.Errorf("turn %s ends with another's item", id)
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestKnownHistoriesAreBounded: of one organization and of all.
func TestKnownHistoriesAreBounded(t *testing.T) {
	is := is.New(t)
	var r historyCache
	long := []Entry{{Item: UserMessage("long"), size: 1 << 20}}
	for n := range 100 {
		ns := storage.Namespace(fmt.Sprint("org_", n%5))
		if n < 50 {
			ns = "org_0"
		}
		r.add(ns, Conversation{ID: fmt.Sprint("conv_", n)}, Lineage{{0, 1}}, long, 0)
		is.True(r.bytes <= historyCacheBytes)
		is.True(r.byTenant[ns].bytes <= historyCacheOfOne)
	}
	known, rest, _ := r.lookup("org_4", Conversation{ID: "conv_99"}, Lineage{{0, 1}}, 0)
	is.Equal(len(known), 1)
	is.Equal(len(rest), 0)
	known, _, _ = r.lookup("org_0", Conversation{ID: "conv_1"}, Lineage{{0, 1}}, 0)
	is.Equal(len(known), 0) // long ago
	r.add("org_4", Conversation{ID: "conv_99"}, Lineage{{0, 1}}, []Entry{{Item: UserMessage(strings.Repeat("x", 9)), size: historyCacheOfOne}}, 0)
	known, _, _ = r.lookup("org_4", Conversation{ID: "conv_99"}, Lineage{{0, 1}}, 0)
	is.Equal(len(known), 0) // it would be all that is kept
}

// TestWhatIsKeptIsGivenOnce to one reader of the history that it was made of, and
// counts as part of that.
func TestWhatIsKeptIsGivenOnce(t *testing.T) {
	is := is.New(t)
	var r historyCache
	c := Conversation{ID: "conv"}
	entries := []Entry{{Seq: 0, Item: UserMessage("a"), size: 1}, {Seq: 1, Item: UserMessage("b"), size: 1}}
	k := r.add("org", c, Lineage{{0, 2}}, entries, 0)
	bytes := r.bytes
	r.setDerived(k, Derived{Value: "both", Entries: 2, Bytes: 1000})
	is.Equal(r.bytes, bytes+1000)
	_, _, kept := r.lookup("org", c, Lineage{{0, 1}}, 0)
	is.Equal(kept.Value, nil) // it is of more than this history begins with
	_, _, kept = r.lookup("org", c, Lineage{{0, 3}}, 0)
	is.Equal(kept, Derived{Value: "both", Entries: 2, Bytes: 1000})
	is.Equal(r.bytes, bytes)
	_, _, kept = r.lookup("org", c, Lineage{{0, 3}}, 0)
	is.Equal(kept.Value, nil) // somebody has it

	r.setDerived(k, Derived{Value: "too large", Entries: 2, Bytes: historyCacheOfOne})
	is.Equal(r.bytes, bytes)
	r.setDerived(k, Derived{Value: "both", Entries: 2, Bytes: 1000})
	is.Equal(r.bytes, bytes+1000)
	later := r.add("org", c, Lineage{{0, 2}}, entries, 0)
	is.Equal(r.bytes, bytes)
	r.setDerived(k, Derived{Value: "stale", Entries: 2, Bytes: 1000}) // its history has made room for another
	is.Equal(r.bytes, bytes)
	r.setDerived(later, Derived{Value: "of before", Entries: 2, Bytes: 1000})
	_, _, kept = r.lookup("org", Conversation{ID: "conv", removed: 1}, Lineage{{0, 2}}, 0)
	is.Equal(kept.Value, nil) // an item was removed
}
