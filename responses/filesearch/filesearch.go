// Package filesearch is between turns and what searches files for them. A [Searcher]
// finds passages; package vectorstores has one.
package filesearch

import (
	"context"
	"encoding/json"

	"github.com/seed-506d8e5d/svc/accounts"
)

// Query is what a model searches for, as the tool of the request has it.
type Query struct {
	Stores    []string // IDs of vector stores
	Texts     []string // what the model wants to know
	Filters   json.RawMessage
	Limit     int // passages
	Threshold float64

	TextWeight, EmbeddingWeight float64 // of results by words and by vectors; both 0: the default
}

// Passage is a piece of a file that was found.
type Passage struct {
	File       string // file_… ID
	Filename   string
	Score      float64
	Text       string
	Attributes map[string]any
	Page       int // from 1; 0 where the document has no pages
	Headings   []string
}

// Searcher searches files. Its methods may be called concurrently.
type Searcher interface {
	// CheckSearch returns why a query, whose texts are not known yet, cannot be
	// searched for: NotFound for a store that the caller's organization does not have,
	// Invalid for what is out of bounds.
	CheckSearch(ctx context.Context, caller accounts.Caller, q Query) error

	// SearchFiles returns the passages that fit a query, the best first.
	SearchFiles(ctx context.Context, caller accounts.Caller, q Query) ([]Passage, error)
}
