package storage_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// TestErrorsOfADriverHaveAKind looks at what a DB makes of the errors that a
// driver, or the function in a transaction, returns.
func TestErrorsOfADriverHaveAKind(t *testing.T) {
	type answer struct {
		kind fault.Kind
		code string
	}
	busy, internal := answer{fault.Unavailable, fault.CodeUnavailable}, answer{fault.Internal, fault.CodeInternal}
	unwritable := answer{fault.Unavailable, fault.CodeStorage}
	for err, want := range map[error]answer{
		fmt.Errorf("a write: %w", storage.ErrConflict): busy,
		storage.ErrClosed:               busy,
		storage.ErrInDoubt:              busy,
		storage.ErrFull:                 unwritable,
		storage.ErrFailed:               unwritable,
		storage.ErrTooLarge:             internal,
		errors.New("a disk that fails"): internal,
		fault.Invalidf("id", "Wrong."):  {fault.Invalid, fault.CodeValidation},
	} {
		t.Run(err.Error(), func(t *testing.T) {
			is := is.New(t)
			db := storage.Use(memstore.New())
			fails := func(storage.Tx) error { return err }
			for _, got := range []error{db.View(t.Context(), "ns", fails), db.Update(t.Context(), "ns", fails)} {
				is.True(errors.Is(got, err)) // the cause is kept
				is.Equal(answer{fault.From(got).Kind, fault.From(got).Code}, want)
			}
		})
	}
	is := is.New(t)
	is.NoErr(storage.Use(memstore.New()).Writable(context.Background()))
	e := fault.From(storage.Use(full{memstore.New()}).Writable(context.Background()))
	is.Equal(answer{e.Kind, e.Code}, unwritable)
}
