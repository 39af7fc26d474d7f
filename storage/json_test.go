package storage_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

func TestJSON(t *testing.T) {
	is := is.New(t)
	store := memstore.New()
	defer func() { is.NoErr(store.Close()) }()
	type record struct{ Text string }
	is.NoErr(store.Update(t.Context(), "ns", func(tx storage.Tx) error {
		return storage.SetJSON(tx, []byte("key"), record{"<&>"})
	}))
	is.NoErr(store.View(t.Context(), "ns", func(tx storage.Tx) error {
		data, err := tx.Get([]byte("key"))
		is.NoErr(err)
		is.Equal(string(data), `{"Text":"<&>"}`)
		var got record
		is.NoErr(storage.GetJSON(tx, []byte("key"), &got))
		is.Equal(got, record{"<&>"})
		is.Equal(storage.GetJSON(tx, []byte("other"), &got), storage.ErrNotFound)
		is.Equal(storage.GetJSON(tx, make([]byte, storage.MaxKey+1), &got), storage.ErrNotFound)
		return nil
	}))
}
