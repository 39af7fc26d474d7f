package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/seed-506d8e5d/svc/files/doctext"
	"github.com/seed-506d8e5d/svc/files/docxtext"
	"github.com/seed-506d8e5d/svc/files/pdftext"
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
	read, err := extract(ctx, bytes.NewReader(data), format)
	if err == nil || ctx.Err() != nil {
		return read, err
	}
	return Extracted{}, &Unreadable{Reason: reasonOf(err), Err: err}
}

func extract(ctx context.Context, doc *bytes.Reader, format Format) (Extracted, error) {
	switch format {
	case PDF:
		r, err := pdftext.Extract(ctx, doc, doc.Size(), pdftext.Limits{Text: MaxText})
		return Extracted{Text: r.Text, Pages: r.Pages, Partial: r.Repaired}, err
	case Doc:
		r, err := doctext.Extract(ctx, doc, doc.Size())
		return Extracted{Text: r.Text, Partial: r.Partial}, err
	case Docx:
		r, err := docxtext.Extract(ctx, doc, doc.Size())
		return Extracted{Text: r.Text, Partial: r.Partial}, err
	}
	return Extracted{}, fmt.Errorf("files: no reader for the format %s", format)
}

// reasonOf translates the errors of the readers.
func reasonOf(err error) Reason {
	for _, known := range []struct {
		err    error
		reason Reason
	}{
		{pdftext.ErrPassword, Password}, {doctext.ErrPassword, Password}, {docxtext.ErrPassword, Password},
		{pdftext.ErrDamaged, Damaged}, {doctext.ErrDamaged, Damaged}, {docxtext.ErrDamaged, Damaged},
		{pdftext.ErrTooLarge, TooLarge}, {doctext.ErrTooLarge, TooLarge}, {docxtext.ErrTooLarge, TooLarge},
		{pdftext.ErrNotPDF, Mislabelled}, {doctext.ErrFormat, Mislabelled}, {docxtext.ErrFormat, Mislabelled},
		{pdftext.ErrUndecodable, Undecodable},
	} {
		if errors.Is(err, known.err) {
			return known.reason
		}
	}
	return Crashed
}
