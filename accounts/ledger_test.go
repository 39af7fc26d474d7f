package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// tokens is a use that costs that many micro-dollars at the prices of
// withUnitPrices.
func tokens(n int) Use { return Use{Endpoint: "responses", Model: "unit", InputTokens: n} }

// withUnitPrices makes a token of the model unit cost one micro-dollar.
func withUnitPrices(s *Service) *Service {
	s.prices = map[string]Prices{"unit": {Input: Dollar}}
	return s
}

func wantBalance(t *testing.T, s *Service, organization string, want Micros) {
	t.Helper()
	if got, err := s.Balance(t.Context(), organization); err != nil || got != want {
		t.Errorf("balance of %s: got %v, %v, want %v", organization, got, err, want)
	}
}

// sumOfEntries adds up the log and the lanes of a ledger without its checkpoint.
func sumOfEntries(t *testing.T, store storage.Store, organization string) (sum Micros) {
	t.Helper()
	err := store.View(t.Context(), storage.Namespace(organization), func(tx storage.Tx) error {
		sum = 0
		for _, prefix := range []string{entryPrefix, lanePrefix} {
			for e, err := range tx.Scan(storage.Prefix([]byte(prefix))) {
				if err != nil {
					return err
				}
				var entry entryRecord
				if err := json.Unmarshal(e.Value, &entry); err != nil {
					return err
				}
				sum += entry.Amount
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func storedCheckpoint(t *testing.T, store storage.Store, organization string) (c checkpoint) {
	t.Helper()
	err := store.View(t.Context(), storage.Namespace(organization), func(tx storage.Tx) error {
		return storage.GetJSON(tx, checkpointKey(), &c)
	})
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		t.Fatal(err)
	}
	c.Lanes = nil
	return c
}

// charged returns the newest charge as a reader sees it.
func charged(t *testing.T, s *Service, organization string) Entry {
	t.Helper()
	got, err := s.Usage(t.Context(), organization, page.Params{Limit: 1, Desc: true})
	if err != nil || len(got.Items) != 1 {
		t.Fatalf("got %+v, %v, want a charge", got, err)
	}
	return got.Items[0]
}

func TestChargeWritesTheEntryWithTheResult(t *testing.T) {
	store := newStore(t)
	s := newService(t, store)
	o := newOrganization(t, s, Dollar)
	c := Caller{Organization: o.ID, Key: "key_1"}
	use := Use{Endpoint: "responses", Model: "svc-preview", Object: "resp_1", InputTokens: 10, CachedTokens: 4, OutputTokens: 5, ReasoningTokens: 2}
	got, err := s.Charge(t.Context(), c, use, func(tx storage.Tx) error { return tx.Set([]byte("v/1"), []byte("turn")) })
	want := Entry{
		ID: "use_0001_2", Organization: o.ID, Key: "key_1", Type: EntryCharge, Amount: -6, Use: use, CreatedAt: start.Unix(),
	}
	if read := charged(t, s, o.ID); err != nil || read != want {
		t.Errorf("got %+v, %v, want %+v", read, err, want)
	}
	if got.ID = want.ID; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	wantJSON(t, got, `{"id":"use_0001_2","object":"usage","organization_id":"org_0001","api_key_id":"key_1","endpoint":"responses",`+
		`"model":"svc-preview","object_id":"resp_1","input_tokens":10,"cached_tokens":4,"output_tokens":5,"reasoning_tokens":2,`+
		`"cost":"0.000006","created_at":1700000000}`)
	wantBalance(t, s, o.ID, Dollar-6)
	err = store.View(t.Context(), c.Namespace(), func(tx storage.Tx) error {
		value, err := tx.Get([]byte("v/1"))
		if string(value) != "turn" {
			t.Errorf("the result: got %q, %v", value, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestChargeThatIsRefusedWritesNothing(t *testing.T) {
	store := newStore(t)
	s := withUnitPrices(newService(t, store))
	o := newOrganization(t, s, Dollar)
	c := Caller{Organization: o.ID}
	gone := fault.Missing("conversation_not_found", "conversation", "conv_1")
	if _, err := s.Charge(t.Context(), c, tokens(5), func(storage.Tx) error { return gone }); err != gone {
		t.Errorf("got %v, want the error as it is", err)
	}
	_, err := s.Charge(t.Context(), c, tokens(-5), nil)
	wantFault(t, err, fault.Error{Kind: fault.Internal, Code: fault.CodeInternal})
	wantBalance(t, s, o.ID, Dollar)
	if got := sumOfEntries(t, store, o.ID); got != Dollar {
		t.Errorf("the entries sum to %v, want %v", got, Dollar)
	}
}

func TestChargeWhenTheStoreFails(t *testing.T) {
	for name, test := range map[string]struct {
		damage func(*brittleStore)
		want   Micros
	}{
		"before the commit": {func(b *brittleStore) { b.before = failing }, Dollar},
		"after the commit":  {func(b *brittleStore) { b.after = failing }, Dollar - 5},
	} {
		t.Run(name, func(t *testing.T) {
			store := &brittleStore{Store: newStore(t)}
			s := withUnitPrices(newService(t, store))
			o := newOrganization(t, s, Dollar)
			test.damage(store)
			_, err := s.Charge(t.Context(), Caller{Organization: o.ID}, tokens(5), nil)
			wantFault(t, err, fault.Error{Kind: fault.Internal, Code: fault.CodeInternal})
			store.before, store.after = nil, nil
			wantBalance(t, s, o.ID, test.want)
			if _, err := s.Charge(t.Context(), Caller{Organization: o.ID}, tokens(1), nil); err != nil {
				t.Error(err)
			}
			wantBalance(t, s, o.ID, test.want-1)
			if got := sumOfEntries(t, store, o.ID); got != test.want-1 {
				t.Errorf("the entries sum to %v, want %v", got, test.want-1)
			}
		})
	}
}

func TestAfford(t *testing.T) {
	empty := fault.Error{Kind: fault.NoCredits, Code: CodeNoCredits}
	store := &brittleStore{Store: newStore(t)}
	s := withUnitPrices(newService(t, store))
	c := Caller{Organization: newOrganization(t, s, 3).ID}
	wantFault(t, s.Afford(t.Context(), Caller{Organization: "org_none"}), empty)
	for _, step := range []struct {
		charge  int
		balance Micros
		ok      bool
	}{{1, 2, true}, {1, 1, true}, {1, 0, false}, {1, -1, false}} {
		if _, err := s.Charge(t.Context(), c, tokens(step.charge), nil); err != nil {
			t.Fatal(err)
		}
		wantBalance(t, s, c.Organization, step.balance)
		store.before = failing // nothing is read: the balance is known
		err := s.Afford(t.Context(), c)
		store.before = nil
		if step.ok && err != nil {
			t.Errorf("at %v: %v", step.balance, err)
		}
		if !step.ok {
			wantFault(t, err, empty)
		}
	}
	if _, err := s.AddCredits(t.Context(), c.Organization, 2); err != nil {
		t.Fatal(err)
	}
	if err := s.Afford(t.Context(), c); err != nil {
		t.Errorf("with new credits: %v", err)
	}
}

func TestAffordWhenTheBalanceCannotBeRead(t *testing.T) {
	s := newService(t, &brittleStore{Store: newStore(t), before: failing})
	err := s.Afford(t.Context(), Caller{Organization: "org_1"})
	wantFault(t, err, fault.Error{Kind: fault.Internal, Code: fault.CodeInternal})
}

func TestAThousandConcurrentChargesLoseNothing(t *testing.T) {
	const calls = 1000
	store := newStore(t)
	s := withUnitPrices(newService(t, store))
	s.compactEvery = 32
	o := newOrganization(t, s, 100*Dollar)
	want := 100 * Dollar
	var writers sync.WaitGroup
	for i := range calls {
		want -= Micros(i)
		writers.Go(func() {
			also := func(tx storage.Tx) error { return tx.Set(fmt.Appendf(nil, "v/%04d", i), nil) }
			if _, err := s.Charge(t.Context(), Caller{Organization: o.ID}, tokens(i), also); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantBalance(t, s, o.ID, want)
	if got := sumOfEntries(t, store, o.ID); got != want {
		t.Errorf("the entries sum to %v, want %v", got, want)
	}
	if storedCheckpoint(t, store, o.ID).Sequence == 0 {
		t.Error("no checkpoint was written")
	}

	again := withUnitPrices(newService(t, store))
	wantBalance(t, again, o.ID, want)
	if _, err := again.Charge(t.Context(), Caller{Organization: o.ID}, tokens(1), nil); err != nil {
		t.Error(err)
	}
	if got, wantID := charged(t, again, o.ID).ID, entryID(o.ID, calls+2); got != wantID {
		t.Errorf("the next entry: got %s, want %s", got, wantID)
	}
	wantBalance(t, again, o.ID, want-1)
}

func TestCompactionNeitherLosesNorRepeatsAnEntry(t *testing.T) {
	store := newStore(t)
	s := withUnitPrices(newService(t, store))
	o := newOrganization(t, s, Dollar)
	c := Caller{Organization: o.ID}
	charge := func(n int) {
		t.Helper()
		if _, err := s.Charge(t.Context(), c, tokens(n), nil); err != nil {
			t.Fatal(err)
		}
	}
	charge(10)
	// A charge that fails leaves a gap in the numbers, here right before the checkpoint.
	if _, err := s.Charge(t.Context(), c, tokens(1), func(storage.Tx) error { return errDisk }); err != errDisk {
		t.Fatal(err)
	}
	if err := s.compact(t.Context(), s.ledger(o.ID)); err != nil {
		t.Fatal(err)
	}
	if got, want := storedCheckpoint(t, store, o.ID), (checkpoint{Format: 2, Sequence: 2, Balance: Dollar - 10}); !reflect.DeepEqual(got, want) {
		t.Errorf("checkpoint: got %+v, want %+v", got, want)
	}
	charge(100)
	wantBalance(t, newService(t, store), o.ID, Dollar-110)
	if err := s.compact(t.Context(), s.ledger(o.ID)); err != nil {
		t.Fatal(err)
	}
	wantBalance(t, newService(t, store), o.ID, Dollar-110)
}

// TestCompactionOfAnUncertainBalance compacts an entry whose writer was told that it
// failed. The store has it, so that it counts.
func TestCompactionOfAnUncertainBalance(t *testing.T) {
	store := &brittleStore{Store: newStore(t)}
	s := withUnitPrices(newService(t, store))
	o := newOrganization(t, s, Dollar)
	store.after = failing
	if _, err := s.Charge(t.Context(), Caller{Organization: o.ID}, tokens(5), nil); err == nil {
		t.Fatal("the charge did not fail")
	}
	store.after = nil
	if err := s.compact(t.Context(), s.ledger(o.ID)); err != nil {
		t.Fatal(err)
	}
	wantBalance(t, s, o.ID, Dollar-5)
	wantBalance(t, newService(t, store), o.ID, Dollar-5)
}

func TestUsage(t *testing.T) {
	s := withUnitPrices(newService(t, newStore(t)))
	o := newOrganization(t, s, Dollar)
	other := newOrganization(t, s, Dollar)
	var want []Entry
	for i := range 5 {
		entry, err := s.Charge(t.Context(), Caller{Organization: o.ID, Key: "key_1"}, tokens(i), nil)
		if err != nil {
			t.Fatal(err)
		}
		entry.ID = entryID(o.ID, uint64(2*i+2))
		want = append([]Entry{entry}, want...)
		if _, err := s.AddCredits(t.Context(), o.ID, 1); err != nil {
			t.Fatal(err)
		}
	}
	get := func(id string, p page.Params) (page.Page[Entry], error) { return s.Usage(t.Context(), id, p) }
	for name, test := range map[string]struct {
		params page.Params
		want   page.Page[Entry]
	}{
		"all":        {page.Params{Desc: true}, page.Page[Entry]{Items: want}},
		"first page": {page.Params{Desc: true, Limit: 2}, page.Page[Entry]{Items: want[:2], HasMore: true}},
		"next page":  {page.Params{Desc: true, Limit: 2, After: want[1].ID}, page.Page[Entry]{Items: want[2:4], HasMore: true}},
		"last page":  {page.Params{Desc: true, Limit: 2, After: want[3].ID}, page.Page[Entry]{Items: want[4:]}},
		"past it":    {page.Params{Desc: true, Limit: 2, After: want[4].ID}, page.Page[Entry]{Items: []Entry{}}},
		"ascending":  {page.Params{Limit: 1, After: want[3].ID}, page.Page[Entry]{Items: want[2:3], HasMore: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := get(o.ID, test.params)
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
	for _, after := range []string{"x", "use_", entryIDPrefix(o.ID), entryID(other.ID, 1), entryID(o.ID, 1) + "x"} {
		_, err := get(o.ID, page.Params{After: after})
		wantFault(t, err, invalid("after"))
	}
	_, err := get("org_none", page.Params{})
	wantFault(t, err, fault.Error{Kind: fault.NotFound, Code: CodeOrganizationNotFound})
	if got, err := get(other.ID, page.Params{}); err != nil || !reflect.DeepEqual(got, page.Page[Entry]{Items: []Entry{}}) {
		t.Errorf("another organization: got %+v, %v, want nothing", got, err)
	}
}

func BenchmarkCharge(b *testing.B) {
	for _, writers := range []int{1, 100} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := newService(b, newStore(b))
			c := Caller{Organization: newOrganization(b, s, maxAmount).ID, Key: "key_1"}
			use := Use{Endpoint: "responses", Model: "svc-preview", Object: "resp_1", InputTokens: 1000, OutputTokens: 100}
			b.ReportAllocs()
			b.ResetTimer()
			var group sync.WaitGroup
			for w := range writers {
				group.Go(func() {
					for i := w; i < b.N; i += writers {
						if _, err := s.Charge(context.Background(), c, use, nil); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
		})
	}
}

func BenchmarkAfford(b *testing.B) {
	s := newService(b, newStore(b))
	c := Caller{Organization: newOrganization(b, s, Dollar).ID}
	for b.Loop() {
		if err := s.Afford(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

func TestAFailedCheckpointIsTriedAgain(t *testing.T) {
	store := &brittleStore{Store: newStore(t)}
	s := withUnitPrices(newService(t, store))
	o := newOrganization(t, s, Dollar)
	l := s.ledger(o.ID)
	store.before = failing
	if err := s.compact(t.Context(), l); !errors.Is(err, errDisk) {
		t.Errorf("compact: got %v, want the error of the store", err)
	}
	store.before = nil
	s.compactEvery = 1
	if _, err := s.Charge(t.Context(), Caller{Organization: o.ID}, tokens(5), nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := storedCheckpoint(t, store, o.ID), (checkpoint{Format: 2, Sequence: 2, Balance: Dollar - 5}); !reflect.DeepEqual(got, want) {
		t.Errorf("checkpoint: got %+v, want %+v", got, want)
	}
}
