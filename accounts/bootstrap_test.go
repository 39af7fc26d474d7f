package accounts

import (
	"reflect"
	"testing"

	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

func bootstrap(t *testing.T, s *Service, key string) string {
	t.Helper()
	created, err := s.Bootstrap(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// wantDefault fails the test unless the key is accepted for the organization
// default, which has that many keys and its first credits.
func wantDefault(t *testing.T, s *Service, key string, keys int) {
	t.Helper()
	if c, err := s.Authenticate(t.Context(), key); err != nil || c.Organization != DefaultOrganization {
		t.Errorf("key %q: got %+v, %v", key, c, err)
	}
	want := Organization{ID: "org_default", Name: "default", Status: Active, Credits: 1000 * Dollar, CreatedAt: start.Unix()}
	got, err := s.Organizations(t.Context(), page.Params{})
	if err != nil || !reflect.DeepEqual(got.Items, []Organization{want}) {
		t.Errorf("organizations: got %+v, %v, want %+v", got.Items, err, want)
	}
	list, err := s.Keys(t.Context(), DefaultOrganization, page.Params{})
	if err != nil || len(list.Items) != keys {
		t.Errorf("got %d keys, %v, want %d", len(list.Items), err, keys)
	}
}

func TestBootstrapMakesAKeyOnce(t *testing.T) {
	store := newStore(t)
	key := bootstrap(t, newService(t, store), "")
	wantDefault(t, newService(t, store), key, 1)
	if again := bootstrap(t, newService(t, store), ""); again != "" {
		t.Errorf("the second start made the key %q", again)
	}
	wantDefault(t, newService(t, store), key, 1)
}

func TestBootstrapTakesAKey(t *testing.T) {
	store := newStore(t)
	s := newService(t, store)
	for _, key := range []string{"dev", "dev", "another-key", ""} {
		if created := bootstrap(t, s, key); created != "" {
			t.Errorf("given %q it made %q", key, created)
		}
	}
	wantDefault(t, s, "dev", 2)
	wantDefault(t, s, "another-key", 2)
}

func TestBootstrapLeavesAKeyWithItsOrganization(t *testing.T) {
	s := newService(t, newStore(t))
	o := newOrganization(t, s, 0)
	key := newKey(t, s, NewKey{OrganizationID: o.ID}).Secret
	bootstrap(t, s, key)
	if c, err := s.Authenticate(t.Context(), key); err != nil || c.Organization != o.ID {
		t.Errorf("got %+v, %v, want a caller of %s", c, err, o.ID)
	}
}

func TestBootstrapGivesCreditsOnce(t *testing.T) {
	store := &brittleStore{Store: newStore(t)}
	s := newService(t, store)
	store.after = failing // the credits are written, and then the process dies
	if _, err := s.Bootstrap(t.Context(), "dev"); err == nil {
		t.Fatal("Bootstrap did not fail")
	}
	store.after = nil
	store.before = func(ns storage.Namespace) error {
		if ns == system {
			return errDisk
		}
		return nil
	}
	if _, err := s.Bootstrap(t.Context(), "dev"); err == nil {
		t.Fatal("Bootstrap did not fail")
	}
	store.before = nil
	bootstrap(t, s, "dev")
	wantDefault(t, s, "dev", 1)
}

func TestBootstrapAfterAllKeysWereRevoked(t *testing.T) {
	s := newService(t, newStore(t))
	bootstrap(t, s, "")
	keys, err := s.Keys(t.Context(), "", page.Params{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RevokeKey(t.Context(), keys.Items[0].ID); err != nil {
		t.Fatal(err)
	}
	wantDefault(t, s, bootstrap(t, s, ""), 1)
}

func TestBootstrapRefusesWhatCannotBeAKey(t *testing.T) {
	s := newService(t, newStore(t))
	for _, key := range []string{" ", "two words", "schlüssel", "line\n"} {
		_, err := s.Bootstrap(t.Context(), key)
		wantFault(t, err, invalid("api_key"))
	}
}
