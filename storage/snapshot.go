package storage

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/seed-506d8e5d/svc/driver"
)

// Snapshotter is a [Store] that can be read as a whole, for backups. It is
// reached through [ReadAll].
type Snapshotter interface {
	// ReadAll runs fn over everything that the store holds, in all namespaces, at
	// one moment between transactions; what is written meanwhile is not seen and
	// does not wait. It returns fn's error as it is, the context's error if ctx
	// ended first, or ErrClosed.
	ReadAll(ctx context.Context, fn func(ScanAll) error) error
}

// ScanAll yields the entries of every namespace, those of one after those of
// another, each namespace's in key order; after an error it ends. It may be
// called again while fn runs, though not while an iteration is under way, and
// yields the same. With keysOnly entries have no value.
type ScanAll func(keysOnly bool) iter.Seq2[Record, error]

// Record is an entry and the namespace that it is in. Its bytes are the
// receiver's.
type Record struct {
	Namespace Namespace
	Entry
}

// ReadAll calls s's ReadAll. An error that may pass is Unavailable. The error of a store that is no [Snapshotter] is
// [errors.ErrUnsupported].
func ReadAll(ctx context.Context, s Store, fn func(ScanAll) error) error {
	all, ok := driver.As[Snapshotter](s)
	if !ok {
		return fmt.Errorf("storage: reading everything: %w", errors.ErrUnsupported)
	}
	return classify(all.ReadAll(ctx, fn))
}
