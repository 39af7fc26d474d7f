// Package docxtext reads the text of a .docx file, a Word document in Office
// Open XML.
//
// [Extract] checks the directory of the container before it unpacks anything,
// gives the main part to github.com/nguyenthenguyen/docx and reads the markup
// that comes back, and then the parts which the document refers to: list
// definitions, styles, notes, comments, headers and footers.
//
// The text reads as the document does on paper. A paragraph is a line, a table
// row is a line with a tab between cells, and automatic list numbers are
// written out. Deleted and hidden text and the codes of fields are left out,
// inserted text and the results of fields are kept. Footnotes, endnotes,
// comments, headers and footers follow the body in this order; a footnote
// reference reads [1], an endnote reference [i].
//
// Everything is bounded: the number of parts, their unpacked sizes, the nesting
// of the markup and the length of the text. The package uses no file, process
// or network, and keeps no state between calls.
package docxtext

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// The ways in which a file can be refused. Errors of [Extract] wrap one of
// these, or the error of the context.
var (
	// ErrFormat means that the file is not a .docx, whatever its name says.
	ErrFormat = errors.New("docxtext: not a .docx document")
	// ErrPassword means that the document is encrypted.
	ErrPassword = errors.New("docxtext: the document is protected by a password")
	// ErrDamaged means that the file is a .docx of which no text can be read.
	ErrDamaged = errors.New("docxtext: the document is damaged")
	// ErrTooLarge means that the file, its unpacked parts or its text are over a limit.
	ErrTooLarge = errors.New("docxtext: the document is too large")
)

// Limits on what one document may unpack to. Above ratioFloor a part may not be
// more than maxRatio times its packed size.
const (
	maxParts     = 20_000
	maxDirectory = 8 << 20   // bytes of the container's directory
	maxPart      = 128 << 20 // bytes of one unpacked part
	maxSide      = 16 << 20  // bytes of a part other than a story of the document
	maxTotal     = 256 << 20 // bytes of all parts that are read
	maxRatio     = 200
	ratioFloor   = 16 << 20
	maxText      = 64 << 20 // bytes of text
	maxTag       = 1 << 20  // bytes of one start tag
	maxDepth     = 2_000    // open elements
)

// Result is what [Extract] read.
type Result struct {
	// Text is UTF-8 with "\n" line ends. It is empty for a document without text.
	Text string
	// Partial says that some of the document is damaged and that Text is the rest.
	Partial bool
}

// Extract reads the text of the size bytes of r. The error wraps [ErrFormat],
// [ErrPassword], [ErrDamaged] or [ErrTooLarge], or is that of ctx, which
// Extract watches while it reads. Calls may run at the same time if r allows
// concurrent ReadAt calls.
func Extract(ctx context.Context, r io.ReaderAt, size int64) (res Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = Result{}, fmt.Errorf("%w: panic: %v", ErrDamaged, p)
		}
	}()
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	c, err := openContainer(ctx, r, size)
	if err != nil {
		return Result{}, err
	}
	text, err := readDocument(ctx, c)
	if err != nil {
		return Result{}, err
	}
	return Result{Text: text, Partial: c.damaged}, nil
}
