package accounts

import (
	"errors"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

func newFunded(t *testing.T) (*Service, string) {
	s := withUnitPrices(newService(t, newStore(t)))
	return s, newOrganization(t, s, Dollar).ID
}

func put(key string) func(storage.Tx) error {
	return func(tx storage.Tx) error { return tx.Set([]byte(key), nil) }
}

// stored are the keys of a namespace that begin with "test/".
func stored(t *testing.T, s *Service, ns string) (keys []string) {
	t.Helper()
	err := s.store.View(t.Context(), storage.Namespace(ns), func(tx storage.Tx) error {
		keys = nil
		for e, err := range tx.Scan(storage.Prefix([]byte("test/"))) {
			if err != nil {
				return err
			}
			keys = append(keys, string(e.Key))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestDeferredChargesAreWrittenWithTheResult(t *testing.T) {
	is := is.New(t)
	s, organization := newFunded(t)
	c := Caller{Organization: organization, Key: "key_1", Deferred: &Deferred{Share: 0.5}}
	_, err := s.Charge(t.Context(), c, tokens(11), put("test/also"))
	is.NoErr(err)
	s.ChargeCut(t.Context(), c, tokens(4))
	wantBalance(t, s, organization, Dollar)
	is.Equal(stored(t, s, organization), nil)

	refusal := errors.New("done by another process")
	is.Equal(s.ChargeDeferred(t.Context(), c, func(storage.Tx) error { return refusal }), refusal)
	is.Equal(stored(t, s, organization), nil)
	wantBalance(t, s, organization, Dollar)

	is.NoErr(s.ChargeDeferred(t.Context(), c, put("test/result")))
	is.Equal(stored(t, s, organization), []string{"test/also", "test/result"})
	wantBalance(t, s, organization, Dollar-6-2) // each rounded up
	usage, err := s.Usage(t.Context(), organization, page.Params{})
	is.NoErr(err)
	is.Equal(len(usage.Items), 2)
	is.Equal(usage.Items[0].Cost(), Micros(6))
	is.Equal(usage.Items[1].Use, tokens(4))
	is.Equal(sumOfEntries(t, s.store, organization), Dollar-8)
}

func TestDeferredWritesOfAFailedOperationAreDropped(t *testing.T) {
	is := is.New(t)
	s, organization := newFunded(t)
	c := Caller{Organization: organization, Deferred: &Deferred{}}
	_, err := s.Charge(t.Context(), c, tokens(7), put("test/also"))
	is.NoErr(err)
	c.Deferred.DropWrites()
	is.NoErr(s.ChargeDeferred(t.Context(), c, put("test/result")))
	is.Equal(stored(t, s, organization), []string{"test/result"})
	wantBalance(t, s, organization, Dollar-7)
}

func TestADeferredWithoutChargesWritesTheResultAlone(t *testing.T) {
	is := is.New(t)
	s, organization := newFunded(t)
	c := Caller{Organization: organization, Deferred: &Deferred{}}
	is.NoErr(s.ChargeDeferred(t.Context(), c, put("test/result")))
	is.Equal(stored(t, s, organization), []string{"test/result"})
	refusal := errors.New("done by another process")
	is.Equal(s.ChargeDeferred(t.Context(), c, func(storage.Tx) error { return refusal }), refusal)
}

func TestCallerForKey(t *testing.T) {
	is := is.New(t)
	s, organization := newFunded(t)
	key, err := s.CreateKey(t.Context(), NewKey{OrganizationID: organization, Name: "batch", Models: []string{"unit"}})
	is.NoErr(err)
	want, err := s.Authenticate(t.Context(), key.Secret)
	is.NoErr(err)
	got, err := s.CallerForKey(t.Context(), key.ID)
	is.NoErr(err)
	is.Equal(got, want)
	is.NoErr(s.RevokeKey(t.Context(), key.ID))
	_, err = s.CallerForKey(t.Context(), key.ID)
	is.Equal(err, errInvalidKey())
}
