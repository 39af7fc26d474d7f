// Package page has the types by which all lists of the service are read, one page
// at a time. A page is asked for by the ID of the object it comes after, so that
// objects made or deleted meanwhile neither repeat nor hide others.
package page

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
