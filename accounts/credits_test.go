package accounts

import (
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// TestGrantsAndTheAuditLogAgree has each transaction of a grant fail, before and
// after its commit, as where the process dies. Once what was interrupted is
// settled, the log has the grants whose credits were added, each once.
func TestGrantsAndTheAuditLogAgree(t *testing.T) {
	for _, committed := range []bool{false, true} {
		for fails := 1; fails <= 6; fails++ {
			store := &brittleStore{Store: newStore(t)}
			s := newService(t, store)
			now := start
			s.now = func() time.Time { return now }
			o := newOrganization(t, s, 0)
			updates := 0
			hook := func(storage.Namespace) error {
				if updates++; updates >= fails {
					return errDisk
				}
				return nil
			}
			if committed {
				store.after = hook
			} else {
				store.before = hook
			}
			_, err := s.As(Actor{By: "a test"}).AddCredits(t.Context(), o.ID, Dollar)
			store.before, store.after = nil, nil

			later := newService(t, store)
			later.now = func() time.Time { return now.Add(settleAfter) }
			for range 2 {
				if err := later.SettleGrants(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			balance, failed := later.Balance(t.Context(), o.ID)
			if failed != nil {
				t.Fatal(failed)
			}
			log, failed := later.AuditLog(t.Context(), page.Params{})
			if failed != nil {
				t.Fatal(failed)
			}
			grants := 0
			for _, e := range log.Items {
				if e.Action == ActionAddCredits {
					grants++
					if e.By != "a test" {
						t.Errorf("it was asked for by %q", e.By)
					}
				}
			}
			if balance != Micros(grants)*Dollar || grants > 1 {
				t.Errorf("failing at %d (committed %v), %v: the balance is %v, and the audit log has %d grants", fails, committed, err, balance, grants)
			}
			if err == nil && grants != 1 {
				t.Errorf("failing at %d (committed %v): no error, and %d grants", fails, committed, grants)
			}
			err = later.store.View(t.Context(), system, func(tx storage.Tx) error {
				empty, err := none(tx, storage.Prefix([]byte(pendingPrefix)))
				if !empty {
					t.Errorf("failing at %d: a grant is still pending", fails)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// TestLateCreditsAreNotAdded settles a grant as never made before its credits are
// added: they are refused.
func TestLateCreditsAreNotAdded(t *testing.T) {
	store := &brittleStore{Store: newStore(t)}
	s := newService(t, store)
	o := newOrganization(t, s, 0)
	later := newService(t, store)
	later.now = func() time.Time { return start.Add(settleAfter) }
	settled := false
	store.after = func(ns storage.Namespace) error {
		if ns == system && !settled {
			settled = true // the grant is pending now
			return later.SettleGrants(t.Context())
		}
		return nil
	}
	if _, err := s.AddCredits(t.Context(), o.ID, Dollar); err == nil {
		t.Error("the credits were added")
	}
	wantBalance(t, newService(t, store), o.ID, 0)
}

// TestLedgerHasCredits reads charges and credits in one list, with who gave them.
func TestLedgerHasCredits(t *testing.T) {
	s := withUnitPrices(newService(t, newStore(t)))
	o := newOrganization(t, s, Dollar)
	spend(t, s, Caller{Organization: o.ID, Key: "key_a"}, 5)
	if _, err := s.As(Actor{By: "console 192.0.2.1"}).AddCredits(t.Context(), o.ID, -3); err != nil {
		t.Fatal(err)
	}
	got, err := s.Ledger(t.Context(), o.ID, page.Params{})
	if err != nil || len(got.Items) != 3 {
		t.Fatalf("got %+v, %v, want three entries", got, err)
	}
	for i, want := range []Entry{
		{Type: EntryCredit, Amount: Dollar}, {Type: EntryCharge, Amount: -5}, {Type: EntryCredit, Amount: -3, By: "console 192.0.2.1"},
	} {
		if e := got.Items[i]; e.Type != want.Type || e.Amount != want.Amount || e.By != want.By || e.CreatedAt != start.Unix() {
			t.Errorf("entry %d: got %+v, want %+v", i, e, want)
		}
	}
}
