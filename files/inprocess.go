package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/seed-506d8e5d/svc/extract"
)

// InProcess is the [Extractor] that reads documents in the program itself. The
// readers check what they read, bound what they unpack and watch the context,
// and a panic costs one document its text. What nothing can catch inside a
// program is a document that makes it run out of memory or stack: one such file
// may end the whole program. A document takes up to some hundred megabytes while
// it is read. Programs that take files from strangers use [Process].
type InProcess struct{}

// Extract implements [Extractor].
func (InProcess) Extract(ctx context.Context, doc io.Reader, size int64, format Format) (Extracted, error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(doc, data); err != nil {
		return Extracted{}, fmt.Errorf("files: reading a document: %w", err)
	}
	read, err := read(ctx, bytes.NewReader(data), format)
	if err == nil || ctx.Err() != nil {
		return read, err
	}
	return Extracted{}, &Unreadable{Reason: reasonOf(err), Err: err}
}

// read finds the reader of the format. What it panics on is a document that the
// reader broke on.
func read(ctx context.Context, doc *bytes.Reader, format Format) (found Extracted, err error) {
	defer func() {
		if p := recover(); p != nil {
			found, err = Extracted{}, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	reader := readers[format]
	if reader == nil {
		return Extracted{}, fmt.Errorf("files: no reader for the format %s", format)
	}
	d, err := reader.Read(ctx, doc, doc.Size())
	return Extracted{Text: d.Text, Pages: d.Pages, Partial: d.Partial, Dynamic: d.Dynamic}, err
}

// reasonOf translates the errors of the readers.
func reasonOf(err error) Reason {
	for known, reason := range map[error]Reason{
		extract.ErrFormat: Mislabelled, extract.ErrPassword: Password, extract.ErrDamaged: Damaged,
		extract.ErrTooLarge: TooLarge, extract.ErrUndecodable: Undecodable,
	} {
		if errors.Is(err, known) {
			return reason
		}
	}
	return Crashed
}
