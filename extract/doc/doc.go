// Package doc reads the text of a .doc file, a binary document of Word.
//
// [Reader] takes the streams of the compound file from
// github.com/richardlehane/mscfb and reads what Word keeps in them: the file
// information block (FIB), which says where everything lies, the piece table,
// which puts the text in order, and the properties of characters and
// paragraphs. Word 97 and later, Word 6 and 95, and the flat files of Word 2
// are understood. The structures are those of [MS-DOC].
//
// The text is Markdown as models read it. A paragraph is a line, headings begin
// with #, list items with their numbers or a dash and are indented by their level,
// and a table is rows of cells between bars, where merged cells stand in each of
// their places. Links have their addresses, comments stand where they are anchored,
// pictures have what their author said of them, and a line of dashes is where a
// page begins that the author began. Deleted and hidden text, by its own
// properties, those of its piece or its styles, and the codes of fields are left
// out, the results of fields are kept. Footnotes, endnotes, text boxes, headers and
// footers follow the body in this order; a footnote reference reads [^1], an
// endnote reference [^i]. Of files before Word 97 only the text and the fields are
// read, without properties: hidden text shows, list numbers do not. Those of the
// Far East have pairs of bytes of a code page.
//
// Everything is bounded: the directory of the compound file, the streams, the
// tables and the length of the text. The package uses no file, process or
// network, and keeps no state between calls.
//
// [MS-DOC]: https://learn.microsoft.com/openspecs/office_file_formats/ms-doc
package doc

import (
	"context"
	"io"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/internal/rtl"
)

// Limits on what one document may hold.
const (
	maxDirectory = 16 << 20  // bytes read to find the streams
	maxStream    = 128 << 20 // bytes of one stream
	maxChars     = 32 << 20  // characters of text
	maxRuns      = 1 << 20   // pieces, or runs of characters or paragraphs with properties
	maxNotes     = 1 << 16   // of a kind; Word itself has 16,383
	maxItems     = 1 << 18   // of lists
	maxLabel     = 100       // characters of a list number or a name
)

// Reader is the [extract.Reader] of .doc files.
type Reader struct{}

var _ extract.Reader = Reader{}

// Types implements [extract.Reader].
func (Reader) Types() []extract.Type {
	return []extract.Type{{MIME: "application/msword", Extensions: []string{".doc", ".dot"}}}
}

// Read implements [extract.Reader]. The error wraps
// [extract.ErrFormat], [extract.ErrPassword], [extract.ErrDamaged] or
// [extract.ErrTooLarge], or is that of ctx, which Read watches while it reads.
// Calls may run at the same time if r allows concurrent ReadAt calls.
func (Reader) Read(ctx context.Context, r io.ReaderAt, size int64) (extract.Document, error) {
	if err := ctx.Err(); err != nil {
		return extract.Document{}, err
	}
	f, err := open(ctx, r, size)
	if err != nil {
		return extract.Document{}, err
	}
	d, err := newDocument(f)
	if err != nil {
		return extract.Document{}, err
	}
	if err := ctx.Err(); err != nil {
		return extract.Document{}, err
	}
	return extract.Document{Text: rtl.Letters(d.String()), Partial: f.damaged}, nil
}
