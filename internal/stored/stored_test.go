package stored_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/stored"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

func TestGetAndSet(t *testing.T) {
	is := is.New(t)
	type value struct{ Text string }
	store := memstore.New()
	defer store.Close()
	is.NoErr(store.Update(t.Context(), "ns", func(tx storage.Tx) error {
		return stored.Set(tx, []byte("key"), value{"1 < 2"})
	}))
	is.NoErr(store.View(t.Context(), "ns", func(tx storage.Tx) error {
		data, err := tx.Get([]byte("key"))
		is.NoErr(err)
		is.Equal(string(data), `{"Text":"1 < 2"}`)
		var got value
		is.NoErr(stored.Get(tx, []byte("key"), &got))
		is.Equal(got, value{"1 < 2"})
		for _, key := range []string{"other", strings.Repeat("k", storage.MaxKey+1)} {
			is.Equal(stored.Get(tx, []byte(key), &got), storage.ErrNotFound)
		}
		return nil
	}))
}

func TestError(t *testing.T) {
	type answer struct {
		kind fault.Kind
		code string
	}
	busy, internal := answer{fault.Unavailable, fault.CodeUnavailable}, answer{fault.Internal, fault.CodeInternal}
	for err, want := range map[error]answer{
		fmt.Errorf("a write: %w", storage.ErrConflict): busy,
		storage.ErrClosed:               busy,
		storage.ErrTooLarge:             internal,
		errors.New("a disk that fails"): internal,
		fault.Invalidf("id", "Wrong."):  {fault.Invalid, fault.CodeValidation},
	} {
		t.Run(err.Error(), func(t *testing.T) {
			is := is.New(t)
			got := stored.Error(err)
			is.True(errors.Is(got, err)) // the cause is kept
			is.Equal(answer{fault.From(got).Kind, fault.From(got).Code}, want)
		})
	}
	is.New(t).NoErr(stored.Error(nil))
}
