package pgstore_test

import (
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/pgstore"
	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
)

// TestRecordsOfAProcessThatIsOld has a store that was opened 30 hours ago commit, the
// answer get lost, and another store remove old commit records before the first one
// looks for its own: the transaction is not committed twice.
func TestRecordsOfAProcessThatIsOld(t *testing.T) {
	database := pgtest.Database(t)
	// clock_timestamp() is what the server's clock says, and a store follows it.
	const schema = "old"
	pgtest.Schema(t, database, schema)
	ago := func(hours string) {
		pgtest.Execute(t, database, "create or replace function old.clock_timestamp() returns timestamptz language sql volatile as "+
			"$$ select pg_catalog.clock_timestamp() - interval '"+hours+" hours' $$")
	}
	ago("30")
	inSchema := func(url string) string { return pgtest.WithParameter(url, "search_path", schema+",pg_catalog") }
	proxy := pgtest.NewProxy(t, database)
	openStore := func(url string) *pgstore.Store {
		store, err := pgstore.Open(t.Context(), pgstore.Options{URL: inSchema(url)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		return store
	}
	write := func(s *pgstore.Store) {
		t.Helper()
		err := s.Update(t.Context(), "org", func(tx storage.Tx) error {
			value, err := tx.Get([]byte("a"))
			if err != nil && len(value) > 0 {
				return err
			}
			return tx.Set([]byte("a"), append(value, 'x'))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	old, other := openStore(proxy.URL), openStore(database)
	write(old)
	ago("0")
	pgstore.AskTime(t, old)
	pgstore.AskTime(t, other)
	write(other)
	proxy.LoseAnswer(func() { pgstore.RemoveRecords(other) })
	write(old)
	err := other.View(t.Context(), "org", func(tx storage.Tx) error {
		value, err := tx.Get([]byte("a"))
		if string(value) != "xxx" {
			t.Errorf("three transactions have written %q", value)
		}
		return err
	})
	if err != nil || old.Stats().Resolved != 1 {
		t.Errorf("%v, %d commits were resolved, want 1", err, old.Stats().Resolved)
	}
	// Both hours' records are removed when they are no longer needed.
	pgstore.RemoveRecords(old)
	pgstore.RemoveRecords(other)
	if n := pgstore.CountRecords(t, other); n != 0 {
		t.Errorf("%d records are left", n)
	}
}
