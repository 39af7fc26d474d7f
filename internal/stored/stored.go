// Package stored is what the domain packages have in common in using the store:
// values that are JSON, and what callers are told where the store fails.
package stored

import (
	"encoding/json"
	"errors"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/storage"
)

// Get decodes the value of key into v. The error is storage.ErrNotFound also for
// a key that no store could hold, because IDs come from outside.
func Get(tx storage.Tx, key []byte, v any) error {
	if len(key) > storage.MaxKey {
		return storage.ErrNotFound
	}
	data, err := tx.Get(key)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// Set writes the JSON of v under key.
func Set(tx storage.Tx, key []byte, v any) error {
	data, err := jsonout.Marshal(v)
	if err != nil {
		return err
	}
	return tx.Set(key, data)
}

// Error classifies an error of the store, or of a function that ran in one of
// its transactions: Unavailable where a later attempt may succeed. Others, nil
// among them, are returned as they are.
func Error(err error) error {
	if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrClosed) {
		return &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable, Message: "The service is busy. Try again.", Err: err}
	}
	return err
}
