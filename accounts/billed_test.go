package accounts

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// doubtful commits and says that it does not know whether it has, for as long as it
// is told to.
type doubtful struct {
	storage.Store
	doubt     bool
	committed func() // called behind a commit in doubt
}

func (d *doubtful) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	err := d.Store.Update(ctx, ns, fn)
	if err == nil && d.doubt && ns != system {
		d.committed()
		return storage.ErrInDoubt
	}
	return err
}

// TestAnObjectIsBilledOnce charges for a turn whose commit stays in doubt for longer
// than it is tried, and then, as whoever makes turns does, for the turn that failed.
func TestAnObjectIsBilledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &doubtful{Store: memstore.New(), committed: func() {}}
		defer store.Close()
		s := withUnitPrices(newService(t, store))
		c := Caller{Organization: newOrganization(t, s, Dollar).ID}
		use := tokens(10)
		use.Object = "resp_1"
		store.doubt = true
		if _, err := s.Charge(t.Context(), c, use, func(tx storage.Tx) error { return tx.Set([]byte("v/turn"), nil) }); err == nil {
			t.Error("nobody knows whether it was charged")
		}
		store.doubt = false
		s.ChargeCut(t.Context(), c, use)
		wantBalance(t, s, c.Organization, Dollar-10)
		use.Object = "resp_2"
		s.ChargeCut(t.Context(), c, use)
		wantBalance(t, s, c.Organization, Dollar-20)
		if got := sumOfEntries(t, store, c.Organization); got != Dollar-20 {
			t.Errorf("the entries sum to %v", got)
		}
	})
}

// TestAChargeIsDoneThoughWhatGoesWithItCannotBeDoneAgain charges again, in another
// process, for a turn that can be written once.
func TestAChargeIsDoneThoughWhatGoesWithItCannotBeDoneAgain(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	s := withUnitPrices(newService(t, store))
	c := Caller{Organization: newOrganization(t, s, Dollar).ID}
	use := tokens(10)
	use.Object = "resp_1"
	for range 2 {
		s = withUnitPrices(newService(t, store))
		if _, err := s.Charge(t.Context(), c, use, func(tx storage.Tx) error {
			if err := tx.Set([]byte("v/other"), []byte(s.cluster.ID())); err != nil {
				return err
			}
			if written, err := has(tx, []byte("v/turn")); written || err != nil {
				return cmp.Or(err, errors.New("the turn has ended"))
			}
			return tx.Set([]byte("v/turn"), []byte(s.cluster.ID()))
		}); err != nil {
			t.Error(err)
		}
		wantBalance(t, s, c.Organization, Dollar-10)
	}
	err := store.View(t.Context(), c.Namespace(), func(tx storage.Tx) error {
		turn, err := tx.Get([]byte("v/turn"))
		other, otherErr := tx.Get([]byte("v/other"))
		if string(turn) != string(other) {
			t.Error("the second call has written something")
		}
		return cmp.Or(err, otherErr)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestAnEntryInDoubtIsFoundBehindManyOthers that others have written and compacted
// before it is looked for.
func TestAnEntryInDoubtIsFoundBehindManyOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &doubtful{Store: memstore.New()}
		defer store.Close()
		s, other := withUnitPrices(newService(t, store)), withUnitPrices(newService(t, store.Store))
		c := Caller{Organization: newOrganization(t, s, Dollar).ID}
		const others = compactMost + 100
		store.committed = func() {
			store.doubt = false
			if err := other.compact(t.Context(), other.ledger(c.Organization)); err != nil {
				t.Error(err)
			}
			for range others {
				spend(t, other, c, 1)
			}
			other.ledger(c.Organization).loaded.Store(false)
			if err := other.compact(t.Context(), other.ledger(c.Organization)); err != nil {
				t.Error(err)
			}
		}
		store.doubt = true
		spend(t, s, c, 10)
		wantBalance(t, withUnitPrices(newService(t, store.Store)), c.Organization, Dollar-10-others)
	})
}

// away is a store that takes no write while it is away.
type away struct {
	storage.Store
	is atomic.Bool
}

func (a *away) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	if a.is.Load() {
		return storage.ErrUnavailable
	}
	return a.Store.Update(ctx, ns, fn)
}

// TestWhatTheStoreDidNotTakeIsChargedOnceItDoes has a store that is away for longer
// than a charge is tried.
func TestWhatTheStoreDidNotTakeIsChargedOnceItDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &away{Store: memstore.New()}
		defer store.Close()
		s := withUnitPrices(newService(t, store))
		c := Caller{Organization: newOrganization(t, s, Dollar).ID}
		store.is.Store(true)
		for range 2 {
			s.ChargeCut(t.Context(), c, tokens(10))
		}
		time.Sleep(time.Hour)
		wantBalance(t, s, c.Organization, Dollar)
		store.is.Store(false)
		time.Sleep(2 * lastUsedEvery)
		wantBalance(t, s, c.Organization, Dollar-20)
		if got := sumOfEntries(t, store, c.Organization); got != Dollar-20 {
			t.Errorf("the entries sum to %v", got)
		}
	})
}
