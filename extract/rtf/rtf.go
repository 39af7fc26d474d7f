// Package rtf reads the text of Rich Text Format (version 1.9.1), which Word
// documents have parts in, and which is in many files that are called .doc.
//
// The text is Markdown as models read it, like that of package docx: headings by
// outline level, tables as rows between bars, links with their addresses, comments
// where they are anchored, numbers of list items as the file has them, footnotes and
// then headers and footers at the end. Hidden and deleted text is left out.
package rtf

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/internal/rtl"
)

// Magic begins every RTF file.
const Magic = `{\rtf`

// Bounds on what is read.
const (
	maxFile  = 512 << 20 // bytes
	maxText  = 64 << 20  // bytes of text
	maxDepth = 1000      // groups in each other
)

// Reader is the [extract.Reader] of RTF files.
type Reader struct{}

var _ extract.Reader = Reader{}

// Types implements [extract.Reader].
func (Reader) Types() []extract.Type {
	return []extract.Type{{MIME: "application/rtf", Extensions: []string{".rtf"}}, {MIME: "text/rtf"}}
}

// Read implements [extract.Reader]. The error wraps [extract.ErrFormat] or
// [extract.ErrTooLarge], or is that of ctx, which Read watches while it reads. The
// text is partial where the file ends within a group or nests them too deep.
func (Reader) Read(ctx context.Context, r io.ReaderAt, size int64) (extract.Document, error) {
	if size > maxFile {
		return extract.Document{}, fmt.Errorf("%w: file", extract.ErrTooLarge)
	}
	var data strings.Builder
	data.Grow(int(size))
	if _, err := io.Copy(&data, io.NewSectionReader(r, 0, size)); err != nil {
		return extract.Document{}, fmt.Errorf("reading the document: %w", err)
	}
	if !strings.HasPrefix(data.String(), Magic) {
		return extract.Document{}, fmt.Errorf("%w: no RTF", extract.ErrFormat)
	}
	p := newParser(data.String())
	if err := p.run(ctx); err != nil {
		return extract.Document{}, err
	}
	return extract.Document{Text: rtl.Letters(p.text()), Partial: p.partial}, nil
}
