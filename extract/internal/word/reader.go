// Package word is what the readers of .doc and .docx files have in common: a
// file that may be hostile, read within bounds, and how Word writes the numbers
// and bullets of lists.
package word

import (
	"context"
	"errors"
	"io"
)

// ErrBudget is the error of a [Reader] that has no budget left.
var ErrBudget = errors.New("over the budget of bytes")

// Reader is a file with the end of a context as a read error and, until
// [Reader.Lift] is called, with a budget of bytes, for directories whose size is
// known only when they have been read. It is not safe for concurrent use while
// it has a budget.
type Reader struct {
	ctx    context.Context
	r      io.ReaderAt
	budget int64 // bytes that may still be read; negative is no limit
}

// NewReader returns a Reader of r until ctx ends, for budget bytes.
func NewReader(ctx context.Context, r io.ReaderAt, budget int64) *Reader {
	return &Reader{ctx, r, budget}
}

// Lift removes the budget: what is read from now on is bounded elsewhere.
func (r *Reader) Lift() { r.budget = -1 }

// ReadAt implements io.ReaderAt. The error is the context's when it has ended,
// and ErrBudget for a read over the budget, which uses it up.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if r.budget >= 0 {
		if r.budget -= int64(len(p)); r.budget < 0 {
			r.budget = 0
			return 0, ErrBudget
		}
	}
	return r.r.ReadAt(p, off)
}

// Err returns why no more can be read: the error of the context, ErrBudget, or
// nil. Libraries that parse files pass on no more than the text of an error.
func (r *Reader) Err() error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if r.budget == 0 {
		return ErrBudget
	}
	return nil
}
