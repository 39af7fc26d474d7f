// Package stored turns what goes wrong in the store into errors for callers.
package stored

import (
	"context"
	"errors"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// retryAfter is how long a client waits for a store that cannot be written:
// somebody has to do something about it.
const retryAfter = 5 * time.Second

// Error classifies an error of the store, or of a function that ran in one of
// its transactions: Unavailable where a later attempt may succeed. Others, nil
// among them, are returned as they are.
func Error(err error) error {
	switch {
	case errors.Is(err, storage.ErrFull), errors.Is(err, storage.ErrFailed):
		return unwritable(err)
	case errors.Is(err, storage.ErrConflict), errors.Is(err, storage.ErrClosed),
		errors.Is(err, storage.ErrUnavailable), errors.Is(err, storage.ErrUnknown):
		return &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable, Message: "The service is busy. Try again.", Err: err}
	}
	return err
}

// Writable returns nil where the store can be written, and otherwise an
// Unavailable error with the code storage_unavailable. It is asked before a model
// is called, whose answer could not be stored or charged.
func Writable(ctx context.Context, db *storage.DB) error {
	if err := db.Healthy(ctx); err != nil {
		return unwritable(err)
	}
	return nil
}

func unwritable(cause error) error {
	return &fault.Error{
		Kind:       fault.Unavailable,
		Code:       fault.CodeStorage,
		Message:    "The service can store nothing at present. Try again later.",
		RetryAfter: retryAfter,
		Err:        cause,
	}
}
