package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
	"github.com/seed-506d8e5d/svc/storage/storagetest"
)

// sharedStore is a store that several processes may have open.
type sharedStore struct{ storage.Store }

func (sharedStore) Shared() bool { return true }

// Unwrap has what else the store can do found, see package driver.
func (s sharedStore) Unwrap() any { return s.Store }

// replicasOf returns services on one store, as several processes have them.
func replicasOf(t *testing.T, n int, store storage.Store) []*Service {
	t.Helper()
	var all []*Service
	for range n {
		s, err := New(t.Context(), Options{Store: sharedStore{store}, Prices: map[string]Prices{"unit": {Input: Dollar}}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func closeAll(t *testing.T, all []*Service) {
	t.Helper()
	for _, s := range all {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestReplicasShareALedger has three processes charge one organization while a
// reader on each follows its usage. The sum is exact everywhere, and each reader
// sees each charge once.
func TestReplicasShareALedger(t *testing.T) {
	const charges = 100
	store := memstore.New()
	defer store.Close()
	all := replicasOf(t, 3, store)
	o := newOrganization(t, all[0], Dollar)
	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	seen := make([]map[int]int, len(all))
	for r, s := range all {
		s.compactEvery = 7
		seen[r] = map[int]int{}
		for w := range 2 {
			writers.Go(func() {
				for i := range charges {
					if _, err := s.Charge(t.Context(), Caller{Organization: o.ID}, tokens(1+i+charges*(w+2*r)), nil); err != nil {
						t.Error(err)
					}
				}
			})
		}
		readers.Go(func() { follow(t, s, o.ID, seen[r], stop) })
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	for r := range all {
		for n := 1; n <= 2*len(all)*charges; n++ {
			if seen[r][n] != 1 {
				t.Errorf("reader %d has seen charge %d %d times", r, n, seen[r][n])
			}
		}
	}
	n := Micros(2 * len(all) * charges)
	want := Dollar - n*(n+1)/2
	time.Sleep(lookEvery)
	for _, s := range all {
		wantBalance(t, s, o.ID, want)
	}
	closeAll(t, all)
	alone := newService(t, store)
	wantBalance(t, alone, o.ID, want)
	if got := sumOfEntries(t, store, o.ID); got != want {
		t.Errorf("the entries sum to %v, want %v", got, want)
	}
}

// follow reads on after what it has seen, and once more when it is stopped.
func follow(t *testing.T, s *Service, organization string, seen map[int]int, stop <-chan struct{}) {
	after, last := "", false
	for {
		got, err := s.Usage(t.Context(), organization, page.Params{Limit: 50, After: after})
		if err != nil {
			t.Error(err)
			return
		}
		for _, e := range got.Items {
			seen[e.Use.InputTokens]++
			after = e.ID
		}
		if got.HasMore {
			continue
		}
		if last {
			return
		}
		select {
		case <-stop:
			last = true
		case <-time.After(time.Millisecond):
		}
	}
}

// TestChangesReachOtherReplicas has one process change what another remembers.
func TestChangesReachOtherReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		defer store.Close()
		all := replicasOf(t, 2, store)
		defer closeAll(t, all)
		here, there := all[0], all[1]
		o := newOrganization(t, here, Dollar)
		key, err := here.CreateKey(t.Context(), NewKey{OrganizationID: o.ID})
		if err != nil {
			t.Fatal(err)
		}
		caller, err := there.Authenticate(t.Context(), key.Secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := there.Afford(t.Context(), caller); err != nil {
			t.Fatal(err)
		}
		limit, suspended := 7, Suspended
		if _, err := here.UpdateOrganization(t.Context(), o.ID, OrganizationUpdate{RequestsPerMinute: &limit}); err != nil {
			t.Fatal(err)
		}
		if _, err := here.Charge(t.Context(), Caller{Organization: o.ID}, tokens(int(Dollar)), nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if caller, err = there.Authenticate(t.Context(), key.Secret); err != nil || caller.RequestsPerMinute != limit {
			t.Errorf("after a new limit: got %+v, %v", caller, err)
		}
		if err := there.Afford(t.Context(), caller); !fault.Is(err, fault.NoCredits) {
			t.Errorf("after all was spent: got %v", err)
		}
		if _, err := here.UpdateOrganization(t.Context(), o.ID, OrganizationUpdate{Status: &suspended}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := there.Authenticate(t.Context(), key.Secret); !fault.Is(err, fault.Denied) {
			t.Errorf("after a suspension: got %v", err)
		}
		if err := here.RevokeKey(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := there.Authenticate(t.Context(), key.Secret); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("after a revocation: got %v", err)
		}
	})
}

// TestStartsAtOnce has processes start on an empty store at the same time, some
// with Bootstrap and some for a program of their own.
func TestStartsAtOnce(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	all := replicasOf(t, 4, store)
	defer closeAll(t, all)
	keys := make([]string, len(all))
	var starts sync.WaitGroup
	for i, s := range all {
		starts.Go(func() {
			if err := s.EnsureDefault(t.Context()); i%2 == 0 && err != nil {
				t.Error(err)
			}
		})
		starts.Go(func() {
			var err error
			if keys[i], err = s.Bootstrap(t.Context(), ""); err != nil {
				t.Error(err)
			}
		})
	}
	starts.Wait()
	stored, err := all[0].Keys(t.Context(), "", page.Params{})
	if err != nil || len(stored.Items) != 1 {
		t.Errorf("got %+v, %v, want one key", stored.Items, err)
	}
	made := 0
	for _, key := range keys {
		if key != "" {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d keys were shown, want 1", made)
	}
	wantBalance(t, newService(t, store), DefaultOrganization, defaultOrganizationCredits)
}

// uncertainStore says of each second commit that its outcome is unknown, and has
// written half of those.
type uncertainStore struct {
	storage.Store
	mu sync.Mutex
	n  int
}

func (u *uncertainStore) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	u.mu.Lock()
	u.n++
	n := u.n % 4
	u.mu.Unlock()
	if ns == system || n%2 == 0 {
		return u.Store.Update(ctx, ns, fn)
	}
	if n == 1 {
		if err := u.Store.Update(ctx, ns, fn); err != nil {
			return err
		}
	}
	return storage.ErrInDoubt
}

// TestChargesOfUnknownOutcome writes what may have been written again, once.
func TestChargesOfUnknownOutcome(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	s := withUnitPrices(newService(t, &uncertainStore{Store: store}))
	s.compactEvery = 3
	o := newOrganization(t, s, Dollar)
	for i := range 40 {
		also := func(tx storage.Tx) error {
			key := fmt.Appendf(nil, "v/%d", i)
			if _, err := tx.Get(key); !errors.Is(err, storage.ErrNotFound) {
				t.Errorf("charge %d is written twice: %v", i, err)
			}
			return tx.Set(key, nil)
		}
		if _, err := s.Charge(t.Context(), Caller{Organization: o.ID}, tokens(1), also); err != nil {
			t.Error(err)
		}
	}
	wantBalance(t, s, o.ID, Dollar-40)
	if got := sumOfEntries(t, store, o.ID); got != Dollar-40 {
		t.Errorf("the entries sum to %v, want %v", got, Dollar-40)
	}
}

// TestLedgersOfEarlierVersions reads a checkpoint, and entries after it, as they
// were written into the log before there were lanes.
func TestLedgersOfEarlierVersions(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	s := withUnitPrices(newService(t, store))
	o := newOrganization(t, s, 0)
	err := store.Update(t.Context(), storage.Namespace(o.ID), func(tx storage.Tx) error {
		err := tx.Set(checkpointKey(), []byte(`{"sequence":3,"balance":"0.001"}`))
		for n := uint64(1); n <= 5; n++ {
			entry, marshalErr := json.Marshal(entryRecord{Type: EntryCharge, Amount: -10, CreatedAt: 1})
			err = errors.Join(err, marshalErr, tx.Set(entryKey(n), entry))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s = withUnitPrices(newService(t, store))
	wantBalance(t, s, o.ID, 980)
	if _, err := s.Charge(t.Context(), Caller{Organization: o.ID}, tokens(1), nil); err != nil {
		t.Fatal(err)
	}
	if got := charged(t, s, o.ID).ID; got != entryID(o.ID, 6) {
		t.Errorf("the next entry is %s, want %s", got, entryID(o.ID, 6))
	}
	wantBalance(t, newService(t, store), o.ID, 979)
}

// TestCreditsAreAddedOnce asks for the same credits several times, at once and
// from two processes.
func TestCreditsAreAddedOnce(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	all := replicasOf(t, 2, store)
	defer closeAll(t, all)
	o := newOrganization(t, all[0], Dollar)
	replays := make([]bool, 8)
	var asked sync.WaitGroup
	for i := range replays {
		asked.Go(func() {
			var err error
			if _, replays[i], err = all[i%2].AddCreditsOnce(t.Context(), o.ID, 5, "payment"); err != nil {
				t.Error(err)
			}
		})
	}
	asked.Wait()
	first := 0
	for _, replayed := range replays {
		if !replayed {
			first++
		}
	}
	if first != 1 {
		t.Errorf("the credits were added %d times", first)
	}
	wantBalance(t, newService(t, store), o.ID, Dollar+5)
	_, _, err := all[0].AddCreditsOnce(t.Context(), o.ID, 6, "payment")
	wantFault(t, err, fault.Error{Kind: fault.Conflict, Code: CodeKeyReused})
	_, _, err = all[0].AddCreditsOnce(t.Context(), o.ID, 6, "two words")
	wantFault(t, err, invalid("Idempotency-Key"))
}

// TestAuditLogIsInTheOrderOfItsCommits has two processes with clocks that differ.
func TestAuditLogIsInTheOrderOfItsCommits(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	all := replicasOf(t, 2, store)
	defer closeAll(t, all)
	next := 100
	all[0].newID = func(prefix string) string { next++; return fmt.Sprintf("%s_%04d", prefix, next) }
	all[1].newID = func(prefix string) string { return prefix + "_0001" } // its clock is late, and stands
	o := newOrganization(t, all[0], 0)
	var names []string
	for i := range 6 {
		name := fmt.Sprint("name", i)
		if _, err := all[i%2].UpdateOrganization(t.Context(), o.ID, OrganizationUpdate{Name: &name}); err != nil {
			t.Fatal(err)
		}
		names = append(names, `{"name":"`+name+`"}`)
	}
	log, err := all[0].AuditLog(t.Context(), page.Params{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range log.Items[1:] {
		got = append(got, string(e.Change))
	}
	if fmt.Sprint(got) != fmt.Sprint(names) {
		t.Errorf("got %s, want %s", got, names)
	}
}

// TestLimitsHoldOverReplicas has clients use all that they may, on three processes
// evenly, or on one of them, or suddenly after a pause. In no minute is more than
// 1.1 times the limit let through, and in ten of them at least 0.9 of it.
func TestLimitsHoldOverReplicas(t *testing.T) {
	for _, c := range []struct {
		name    string
		limit   int
		reached int                   // processes
		times   int                   // that each is asked 50 times a second
		asks    func(second int) bool // whether clients ask in a second
	}{
		{"even", 600, 3, 1, func(int) bool { return true }},
		{"one-sided", 600, 1, 1, func(int) bool { return true }},
		{"small", 30, 3, 1, func(int) bool { return true }},
		{"now and then", 600, 3, 1, func(second int) bool { return second%7 < 3 }},
		{"in bursts", 600, 3, 20, func(second int) bool { return second%75 < 2 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memstore.New()
				defer store.Close()
				var all []*Service
				defer func() { closeAll(t, all) }()
				for n := range 3 {
					all = append(all, replicasOf(t, 1, store)...)
					time.Sleep(time.Duration(370*n) * time.Millisecond) // they do nothing at the same time
				}
				time.Sleep(2 * time.Second)
				caller := Caller{Organization: "org_1", RequestsPerMinute: c.limit}
				var seconds []int
				for second := range 60 * 10 {
					admitted := 0
					for range 50 {
						for _, s := range all[:c.reached] {
							for range c.times {
								if !c.asks(second) {
									break
								}
								if _, err := s.Admit(caller); err == nil {
									admitted++
								}
							}
						}
						time.Sleep(time.Second / 50)
					}
					seconds = append(seconds, admitted)
				}
				most, sum := 0, 0
				for i, admitted := range seconds {
					sum += admitted
					if i >= 60 {
						sum -= seconds[i-60]
					}
					most = max(most, sum)
				}
				all10 := 0
				for _, admitted := range seconds {
					all10 += admitted
				}
				t.Logf("%s: of a limit of %d a minute %d were let through in ten minutes, and at most %d in one", c.name, c.limit, all10, most)
				if most > c.limit*11/10 {
					t.Errorf("%d requests in a minute of a limit of %d", most, c.limit)
				}
				if all10 < 10*c.limit*9/10 && c.asks(4) {
					t.Errorf("only %d requests in ten minutes of a limit of %d", all10, c.limit)
				}
			})
		})
	}
}

// TestAProcessKnowsTheFirstCreditsOfAnother starts two at the same time, of which
// one reads the balance before the other gives the credits, and then finds them
// given: its callers are not told that there are none.
func TestAProcessKnowsTheFirstCreditsOfAnother(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	all := replicasOf(t, 2, store)
	defer closeAll(t, all)
	if balance, err := all[1].Balance(t.Context(), DefaultOrganization); balance != 0 || err != nil {
		t.Fatalf("the balance of nobody is %v, %v", balance, err)
	}
	if _, err := all[0].Bootstrap(t.Context(), "dev"); err != nil {
		t.Fatal(err)
	}
	if err := all[1].grantFirst(t.Context()); err != nil {
		t.Fatal(err)
	}
	if balance, err := all[1].Balance(t.Context(), DefaultOrganization); balance != defaultOrganizationCredits || err != nil {
		t.Errorf("the balance is %v, %v", balance, err)
	}
}

// TestAStoreThatLosesCharges goes on without its last commits. The balance is that of
// the entries which are there, on the process that had charged, too, and a reader
// who goes on after an entry that was lost meets all that come later.
func TestAStoreThatLosesCharges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &storagetest.Lossy{Store: memstore.New()}
		defer store.Close()
		all := replicasOf(t, 2, store)
		defer closeAll(t, all)
		here, there := all[0], all[1]
		o := newOrganization(t, here, Dollar)
		charge := func(s *Service, object string) {
			t.Helper()
			use := tokens(100)
			use.Object = object
			if _, err := s.Charge(t.Context(), Caller{Organization: o.ID}, use, nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		charge(here, "a")
		commits := store.Commits()
		charge(here, "b")
		charge(here, "c")
		read, err := there.Usage(t.Context(), o.ID, page.Params{Limit: 10})
		if err != nil || len(read.Items) != 3 {
			t.Fatalf("got %v, %v", read.Items, err)
		}
		if err := store.Lose(t.Context(), commits); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		charge(there, "d")
		charge(here, "e")
		for n, s := range all {
			if balance, err := s.Balance(t.Context(), o.ID); err != nil || balance != Dollar-300 {
				t.Errorf("the balance at %d is %s, %v", n, balance, err)
			}
		}
		after, err := here.Usage(t.Context(), o.ID, page.Params{Limit: 10, After: read.Items[2].ID})
		var objects []string
		for _, e := range after.Items {
			objects = append(objects, e.Use.Object)
		}
		// That the first one stands behind again is because its place was lost.
		if err != nil || !slices.Equal(objects, []string{"a", "d", "e"}) {
			t.Errorf("behind the last entry that was read come %q, %v", objects, err)
		}
	})
}
