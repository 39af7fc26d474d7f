// Package stored turns what goes wrong in the store into errors for callers.
package stored

import (
	"errors"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// Error classifies an error of the store, or of a function that ran in one of
// its transactions: Unavailable where a later attempt may succeed. Others, nil
// among them, are returned as they are.
func Error(err error) error {
	if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrClosed) ||
		errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrUnknown) {
		return &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable, Message: "The service is busy. Try again.", Err: err}
	}
	return err
}
