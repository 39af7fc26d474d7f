// Package convert maps the structs of package wire to the types of the service and
// back, for httpapi and client alike: what is called To returns the wire's form,
// From the service's. A new field of the interface is a field of a struct in wire
// and a line in each direction here.
package convert

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/internal/wire"
)

// mapped returns what f makes of each element; nil stays nil.
func mapped[S, T any](list []S, f func(*S) T) []T {
	if list == nil {
		return nil
	}
	result := make([]T, len(list))
	for i := range list {
		result[i] = f(&list[i])
	}
	return result
}

// isTrue reports whether b is there and true.
func isTrue(b *bool) bool { return b != nil && *b }

// optional returns a pointer to v, nil for the zero value.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// value returns what p points to, the zero value for nil.
func value[T any](p *T) T {
	var v T
	if p != nil {
		v = *p
	}
	return v
}

// raw returns JSON of a type of its own; empty is nil.
func raw[T ~[]byte](data T) json.RawMessage {
	if len(data) == 0 {
		return nil
	}
	return json.RawMessage(data)
}

// FromTags returns the metadata of a request, which is never nil.
func FromTags(t wire.Tags) map[string]string { return tags(t) }

// tags returns metadata that is never nil.
func tags(t map[string]string) map[string]string {
	if t == nil {
		return map[string]string{}
	}
	return t
}
