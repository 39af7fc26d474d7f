//go:build unix

package pgstore_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/pgstore"
	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
)

// TestPoolerIsRecognised opens a store with prepared statements behind a pooler that
// does not keep them: the error says what to add to the URL.
func TestPoolerIsRecognised(t *testing.T) {
	database := pgtest.Database(t)
	url := pgtest.NewBouncer(t, database).URL(database)
	for range 2 { // the first one leaves statements on the pooler's connections
		store, err := pgstore.Open(t.Context(), pgstore.Options{URL: url})
		if err == nil {
			store.Close()
		}
		if !errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), "default_query_exec_mode=exec") {
			t.Errorf("got %v, want an error that names default_query_exec_mode=exec", err)
		}
	}
	store, err := pgstore.Open(t.Context(), pgstore.Options{URL: inMode(url, "exec")})
	if err != nil {
		t.Fatal(err)
	}
	store.Close()
}

// TestPoolerComesLater has statements disappear while the store is open, as where a
// pooler is put before the server: calls fail with the sentence, and so does Healthy.
func TestPoolerComesLater(t *testing.T) {
	store := open(t, pgtest.Database(t), "later")
	defer store.Close()
	pgstore.Deallocate(t, store)
	err := store.View(t.Context(), "org", func(tx storage.Tx) error {
		_, err := tx.Get([]byte("a"))
		return err
	})
	for what, err := range map[string]error{"View": err, "Healthy": store.Healthy(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "default_query_exec_mode=exec") {
			t.Errorf("%s: got %v, want an error that names default_query_exec_mode=exec", what, err)
		}
	}
}

// TestRoleWithRightsOnTablesAlone opens a database that has its tables as a role that
// may not create any.
func TestRoleWithRightsOnTablesAlone(t *testing.T) {
	database := pgtest.Database(t)
	store, err := pgstore.Open(t.Context(), pgstore.Options{URL: database})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	url := pgtest.Role(t, database)
	pgtest.Execute(t, database, "revoke create on schema public from public")
	pgtest.Execute(t, database, "grant select, insert, update, delete on kv, kv_marks to public")
	if store, err = pgstore.Open(t.Context(), pgstore.Options{URL: url}); err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	err = store.Update(t.Context(), "org", func(tx storage.Tx) error { return tx.Set([]byte("a"), nil) })
	if err := errors.Join(err, store.Healthy(t.Context())); err != nil {
		t.Error(err)
	}
}
