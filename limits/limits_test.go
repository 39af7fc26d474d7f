package limits

import (
	"errors"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/cluster"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// newTestService returns a service over a store in memory, and its clock.
func newTestService(t *testing.T) (*Service, *storage.DB, *time.Time) {
	t.Helper()
	now := time.Unix(1_700_000_000, 0)
	store := memstore.New()
	db := storage.Use(store)
	member, err := cluster.Join(t.Context(), cluster.Options{Store: db})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(member.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return New(db, member, func() time.Time { return now }), db, &now
}

// TestAdmitCountsForAllOrNobody: what a key is refused does not count for its
// organization.
func TestAdmitCountsForAllOrNobody(t *testing.T) {
	is := is.New(t)
	s, _, now := newTestService(t)
	organization, key := Subject{ID: "org_1", Name: "The organization's", Requests: 3}, Subject{ID: "key_1", Name: "The API key's", Requests: 1, Tokens: 10}
	quotas, err := s.Admit(organization, key)
	is.NoErr(err)
	is.Equal(quotas, Quotas{Quota{Limit: 1, Reset: 61 * time.Second}, Quota{Limit: 10, Remaining: 10}})
	_, err = s.Admit(organization, key)
	is.True(fault.Is(err, fault.RateLimited))
	is.Equal(fault.From(err).Message, "The API key's limit of 1 requests per minute is reached. Try again later.")
	quotas, err = s.Admit(organization, Subject{ID: "key_2"})
	is.NoErr(err)
	is.Equal(quotas.Requests.Remaining, 1)

	s.SpendTokens(25, organization, key)
	is.True(fault.Is(s.CheckTokens(organization, key), fault.RateLimited))
	*now = now.Add(windowSlots * time.Second)
	is.True(fault.Is(s.CheckTokens(organization, key), fault.RateLimited)) // it owes another minute
	*now = now.Add(2 * windowSlots * time.Second)
	is.NoErr(s.CheckTokens(organization, key))
	s.Forget("org_1")
}

// TestExchange has the records of other processes, of which one cannot be read.
func TestExchange(t *testing.T) {
	is := is.New(t)
	s, db, now := newTestService(t)
	write := func(process, record string) {
		is.NoErr(db.Update(t.Context(), system, func(tx storage.Tx) error { return tx.Set(recordKey(process), []byte(record)) }))
	}
	organization := Subject{ID: "org_1", Requests: 10}
	remaining := func() int {
		quotas, err := s.Admit(organization)
		is.NoErr(err)
		return quotas.Requests.Remaining
	}
	write("p1", `{"org_1":{"r":100,"lr":2}}`)
	write("p2", `["not a record"]`)
	is.NoErr(s.Exchange(t.Context())) // collects
	is.Equal(remaining(), 7)          // of the last minute of others, and its own
	is.NoErr(s.Exchange(t.Context())) // publishes, and removes the records of processes that are gone
	var own, others int
	is.NoErr(db.View(t.Context(), system, func(tx storage.Tx) error {
		own, others = 0, 0
		for e, err := range tx.Scan(storage.Prefix([]byte(recordPrefix))) {
			if err != nil {
				return err
			}
			if string(e.Key) == string(recordKey(s.cluster.ID())) {
				own++
			} else {
				others++
			}
		}
		return nil
	}))
	is.Equal(own, 1)
	is.True(others <= 1) // the one that cannot be read
	write("p3", `{"org_1":{"r":4}}`)
	is.NoErr(s.Exchange(t.Context()))
	is.Equal(remaining(), 2)
	*now = now.Add(windowSlots * time.Second)
	is.Equal(remaining(), 9)
}
