// Package rtftext reads the text of Rich Text Format (version 1.9.1), which Word
// documents have parts in, and which is in many files that are called .doc.
//
// The text is Markdown as models read it, like that of package docxtext: headings by
// outline level, tables as rows between bars, links with their addresses, comments
// where they are anchored, numbers of list items as the file has them, footnotes and
// then headers and footers at the end. Hidden and deleted text is left out.
package rtftext

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/seed-506d8e5d/svc/files/reading"
)

// Magic begins every RTF file.
const Magic = `{\rtf`

// Bounds on what is read.
const (
	maxFile  = 512 << 20 // bytes
	maxText  = 64 << 20  // bytes of text
	maxDepth = 1000      // groups in each other
)

// Extract reads the text of the size bytes of r. The error wraps [reading.ErrFormat] or
// [reading.ErrTooLarge], or is that of ctx, which Extract watches while it reads. The
// text is partial where the file ends within a group or nests them too deep.
func Extract(ctx context.Context, r io.ReaderAt, size int64) (reading.Text, error) {
	if size > maxFile {
		return reading.Text{}, fmt.Errorf("%w: file", reading.ErrTooLarge)
	}
	var data strings.Builder
	data.Grow(int(size))
	if _, err := io.Copy(&data, io.NewSectionReader(r, 0, size)); err != nil {
		return reading.Text{}, fmt.Errorf("rtftext: read: %w", err)
	}
	if !strings.HasPrefix(data.String(), Magic) {
		return reading.Text{}, fmt.Errorf("%w: no RTF", reading.ErrFormat)
	}
	p := newParser(data.String())
	if err := p.run(ctx); err != nil {
		return reading.Text{}, err
	}
	return reading.Text{Text: p.text(), Partial: p.partial}, nil
}
