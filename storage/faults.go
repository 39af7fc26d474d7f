package storage

import (
	"context"
	"errors"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
)

// writeRetryAfter is how long clients are told to wait for a store that cannot be
// written: an operator has to act first.
const writeRetryAfter = 5 * time.Second

// classify makes an Unavailable error of an error of the driver where a later
// attempt may succeed. It keeps the cause. Errors that have a kind already and all
// others, nil among them, are returned as they are.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	switch {
	case errors.Is(err, ErrFull), errors.Is(err, ErrFailed):
		return errUnwritable(err)
	case errors.Is(err, ErrConflict), errors.Is(err, ErrClosed), errors.Is(err, ErrUnavailable), errors.Is(err, ErrInDoubt):
		return &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable, Message: "The service is busy. Try again.", Err: err}
	}
	return err
}

// Writable returns nil where the store can be written, and otherwise an
// Unavailable error with the code storage_unavailable. Callers ask before they call
// a model whose answer could not be stored or charged.
func (db *DB) Writable(ctx context.Context) error {
	if err := db.Healthy(ctx); err != nil {
		return errUnwritable(err)
	}
	return nil
}

func errUnwritable(cause error) error {
	return &fault.Error{
		Kind:       fault.Unavailable,
		Code:       fault.CodeStorage,
		Message:    "The service can store nothing at present. Try again later.",
		RetryAfter: writeRetryAfter,
		Err:        cause,
	}
}
