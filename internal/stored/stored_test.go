package stored_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/stored"
	"github.com/seed-506d8e5d/svc/storage"
)

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
