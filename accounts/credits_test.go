package accounts

import (
	"testing"

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
			for range 2 {
				if err := later.Count(t.Context(), o.ID); err != nil {
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
		}
	}
}

// TestAnAcknowledgedGrantIsInTheAuditLog at once, also where it is asked for again.
func TestAnAcknowledgedGrantIsInTheAuditLog(t *testing.T) {
	s := newService(t, newStore(t))
	o := newOrganization(t, s, 0)
	for _, replayed := range []bool{false, true} {
		if _, again, err := s.As(Actor{By: "a test"}).AddCreditsOnce(t.Context(), o.ID, Dollar, "k"); err != nil || again != replayed {
			t.Fatal(again, err)
		}
		log, err := s.AuditLog(t.Context(), page.Params{})
		if err != nil {
			t.Fatal(err)
		}
		last := log.Items[len(log.Items)-1]
		if len(log.Items) != 2 || last.Action != ActionAddCredits || last.Subject != o.ID || last.By != "a test" || string(last.Change) != `{"amount":"1"}` {
			t.Errorf("got %+v", log.Items)
		}
	}
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
