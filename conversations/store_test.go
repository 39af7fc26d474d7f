package conversations

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// watched is a store that counts the entries it yields and fails on demand.
type watched struct {
	storage.Store
	scanned int
	updates int // until one fails, counted down; 0 never fails
	failure error
}

func (w *watched) View(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	return w.Store.View(ctx, ns, func(tx storage.Tx) error { return fn(&watchedTx{tx, w}) })
}

func (w *watched) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	if w.updates--; w.updates == 0 {
		return w.failure
	}
	return w.Store.Update(ctx, ns, func(tx storage.Tx) error { return fn(&watchedTx{tx, w}) })
}

type watchedTx struct {
	storage.Tx
	store *watched
}

func (t *watchedTx) Scan(r storage.Range) iter.Seq2[storage.Entry, error] {
	return func(yield func(storage.Entry, error) bool) {
		for e, err := range t.Tx.Scan(r) {
			t.store.scanned++
			if !yield(e, err) {
				return
			}
		}
	}
}

var caller = accounts.Caller{Organization: "org_1"}

func newService(t testing.TB) (*Service, *watched) {
	t.Helper()
	store := &watched{Store: memstore.New()}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	var mu sync.Mutex
	n := 0
	return New(Options{Store: store, Log: slog.New(slog.DiscardHandler), NewID: func(prefix string) string {
		mu.Lock()
		defer mu.Unlock()
		n++
		return fmt.Sprintf("%s_%06d", prefix, n)
	}}), store
}

// large creates a conversation with n items, and a failed turn after each
// twenty of them.
func large(t testing.TB, s *Service, n int) string {
	t.Helper()
	c, err := s.Create(t.Context(), caller, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	messages := slices.Repeat([]Item{UserMessage("Hi")}, MaxItems)
	for range n / MaxItems {
		if _, err := s.AddItems(t.Context(), caller, c.ID, messages); err != nil {
			t.Fatal(err)
		}
		put(t, s, &NewTurn{ID: s.newID("resp"), Parent: &Parent{Conversation: c.ID}, Incomplete: true,
			Input: []Item{WithID(UserMessage("Hi"), s.newID)}})
	}
	return c.ID
}

func put(t testing.TB, s *Service, d *NewTurn) {
	t.Helper()
	if d.Body == nil {
		d.Body = []byte("{}")
	}
	if err := s.store.Update(t.Context(), caller.Namespace(), func(tx storage.Tx) error { return s.Write(tx, d) }); err != nil {
		t.Fatal(err)
	}
}

// TestPagesCostThePage counts what is read for the first, a middle and the last
// page of a large conversation.
func TestPagesCostThePage(t *testing.T) {
	s, store := newService(t)
	id := large(t, s, 10_000)
	const limit = 50
	p := page.Params{Limit: limit}
	var all []string
	for {
		store.scanned = 0
		items, err := s.ListItems(t.Context(), caller, id, p)
		if err != nil {
			t.Fatal(err)
		}
		if store.scanned > limit+1 {
			t.Fatalf("%d entries were read for a page after %q", store.scanned, p.After)
		}
		for _, item := range items.Items {
			all = append(all, item.ItemID())
		}
		if !items.HasMore {
			break
		}
		p.After = all[len(all)-1]
	}
	is := is.New(t)
	is.Equal(len(all), 10_000)
	is.True(slices.IsSorted(all))
}

// TestListsOfBranches reads a conversation with three branches, a page at a time
// in both directions: in the order in which the items were written.
func TestListsOfBranches(t *testing.T) {
	is := is.New(t)
	s, _ := newService(t)
	write := func(id, previous, conversation string, begins bool) {
		p, err := s.Continue(t.Context(), caller, previous, "")
		is.NoErr(err)
		p.Conversation = conversation
		put(t, s, &NewTurn{ID: id, Parent: p, NewConversation: begins, Input: []Item{WithID(UserMessage(id), s.newID)}, Output: []Item{WithID(UserMessage("to "+id), s.newID)}})
	}
	write("a", "", "conv", true)
	var want []string
	for i, previous := range []string{"a", "a", "b0", "b1", "a", "b2", "b4", "b3", "b5"} {
		write(fmt.Sprint("b", i), previous, "conv", false)
	}
	for _, id := range []string{"a", "b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8"} {
		want = append(want, id, "to "+id)
	}
	history, err := s.Continue(t.Context(), caller, "b7", "")
	is.NoErr(err)
	is.Equal(len(history.Lineage), 2)
	var said []string
	for _, e := range history.Entries {
		said = append(said, text(e))
	}
	is.Equal(said, []string{"a", "to a", "b1", "to b1", "b3", "to b3", "b7", "to b7"})
	for _, desc := range []bool{false, true} {
		for limit := 1; limit < 25; limit += 3 {
			var got []string
			for p := (page.Params{Limit: limit, Desc: desc}); ; {
				items, err := s.ListItems(t.Context(), caller, "conv", p)
				is.NoErr(err)
				for _, item := range items.Items {
					got = append(got, text(Entry{Item: item}))
					p.After = item.ItemID()
				}
				if !items.HasMore {
					break
				}
			}
			if desc {
				slices.Reverse(got)
			}
			is.Equal(got, want)
		}
	}
}

func BenchmarkListItems(b *testing.B) {
	s, _ := newService(b)
	id := large(b, s, 10_000)
	last, err := s.ListItems(b.Context(), caller, id, page.Params{Limit: 21, Desc: true})
	if err != nil {
		b.Fatal(err)
	}
	for name, after := range map[string]string{"first": "", "last": last.Items[20].ItemID()} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				items, err := s.ListItems(b.Context(), caller, id, page.Params{Limit: 20, After: after})
				if err != nil || len(items.Items) != 20 {
					b.Fatal(len(items.Items), err)
				}
			}
		})
	}
}

// TestAHistoryIsAFewScans counts what is read to continue from the middle of a
// large conversation.
func TestAHistoryIsAFewScans(t *testing.T) {
	s, store := newService(t)
	is := is.New(t)
	id := large(t, s, 1000)
	begin, err := s.Continue(t.Context(), caller, "", "")
	is.NoErr(err)
	begin.Conversation = id
	put(t, s, &NewTurn{ID: "resp_x", Parent: begin, Input: []Item{WithID(UserMessage("a"), s.newID)}, Output: []Item{WithID(UserMessage("b"), s.newID)}})
	store.scanned = 0
	p, err := s.Continue(t.Context(), caller, "resp_x", "")
	is.NoErr(err)
	is.Equal(store.scanned, 2)
	is.Equal(p.Lineage, Lineage{{1000<<branchShift + 1000, 1000<<branchShift + 1002}}) // a branch of its own
}

// TestAHistoryBesideALongBranch counts what is read of a branch that was opened
// beside a turn which has been gone on from, again and again, since.
func TestAHistoryBesideALongBranch(t *testing.T) {
	s, store := newService(t)
	is := is.New(t)
	turn := func(id, previous string) {
		p, err := s.Continue(t.Context(), caller, previous, "")
		is.NoErr(err)
		d := &NewTurn{ID: id, Parent: p, NewConversation: previous == "", Input: []Item{WithID(UserMessage(id), s.newID)}}
		if d.NewConversation {
			p.Conversation = "conv"
		}
		put(t, s, d)
	}
	turn("first", "")
	turn("beside", "first")
	turn("own", "first")
	for n, previous := 0, "beside"; n < 100; n++ {
		id := fmt.Sprint("more-", n)
		turn(id, previous)
		previous = id
	}
	cold := New(Options{Store: store, NewID: s.newID})
	store.scanned = 0
	p, err := cold.Continue(t.Context(), caller, "own", "")
	is.NoErr(err)
	is.Equal(len(p.Entries), 2)
	is.Equal(text(p.Entries[0])+" "+text(p.Entries[1]), "first own")
	is.True(store.scanned <= 2+maxBeside+1)
}

func TestAHistoryThatNoModelCouldReadIsRefused(t *testing.T) {
	s, _ := newService(t)
	c, err := s.Create(t.Context(), caller, nil, nil)
	is := is.New(t)
	is.NoErr(err)
	big := &Message{Role: model.User, Content: []Part{{Type: InputText, Text: strings.Repeat("x", 1<<19)}}}
	var ids []string
	for range maxHistory >> 19 {
		added, err := s.AddItems(t.Context(), caller, c.ID, []Item{big})
		is.NoErr(err)
		ids = append(ids, added[0].ItemID())
	}
	_, err = s.Items(t.Context(), caller, ids)
	is.Equal(err, error(fault.ContextLength("The items that the input refers to are longer than any model's context window: they have more than 64 MiB.")))
	_, err = s.Continue(t.Context(), caller, "", c.ID)
	is.Equal(err, error(fault.ContextLength("The history is longer than any model's context window: it has more than 64 MiB.")))
}

// TestDeletionsGoOnAtTheNextStart fails each transaction of a deletion in turn.
func TestDeletionsGoOnAtTheNextStart(t *testing.T) {
	broken := errors.New("the disk is on fire")
	for failing := 1; ; failing++ {
		s, store := newService(t)
		id := large(t, s, 2500)
		is := is.New(t)
		ctx := t.Context()
		said := WithID(UserMessage("Hi"), s.newID)
		put(t, s, &NewTurn{ID: "resp_x", Parent: &Parent{Conversation: id}, Input: []Item{said}})
		store.updates, store.failure = failing, broken
		err := s.Delete(ctx, caller, id)
		done := store.updates > 0 // nothing failed
		store.updates = 0
		if failing == 1 {
			is.Equal(err, broken) // nothing is deleted
			_, err := s.Get(ctx, caller, id)
			is.NoErr(err)
			continue
		}
		is.NoErr(err)
		// Whatever is left cannot be seen.
		_, err = s.Get(ctx, caller, id)
		is.True(fault.Is(err, fault.NotFound))
		_, _, _, err = s.GetTurn(ctx, caller, "resp_x")
		is.Equal(err, error(fault.Missing(CodeResponseNotFound, "response", "resp_x")))
		found, err := s.Items(ctx, caller, []string{said.ItemID()})
		is.NoErr(err)
		is.Equal(found, map[string]Item{})
		is.NoErr(s.Recover(ctx, caller.Namespace()))
		is.Equal(keys(t, store), nil)
		if done {
			is.True(failing > 4) // the deletion took several transactions
			return
		}
	}
}

// keys returns the keys that the conversations have in the store.
func keys(t *testing.T, store storage.Store) (list []string) {
	t.Helper()
	err := store.View(t.Context(), caller.Namespace(), func(tx storage.Tx) error {
		list = nil
		for e, err := range tx.Scan(storage.Prefix([]byte("v/"))) {
			if err != nil {
				return err
			}
			list = append(list, string(e.Key))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestADeletedResponseThatFailedTakesItsItemsAlong(t *testing.T) {
	s, store := newService(t)
	is := is.New(t)
	c, err := s.Create(t.Context(), caller, nil, nil)
	is.NoErr(err)
	before := keys(t, store)
	for _, id := range []string{"resp_1", "resp_10"} {
		put(t, s, &NewTurn{ID: id, Parent: &Parent{Conversation: c.ID}, Incomplete: true, Input: []Item{WithID(UserMessage("Hi"), s.newID)}})
	}
	is.NoErr(s.DeleteTurn(t.Context(), caller, "resp_1"))
	_, input, _, err := s.GetTurn(t.Context(), caller, "resp_10")
	is.NoErr(err)
	is.Equal(len(input), 1)
	is.NoErr(s.DeleteTurn(t.Context(), caller, "resp_10"))
	is.Equal(keys(t, store), before)
}

func TestZeroDataRetentionAddsNothing(t *testing.T) {
	s, _ := newService(t)
	is := is.New(t)
	c, err := s.Create(t.Context(), caller, nil, nil) // before it was configured
	is.NoErr(err)
	forgetful := caller
	forgetful.ZeroDataRetention = true
	_, err = s.AddItems(t.Context(), forgetful, c.ID, []Item{UserMessage("Hi")})
	is.Equal(fault.From(err).Code, CodeZeroRetention)
	_, err = s.Create(t.Context(), forgetful, nil, nil)
	is.Equal(fault.From(err).Code, CodeZeroRetention)
	is.NoErr(s.Delete(t.Context(), forgetful, c.ID))
}

func TestErrorsOfTheStore(t *testing.T) {
	s, store := newService(t)
	ctx := t.Context()
	for _, c := range []struct {
		cause error
		kind  fault.Kind
	}{
		{storage.ErrConflict, fault.Unavailable}, {storage.ErrClosed, fault.Unavailable},
		{fmt.Errorf("wrapped: %w", storage.ErrTooLarge), fault.TooLarge}, {errors.New("fire"), fault.Internal},
		{context.Canceled, fault.Canceled},
	} {
		store.updates, store.failure = 1, c.cause
		if _, err := s.Create(ctx, caller, nil, nil); !fault.Is(err, c.kind) {
			t.Errorf("%v: got %v", c.cause, err)
		}
	}
}

func TestItemsAreAddedConcurrently(t *testing.T) {
	counted, store := newService(t)
	s := New(Options{Store: store.Store, NewID: counted.newID}) // without the counters, which are not for concurrent use
	is := is.New(t)
	c, err := s.Create(t.Context(), caller, nil, nil)
	is.NoErr(err)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 10 {
				if _, err := s.AddItems(t.Context(), caller, c.ID, []Item{UserMessage("a"), UserMessage("b")}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	p, err := s.Continue(t.Context(), caller, "", c.ID)
	is.NoErr(err)
	is.Equal(p.Lineage, Lineage{{0, 160}})
	is.Equal(len(p.Entries), 160)
	for i := 0; i < len(p.Entries); i += 2 {
		is.Equal([]string{text(p.Entries[i]), text(p.Entries[i+1])}, []string{"a", "b"}) // what came together stays together
	}
}

func text(e Entry) string { return e.Item.(*Message).Content[0].Text }
