// Package page reads lists one page at a time. A page is asked for by the ID of
// the object it comes after, so that objects made or deleted meanwhile neither
// repeat nor hide others.
package page

import (
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// DefaultLimit is the size of a page where none is asked for.
const DefaultLimit = 20

// Params says which page of a list to read. The zero value is the first page of
// default size, oldest objects first.
type Params struct {
	Limit int    // objects in the page, 0 for DefaultLimit
	After string // ID of the object that the page comes after, empty for the first page
	Desc  bool   // newest objects first
}

// Page is one page of a list.
type Page[T any] struct {
	Items   []T  // never nil
	HasMore bool // whether a page after this one has at least one object
}

// maxAfter is the length in bytes that no ID of the service reaches. It keeps a
// cursor well below the size of a key.
const maxAfter = 256

// Within returns p with the default limit filled in, or an Invalid error naming
// the parameter that is out of bounds: limit must be 1 to max, and after begin as
// the IDs of the list do, with kind and an underscore. A list whose IDs may begin
// with anything, or that looks the object up, has no kind.
func Within(p Params, max int, kind string) (Params, error) {
	if p.Limit == 0 {
		p.Limit = DefaultLimit
	}
	if p.Limit < 1 || p.Limit > max {
		return p, fault.Invalidf("limit", "limit must be between 1 and %d.", max)
	}
	if len(p.After) > maxAfter || p.After != "" && kind != "" && !strings.HasPrefix(p.After, kind+"_") {
		return p, fault.Invalidf("after", "after is not the ID of an object in this list.")
	}
	return p, nil
}

// Range returns the entries that a page is read from: those whose keys begin
// with prefix and come after the key of the cursor, in the order of p. A nil
// after begins at the first.
func Range(p Params, prefix, after []byte) storage.Range {
	r := storage.Prefix(prefix)
	r.Reverse = p.Desc
	switch {
	case after == nil:
	case p.Desc:
		r.End = after
	default:
		r.Start = append(append([]byte(nil), after...), 0)
	}
	return r
}

// Read returns the page of a range, as [Range] makes it, that has up to limit
// objects. decode turns an entry into an object; it returns false for an entry
// that is not in the list, and may read from tx, but not scan.
func Read[T any](tx storage.Tx, r storage.Range, limit int, decode func(storage.Entry) (T, bool, error)) (Page[T], error) {
	result := Page[T]{Items: []T{}}
	for entry, err := range tx.Scan(r) {
		if err != nil {
			return Page[T]{}, err
		}
		item, ok, err := decode(entry)
		if err != nil {
			return Page[T]{}, err
		}
		if !ok {
			continue
		}
		if len(result.Items) == limit {
			result.HasMore = true
			break
		}
		result.Items = append(result.Items, item)
	}
	return result, nil
}

// Of returns a page of a list that is in memory, oldest objects first. The error
// is Invalid where p.After is the ID of none of them.
func Of[T any](all []T, id func(T) string, p Params) (Page[T], error) {
	if p.Desc {
		all = slices.Clone(all)
		slices.Reverse(all)
	}
	if p.After != "" {
		at := slices.IndexFunc(all, func(item T) bool { return id(item) == p.After })
		if at < 0 {
			return Page[T]{}, fault.Invalidf("after", "after is not the ID of an object in this list.")
		}
		all = all[at+1:]
	}
	n := min(len(all), p.Limit)
	return Page[T]{Items: append([]T{}, all[:n]...), HasMore: len(all) > n}, nil
}
