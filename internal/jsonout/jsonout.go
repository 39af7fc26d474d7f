// Package jsonout writes JSON for clients and for the store. It is encoding/json
// without the escapes that only HTML needs, which would make six bytes of every
// <, > and & in an answer. Types that marshal themselves use it too, since the
// escapes of an inner encoding would stay in the outer one.
package jsonout

import (
	"bytes"
	"encoding/json"
)

// Marshal returns the JSON encoding of v.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}
