package storage_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
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

// number reads and writes itself.
type number struct{ N int64 }

func (n number) AppendJSON(b []byte) []byte { return append(b, `{"N":7}`...) }

func (n *number) ReadJSON(r *jsonout.Reader) {
	r.Object(func(string) { n.N = r.Int() + 1 })
}

func TestJSONOfWhatReadsAndWritesItself(t *testing.T) {
	is := is.New(t)
	store := memstore.New()
	defer func() { is.NoErr(store.Close()) }()
	is.NoErr(store.Update(t.Context(), "ns", func(tx storage.Tx) error {
		is.NoErr(storage.SetJSON(tx, []byte("key"), number{}))
		return tx.Set([]byte("blanks"), []byte(`{ "N": 7 }`))
	}))
	is.NoErr(store.View(t.Context(), "ns", func(tx storage.Tx) error {
		var got number
		is.NoErr(storage.GetJSON(tx, []byte("key"), &got))
		is.Equal(got, number{8})
		is.NoErr(storage.GetJSON(tx, []byte("blanks"), &got)) // which it does not read
		is.Equal(got, number{7})
		return nil
	}))
}
