package accounts

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

func overBudget() fault.Error {
	return fault.Error{Kind: fault.NoCredits, Code: CodeBudgetExceeded}
}

// withKey creates an organization and a key with limits, and returns the key's
// caller.
func withKey(t *testing.T, s *Service, limits KeyLimits) (APIKey, Caller) {
	t.Helper()
	o := newOrganization(t, s, Dollar)
	k := newKey(t, s, NewKey{OrganizationID: o.ID, KeyLimits: limits})
	return k, as(t, s, k)
}

func as(t *testing.T, s *Service, k APIKey) Caller {
	t.Helper()
	c, err := s.Authenticate(t.Context(), k.Secret)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func spend(t *testing.T, s *Service, c Caller, n int) {
	t.Helper()
	if _, err := s.Charge(t.Context(), c, tokens(n), nil); err != nil {
		t.Fatal(err)
	}
}

func wantSpent(t *testing.T, s *Service, k APIKey, want Micros) {
	t.Helper()
	keys, err := s.Keys(t.Context(), k.OrganizationID, page.Params{})
	if err != nil || len(keys.Items) != 1 || keys.Items[0].Spent != want {
		t.Errorf("keys: got %+v, %v, want one that has spent %v", keys.Items, err, want)
	}
}

// TestBudgetOfAKey spends a budget, waits for the next period, and spends it again.
func TestBudgetOfAKey(t *testing.T) {
	for period, next := range map[Period]time.Time{
		Day:   time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC),
		Month: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
	} {
		t.Run(string(period), func(t *testing.T) {
			now := time.Date(2026, 11, 22, 13, 0, 0, 0, time.UTC)
			store := newStore(t)
			s := withUnitPrices(newService(t, store))
			s.now = func() time.Time { return now }
			k, c := withKey(t, s, KeyLimits{Budget: 10, BudgetPeriod: period})
			spend(t, s, c, 9)
			if err := s.Afford(t.Context(), c); err != nil {
				t.Errorf("below the budget: %v", err)
			}
			spend(t, s, c, 5)
			wantFault(t, s.Afford(t.Context(), c), overBudget())
			wantSpent(t, s, k, 14)
			other := c
			other.Key, other.KeyLimits = "key_other", KeyLimits{}
			if err := s.Afford(t.Context(), other); err != nil {
				t.Errorf("another key: %v", err)
			}

			// A process that starts knows it, before it is counted and after.
			for range 2 {
				again := newService(t, store)
				again.now = s.now
				wantFault(t, again.Afford(t.Context(), c), overBudget())
				if err := again.catchUp(t.Context(), c.Organization); err != nil {
					t.Fatal(err)
				}
			}
			now = next.Add(-time.Second)
			wantFault(t, s.Afford(t.Context(), c), overBudget())
			now = next
			if err := s.Afford(t.Context(), c); err != nil {
				t.Errorf("in the next period: %v", err)
			}
			wantSpent(t, s, k, 0)
			spend(t, s, c, 10)
			wantFault(t, s.Afford(t.Context(), c), overBudget())
		})
	}
}

// TestBudgetOfAKeyIsChanged takes a budget away and gives another: what was spent
// before counts.
func TestBudgetOfAKeyIsChanged(t *testing.T) {
	s := withUnitPrices(newService(t, newStore(t)))
	k, c := withKey(t, s, KeyLimits{})
	spend(t, s, c, 100)
	budget := Micros(100)
	got, err := s.UpdateKey(t.Context(), k.ID, KeyUpdate{Budget: &budget})
	if err != nil || got.Spent != 100 || got.KeyLimits != (KeyLimits{Budget: 100, BudgetPeriod: Month}) {
		t.Errorf("got %+v, %v", got, err)
	}
	c = as(t, s, k)
	wantFault(t, s.Afford(t.Context(), c), overBudget())
	budget = 0
	if got, err = s.UpdateKey(t.Context(), k.ID, KeyUpdate{Budget: &budget}); err != nil || got.KeyLimits != (KeyLimits{}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := s.Afford(t.Context(), as(t, s, k)); err != nil {
		t.Error(err)
	}
	_, err = s.UpdateKey(t.Context(), "key_none", KeyUpdate{})
	wantFault(t, err, fault.Error{Kind: fault.NotFound, Code: CodeKeyNotFound})
	budget = -1
	_, err = s.UpdateKey(t.Context(), k.ID, KeyUpdate{Budget: &budget})
	wantFault(t, err, invalid("budget"))
	year := Period("year")
	_, err = s.UpdateKey(t.Context(), k.ID, KeyUpdate{BudgetPeriod: &year})
	wantFault(t, err, invalid("budget_period"))
}

// TestBudgetAcrossReplicas spends a budget in two processes at once. Each knows
// within a second what the other has spent, and none counts anything twice.
func TestBudgetAcrossReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		defer store.Close()
		all := replicasOf(t, 2, store)
		defer func() { closeAll(t, all) }()
		k, c := withKey(t, all[0], KeyLimits{Budget: 1000, BudgetPeriod: Month})
		var running sync.WaitGroup
		for _, s := range all {
			s.compactEvery = 7
			running.Go(func() {
				for range 50 {
					if err := s.Afford(t.Context(), c); err != nil {
						t.Error(err)
					}
					spend(t, s, c, 5)
				}
			})
		}
		running.Wait()
		time.Sleep(time.Second)
		for _, s := range all {
			wantSpent(t, s, k, 500)
		}
		spend(t, all[0], c, 500)
		time.Sleep(time.Second)
		wantFault(t, all[1].Afford(t.Context(), c), overBudget())
	})
}

// TestAnOperationEndsWithItsBudget has one run while others spend the budget.
func TestAnOperationEndsWithItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		defer store.Close()
		all := replicasOf(t, 1, store)
		defer func() { closeAll(t, all) }()
		_, c := withKey(t, all[0], KeyLimits{Budget: 10})
		c.KeyLimits.BudgetPeriod = Month
		ctx, done := all[0].Running(t.Context(), c)
		defer done()
		spend(t, all[0], c, 10)
		began := time.Now()
		<-ctx.Done()
		wantFault(t, Cause(ctx, context.Canceled), overBudget())
		if took := time.Since(began); took > time.Second {
			t.Errorf("it ended %v later", took)
		}
	})
}

// TestLimitsOfAKey has two keys of an organization: the limits of one are not the
// other's, and what a key is refused does not count for its organization.
func TestLimitsOfAKey(t *testing.T) {
	s := withUnitPrices(newService(t, newStore(t)))
	o, err := s.CreateOrganization(t.Context(), NewOrganization{Name: "Acme", Credits: Dollar, RequestsPerMinute: 3})
	if err != nil {
		t.Fatal(err)
	}
	slow := as(t, s, newKey(t, s, NewKey{OrganizationID: o.ID, KeyLimits: KeyLimits{RequestsPerMinute: 1, TokensPerMinute: 10}}))
	fast := as(t, s, newKey(t, s, NewKey{OrganizationID: o.ID}))
	admit := func(c Caller, want int) {
		t.Helper()
		q, err := s.Admit(c)
		if err != nil || q.Requests.Remaining != want {
			t.Errorf("got %+v, %v, want %d left", q, err, want)
		}
	}
	admit(slow, 0)
	for range 3 {
		_, err := s.Admit(slow)
		wantFault(t, err, fault.Error{Kind: fault.RateLimited, Code: CodeRateLimited, RetryAfter: minute})
	}
	admit(fast, 1)
	admit(fast, 0)
	_, err = s.Admit(fast)
	wantFault(t, err, fault.Error{Kind: fault.RateLimited, Code: CodeRateLimited, RetryAfter: minute})
	spend(t, s, slow, 10)
	wantFault(t, s.Afford(t.Context(), slow), fault.Error{Kind: fault.RateLimited, Code: CodeRateLimited, RetryAfter: minute})
	if err := s.Afford(t.Context(), fast); err != nil {
		t.Error(err)
	}
}

// TestAnOperationThatBeginsWhileOthersEnd is of a key that was revoked when it was
// authenticated already, and stands beside one that has been told to end.
func TestAnOperationThatBeginsWhileOthersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		defer store.Close()
		all := replicasOf(t, 1, store)
		defer func() { closeAll(t, all) }()
		k, c := withKey(t, all[0], KeyLimits{})
		first, done := all[0].Running(t.Context(), c)
		defer done()
		if err := all[0].RevokeKey(t.Context(), k.ID); err != nil {
			t.Fatal(err)
		}
		<-first.Done()
		second, done := all[0].Running(t.Context(), c)
		defer done()
		select {
		case <-second.Done():
		case <-time.After(time.Second):
			t.Fatal("it runs on")
		}
		wantFault(t, Cause(second, context.Canceled), fault.Error{Kind: fault.Unauthenticated, Code: CodeInvalidKey})
	})
}
