package accounts

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

var (
	faultInvalidKey = fault.Error{Kind: fault.Unauthenticated, Code: CodeInvalidKey}
	faultSuspended  = fault.Error{Kind: fault.Denied, Code: CodeSuspended}
	faultLookup     = fault.Error{Kind: fault.Unavailable, Code: CodeAuthorizationFailed, RetryAfter: lookupRetry}
)

func suspend(t testing.TB, s *Service, id string) {
	t.Helper()
	status := Suspended
	if _, err := s.UpdateOrganization(t.Context(), id, OrganizationUpdate{Status: &status}); err != nil {
		t.Fatal(err)
	}
}

func TestAuthenticateAccepts(t *testing.T) {
	s := newService(t, newStore(t))
	o := newOrganization(t, s, 0)
	retention := true
	if _, err := s.UpdateOrganization(t.Context(), o.ID, OrganizationUpdate{ZeroDataRetention: &retention}); err != nil {
		t.Fatal(err)
	}
	k := newKey(t, s, NewKey{OrganizationID: o.ID, Models: []string{"svc-preview"}})
	want := Caller{Organization: o.ID, Key: k.ID, Models: []string{"svc-preview"}, ZeroDataRetention: true}
	for _, when := range []string{"looked up", "remembered"} {
		got, err := s.Authenticate(t.Context(), k.Secret)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", when, got, err, want)
		}
	}
}

func TestAuthenticateRefuses(t *testing.T) {
	s := newService(t, newStore(t))
	o, closed := newOrganization(t, s, 0), newOrganization(t, s, 0)
	good := newKey(t, s, NewKey{OrganizationID: o.ID}).Secret
	revoked := newKey(t, s, NewKey{OrganizationID: o.ID})
	if err := s.RevokeKey(t.Context(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	suspend(t, s, closed.ID)
	for name, test := range map[string]struct {
		key  string
		want fault.Error
	}{
		"missing":              {"", faultInvalidKey},
		"with a space":         {good + " ", faultInvalidKey},
		"not ASCII":            {good + "é", faultInvalidKey},
		"too long":             {strings.Repeat("k", 257), faultInvalidKey},
		"unknown":              {newSecret(), faultInvalidKey},
		"beginning of another": {good[:len(good)-1], faultInvalidKey},
		"revoked":              {revoked.Secret, faultInvalidKey},
		"no organization":      {newKey(t, s, NewKey{}).Secret, fault.Error{Kind: fault.Denied, Code: CodeAccessDenied}},
		"suspended":            {newKey(t, s, NewKey{OrganizationID: closed.ID}).Secret, faultSuspended},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				got, err := s.Authenticate(t.Context(), test.key)
				wantFault(t, err, test.want)
				if !reflect.DeepEqual(got, Caller{}) {
					t.Errorf("got caller %+v with the error", got)
				}
			}
		})
	}
}

func TestAuthenticateWhenTheStoreFails(t *testing.T) {
	store := &brittleStore{Store: newStore(t)}
	s := newService(t, store)
	o := newOrganization(t, s, 0)
	known := newKey(t, s, NewKey{OrganizationID: o.ID}).Secret
	other := newKey(t, s, NewKey{OrganizationID: o.ID}).Secret
	if _, err := s.Authenticate(t.Context(), known); err != nil {
		t.Fatal(err)
	}
	store.before = failing
	if _, err := s.Authenticate(t.Context(), known); err != nil {
		t.Errorf("a remembered key: %v", err)
	}
	_, err := s.Authenticate(t.Context(), other)
	wantFault(t, err, faultLookup)
	store.before = nil
	if _, err := s.Authenticate(t.Context(), other); err != nil {
		t.Errorf("after the failure: %v", err)
	}
}

func TestAuthenticateWhenTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &brittleStore{Store: newStore(t)}
		s := newService(t, store)
		key := newKey(t, s, NewKey{OrganizationID: newOrganization(t, s, 0).ID}).Secret
		store.before = func(storage.Namespace) error {
			time.Sleep(lookupTimeout + 1)
			return nil
		}
		_, err := s.Authenticate(t.Context(), key)
		wantFault(t, err, faultLookup)
	})
}

func TestAuthenticateWhenTheContextEnds(t *testing.T) {
	s := newService(t, newStore(t))
	key := newKey(t, s, NewKey{OrganizationID: newOrganization(t, s, 0).ID}).Secret
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Authenticate(canceled, key)
	wantFault(t, err, fault.Error{Kind: fault.Canceled, Code: "request_canceled"})
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	_, err = s.Authenticate(late, key)
	wantFault(t, err, faultLookup)
}

func TestChangesHoldAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		change func(s *Service, k APIKey)
		want   fault.Error
	}{
		"revoked":   {func(s *Service, k APIKey) { _ = s.RevokeKey(t.Context(), k.ID) }, faultInvalidKey},
		"suspended": {func(s *Service, k APIKey) { suspend(t, s, k.OrganizationID) }, faultSuspended},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, newStore(t))
			k := newKey(t, s, NewKey{OrganizationID: newOrganization(t, s, 0).ID})
			if _, err := s.Authenticate(t.Context(), k.Secret); err != nil {
				t.Fatal(err)
			}
			stop := make(chan struct{})
			var readers sync.WaitGroup
			for range 4 {
				readers.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
							_, _ = s.Authenticate(t.Context(), k.Secret)
						}
					}
				})
			}
			test.change(s, k)
			for range 100 {
				_, err := s.Authenticate(t.Context(), k.Secret)
				wantFault(t, err, test.want)
			}
			close(stop)
			readers.Wait()
		})
	}
}

// lateStore holds back the result of the next View until it is released.
type lateStore struct {
	storage.Store
	hold          atomic.Bool
	read, release chan struct{}
}

func (l *lateStore) View(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	err := l.Store.View(ctx, ns, fn)
	if l.hold.CompareAndSwap(true, false) {
		close(l.read)
		<-l.release
	}
	return err
}

func TestALookupThatARevocationOvertookIsNotRemembered(t *testing.T) {
	store := &lateStore{Store: newStore(t), read: make(chan struct{}), release: make(chan struct{})}
	s := newService(t, store)
	k := newKey(t, s, NewKey{OrganizationID: newOrganization(t, s, 0).ID})

	store.hold.Store(true)
	var lookup sync.WaitGroup
	lookup.Go(func() { _, _ = s.Authenticate(t.Context(), k.Secret) })
	<-store.read
	if err := s.RevokeKey(t.Context(), k.ID); err != nil {
		t.Fatal(err)
	}
	close(store.release)
	lookup.Wait()
	_, err := s.Authenticate(t.Context(), k.Secret)
	wantFault(t, err, faultInvalidKey)
}

func TestRememberedKeysAreBounded(t *testing.T) {
	g := &grants{byID: map[keyHash]*grant{}}
	for i := range maxGrants + 10 {
		g.put(keyHash{byte(i), byte(i >> 8), byte(i >> 16)}, &grant{})
	}
	if got := len(g.byID); got != 10 {
		t.Errorf("%d keys are remembered, want 10", got)
	}
}

func TestCallerFor(t *testing.T) {
	s := newService(t, newStore(t))
	o := newOrganization(t, s, 0)
	got, err := s.CallerFor(t.Context(), o.ID)
	if want := (Caller{Organization: o.ID}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if got := got.Namespace(); got != storage.Namespace(o.ID) {
		t.Errorf("namespace: got %q, want %q", got, o.ID)
	}
	suspend(t, s, o.ID)
	_, err = s.CallerFor(t.Context(), o.ID)
	wantFault(t, err, faultSuspended)
	_, err = s.CallerFor(t.Context(), "org_none")
	wantFault(t, err, fault.Error{Kind: fault.NotFound, Code: CodeOrganizationNotFound})
}

func TestAllow(t *testing.T) {
	denied := fault.Error{Kind: fault.Denied, Code: CodeModelAccess, Param: "model"}
	for _, test := range []struct {
		models []string
		want   *fault.Error
	}{
		{nil, nil},
		{[]string{"a", "b"}, nil},
		{[]string{"a"}, &denied},
		{[]string{}, &denied},
	} {
		err := Caller{Models: test.models}.Allow("b")
		if test.want != nil {
			wantFault(t, err, *test.want)
		} else if err != nil {
			t.Errorf("%v: got %v, want nil", test.models, err)
		}
	}
}

func TestLastUseIsWrittenOncePerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		s, err := New(t.Context(), Options{Store: store})
		if err != nil {
			t.Fatal(err)
		}
		k := newKey(t, s, NewKey{OrganizationID: newOrganization(t, s, 0).ID})
		begin := time.Now().Unix()
		lastUsed := func() int64 {
			keys, err := s.Keys(t.Context(), "", page.Params{})
			if err != nil || len(keys.Items) != 1 {
				t.Fatalf("Keys: got %+v, %v", keys, err)
			}
			return keys.Items[0].LastUsedAt
		}
		use := func() {
			if _, err := s.Authenticate(t.Context(), k.Secret); err != nil {
				t.Fatal(err)
			}
		}
		var got []int64
		got = append(got, lastUsed())
		use()
		time.Sleep(10 * time.Second)
		use()
		synctest.Wait()
		got = append(got, lastUsed())
		time.Sleep(time.Minute)
		synctest.Wait()
		got = append(got, lastUsed())
		use()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		got = append(got, lastUsed())
		if want := []int64{0, begin, begin, begin + 70}; !reflect.DeepEqual(got, want) {
			t.Errorf("before use, noted, after a minute, after Close: got %v, want %v", got, want)
		}
	})
}

func TestLastUseSurvivesAFailedWrite(t *testing.T) {
	store := &brittleStore{Store: newStore(t)}
	s := newService(t, store)
	k := newKey(t, s, NewKey{OrganizationID: newOrganization(t, s, 0).ID})
	gone := newKey(t, s, NewKey{OrganizationID: k.OrganizationID})
	for _, key := range []APIKey{k, gone} {
		if _, err := s.Authenticate(t.Context(), key.Secret); err != nil {
			t.Fatal(err)
		}
	}
	store.before = failing
	if err := s.flushLastUsed(t.Context()); err == nil {
		t.Error("the failure of the store was not reported")
	}
	store.before = nil
	if err := s.RevokeKey(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.flushLastUsed(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := k
	want.Secret, want.LastUsedAt = "", start.Unix()
	keys, err := s.Keys(t.Context(), "", page.Params{})
	if err != nil || !reflect.DeepEqual(keys.Items, []APIKey{want}) {
		t.Errorf("got %+v, %v, want %+v", keys.Items, err, want)
	}
	rest := 0
	err = store.View(t.Context(), system, func(tx storage.Tx) error {
		for range tx.Scan(storage.Prefix([]byte(lastUsedPrefix))) {
			rest++
		}
		return nil
	})
	if err != nil || rest != 1 {
		t.Errorf("%d times are stored, %v, want that of one key", rest, err)
	}
}

func BenchmarkAuthenticateCached(b *testing.B) {
	s := newService(b, newStore(b))
	key := newKey(b, s, NewKey{OrganizationID: newOrganization(b, s, 0).ID}).Secret
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Authenticate(b.Context(), key); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAuthenticateUncached(b *testing.B) {
	s := newService(b, newStore(b))
	key := newKey(b, s, NewKey{OrganizationID: newOrganization(b, s, 0).ID}).Secret
	b.ReportAllocs()
	for b.Loop() {
		s.forget()
		if _, err := s.Authenticate(b.Context(), key); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHash(b *testing.B) {
	key := newSecret()
	for b.Loop() {
		hashOf(key)
	}
}
