package accounts

import (
	"maps"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// wantTotals checks the requests and the cost of all names in totals.
func wantTotals(t *testing.T, what string, all []Total, want map[string]Sums) {
	t.Helper()
	got := map[string]Sums{}
	for _, one := range all {
		got[one.Name] = one.Sum()
	}
	if !maps.Equal(got, want) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

func totals(t *testing.T, s *Service, organization, month string) Totals {
	t.Helper()
	all, err := s.Totals(t.Context(), organization, month)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTotals charges calls of two organizations over two months, and has them by
// day, model, key and organization.
func TestTotals(t *testing.T) {
	now := time.Date(2026, 10, 31, 23, 59, 0, 0, time.UTC)
	s := withUnitPrices(newService(t, newStore(t)))
	s.now = func() time.Time { return now }
	one, two := newOrganization(t, s, Dollar), newOrganization(t, s, Dollar)
	call := func(o Organization, key, model string, input, cached, output int) {
		t.Helper()
		use := Use{Endpoint: "responses", Model: model, InputTokens: input, CachedTokens: cached, OutputTokens: output}
		if _, err := s.Charge(t.Context(), Caller{Organization: o.ID, Key: key}, use, nil); err != nil {
			t.Fatal(err)
		}
	}
	s.defaultPrices = Prices{Input: Dollar, CachedInput: Dollar, Output: Dollar}
	call(one, "key_a", "unit", 1, 0, 0)
	now = now.Add(2 * time.Minute)
	call(one, "key_a", "unit", 10, 0, 0)
	call(one, "key_b", "big", 100, 60, 5)
	call(one, "", "big", 1000, 0, 0)
	if _, err := s.AddCredits(t.Context(), one.ID, Dollar); err != nil {
		t.Fatal(err)
	}
	now = now.AddDate(0, 0, 3)
	call(one, "key_a", "unit", 20, 0, 0)
	call(two, "key_c", "unit", 7, 0, 0)

	october := totals(t, s, one.ID, "2026-10")
	wantTotals(t, "October", []Total{october.All}, map[string]Sums{one.ID: {1, 1, 0, 0, 1}})
	november := totals(t, s, one.ID, "2026-11")
	if want := map[int]Sums{1: {3, 1110, 60, 5, 1115}, 4: {1, 20, 0, 0, 20}}; !maps.Equal(november.All.Days, want) {
		t.Errorf("November by day: got %+v, want %+v", november.All.Days, want)
	}
	wantTotals(t, "models", november.Models, map[string]Sums{"unit": {2, 30, 0, 0, 30}, "big": {2, 1100, 60, 5, 1105}})
	wantTotals(t, "keys", november.Keys, map[string]Sums{"key_a": {2, 30, 0, 0, 30}, "key_b": {1, 100, 60, 5, 105}, "": {1, 1000, 0, 0, 1000}})
	whole := totals(t, s, "", "2026-11")
	if want := map[int]Sums{1: {3, 1110, 60, 5, 1115}, 4: {2, 27, 0, 0, 27}}; !maps.Equal(whole.All.Days, want) {
		t.Errorf("all by day: got %+v, want %+v", whole.All.Days, want)
	}
	wantTotals(t, "organizations", whole.Organizations, map[string]Sums{one.ID: {4, 1130, 60, 5, 1135}, two.ID: {1, 7, 0, 0, 7}})
	wantTotals(t, "models of all", whole.Models, map[string]Sums{"unit": {3, 37, 0, 0, 37}, "big": {2, 1100, 60, 5, 1105}})

	if err := s.DeleteOrganization(t.Context(), one.ID); err != nil {
		t.Fatal(err)
	}
	whole = totals(t, s, "", "2026-11")
	wantTotals(t, "organizations that are left", whole.Organizations, map[string]Sums{two.ID: {1, 7, 0, 0, 7}})
	if got, want := whole.All.Sum(), (Sums{5, 1137, 60, 5, 1142}); got != want {
		t.Errorf("all after a deletion: got %+v, want %+v", got, want)
	}
	err := s.store.View(t.Context(), system, func(tx storage.Tx) error {
		for e, err := range tx.Scan(storage.Range{Start: []byte(countedPrefix), End: storage.After([]byte(totalPrefix))}) {
			if err != nil {
				return err
			}
			if strings.Contains(string(e.Key), one.ID) {
				t.Errorf("%s is left", e.Key)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTotalsRefusals(t *testing.T) {
	s := newService(t, newStore(t))
	_, err := s.Totals(t.Context(), "org_none", "2026-11")
	wantFault(t, err, fault.Error{Kind: fault.NotFound, Code: CodeOrganizationNotFound})
	for _, month := range []string{"", "2026", "2026-13", "2026-11/..", "november"} {
		_, err := s.Totals(t.Context(), "", month)
		wantFault(t, err, invalid("month"))
	}
}

// TestEachCallIsCountedOnce has several processes charge, compact and count the same
// ledger at once, with transactions that fail on either side of their commits.
func TestEachCallIsCountedOnce(t *testing.T) {
	const charges = 200
	store := &brittleStore{Store: memstore.New()}
	defer store.Close()
	all := replicasOf(t, 3, store)
	defer func() { closeAll(t, all) }()
	o := newOrganization(t, all[0], Dollar)
	month := time.Now().UTC().Format(monthFormat)
	var mu sync.Mutex
	n := 0
	store.after = func(ns storage.Namespace) error {
		mu.Lock()
		defer mu.Unlock()
		if n++; ns == system && n%3 == 0 {
			return errDisk // of what was committed
		}
		return nil
	}
	var running sync.WaitGroup
	for _, s := range all {
		running.Go(func() {
			for range charges {
				if _, err := s.Charge(t.Context(), Caller{Organization: o.ID, Key: "key_a"}, tokens(3), nil); err != nil {
					t.Error(err)
				}
			}
		})
		running.Go(func() {
			for range 20 {
				_ = s.catchUp(t.Context(), o.ID) // it may fail; what it did not count is counted later
			}
		})
	}
	running.Wait()
	store.after = nil
	if month != time.Now().UTC().Format(monthFormat) {
		t.Skip("the month has ended meanwhile")
	}
	want := Sums{Requests: 3 * charges, InputTokens: 9 * charges, Cost: 9 * charges}
	got := totals(t, all[1], o.ID, month)
	wantTotals(t, "all", []Total{got.All}, map[string]Sums{o.ID: want})
	wantTotals(t, "keys", got.Keys, map[string]Sums{"key_a": want})
	wantTotals(t, "organizations", totals(t, all[2], "", month).Organizations, map[string]Sums{o.ID: want})
}

// TestCountOfAnOlderStore has a ledger of more entries than one transaction
// counts that nobody has counted.
func TestCountOfAnOlderStore(t *testing.T) {
	store := newStore(t)
	s := withUnitPrices(newService(t, store))
	s.compactEvery = math.MaxInt
	o := newOrganization(t, s, Dollar)
	for range maxCounted + 10 {
		if _, err := s.Charge(t.Context(), Caller{Organization: o.ID}, tokens(1), nil); err != nil {
			t.Fatal(err)
		}
	}
	later := newService(t, store)
	for range 2 {
		if err := later.Count(t.Context(), o.ID); err != nil {
			t.Fatal(err)
		}
	}
	wantTotals(t, "organizations", totals(t, later, "", start.UTC().Format(monthFormat)).Organizations,
		map[string]Sums{o.ID: {Requests: maxCounted + 10, InputTokens: maxCounted + 10, Cost: maxCounted + 10}})
}

// TestCallsAreCountedInTheBackground looks at the totals of all a minute after a
// call, in a process that has not made it.
func TestCallsAreCountedInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		defer store.Close()
		all := replicasOf(t, 2, store)
		defer func() { closeAll(t, all) }()
		o := newOrganization(t, all[0], Dollar)
		month := time.Now().UTC().Format(monthFormat)
		if _, err := all[0].Charge(t.Context(), Caller{Organization: o.ID}, tokens(5), nil); err != nil {
			t.Fatal(err)
		}
		wantTotals(t, "at once", totals(t, all[1], "", month).Organizations, map[string]Sums{})
		time.Sleep(countEvery + time.Second)
		synctest.Wait()
		wantTotals(t, "later", totals(t, all[1], "", month).Organizations, map[string]Sums{o.ID: {Requests: 1, InputTokens: 5, Cost: 5}})
	})
}
