// Package docx reads the text of a .docx file, a Word document in Office
// Open XML.
//
// [Reader] checks the directory of the container before it unpacks anything,
// and reads the main part and then the parts which the document refers to: list
// definitions, styles, notes, comments, headers and footers.
//
// The text is Markdown as models read it. A paragraph is a line, headings begin
// with #, list items with their numbers or a dash and are indented by their level,
// a table is rows of cells between bars, where merged cells stand in each of their
// places. Links have their addresses, pictures their descriptions, charts a table
// of their series, diagrams a list, and comments stand where they are anchored.
// Deleted and hidden text and the codes of fields are left out, inserted text and
// the results of fields are kept. Footnotes, endnotes, headers and footers follow
// the body in this order; a footnote reference reads [^1], an endnote reference
// [^i].
//
// Everything is bounded: the number of parts, their unpacked sizes, the nesting
// of the markup and the length of the text. The package uses no file, process
// or network, and keeps no state between calls.
package docx

import (
	"context"
	"io"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/internal/ooxml"
	"github.com/seed-506d8e5d/svc/extract/internal/rtl"
)

// Limits on the text of a document, beside those of package ooxml.
const (
	maxText  = 64 << 20 // bytes of text
	maxDepth = 2_000    // open elements
)

// Reader is the [extract.Reader] of .docx files and their kin with macros and templates.
type Reader struct{}

var _ extract.Reader = Reader{}

// Types implements [extract.Reader].
func (Reader) Types() []extract.Type {
	const modern, macros = "application/vnd.openxmlformats-officedocument.wordprocessingml.", "application/vnd.ms-word."
	return []extract.Type{
		{MIME: modern + "document", Extensions: []string{".docx"}},
		{MIME: modern + "template", Extensions: []string{".dotx"}},
		{MIME: macros + "document.macroenabled.12", Extensions: []string{".docm"}},
		{MIME: macros + "template.macroenabled.12", Extensions: []string{".dotm"}},
	}
}

// Read implements [extract.Reader]. The error wraps
// [extract.ErrFormat], [extract.ErrPassword], [extract.ErrDamaged] or
// [extract.ErrTooLarge], or is that of ctx, which Read watches while it reads.
// Calls may run at the same time if r allows concurrent ReadAt calls.
func (Reader) Read(ctx context.Context, r io.ReaderAt, size int64) (extract.Document, error) {
	if err := ctx.Err(); err != nil {
		return extract.Document{}, err
	}
	c, err := ooxml.Open(ctx, r, size)
	if err != nil {
		return extract.Document{}, err
	}
	text, err := readDocument(ctx, c)
	if err != nil {
		return extract.Document{}, err
	}
	return extract.Document{Text: rtl.Letters(text), Partial: c.Damaged}, nil
}
