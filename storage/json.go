package storage

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// GetJSON reads the value of key, which is JSON, into v. The error is [ErrNotFound]
// also for a key that no store can hold: parts of keys come from outside.
func GetJSON(tx Tx, key []byte, v any) error {
	if len(key) > MaxKey {
		return ErrNotFound
	}
	data, err := tx.Get(key)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// SetJSON writes v under key as JSON.
func SetJSON(tx Tx, key []byte, v any) error {
	data, err := jsonout.Marshal(v)
	if err != nil {
		return err
	}
	return tx.Set(key, data)
}
