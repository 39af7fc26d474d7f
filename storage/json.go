package storage

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// GetJSON reads the value of key, which is JSON, into v: into its zero value where
// it is a [jsonout.Readable]. The error is [ErrNotFound] also for a key that no
// store can hold: parts of keys come from outside.
func GetJSON(tx Tx, key []byte, v any) error {
	if len(key) > MaxKey {
		return ErrNotFound
	}
	data, err := tx.Get(key)
	if err != nil {
		return err
	}
	if v, ok := v.(jsonout.Readable); ok {
		r := jsonout.Read(string(data))
		if v.ReadJSON(&r); r.End() {
			return nil
		}
	}
	return json.Unmarshal(data, v)
}

// SetJSON writes v under key as JSON.
func SetJSON(tx Tx, key []byte, v any) error {
	if v, ok := v.(jsonout.Appender); ok {
		return tx.Set(key, v.AppendJSON(nil))
	}
	data, err := jsonout.Marshal(v)
	if err != nil {
		return err
	}
	return tx.Set(key, data)
}
