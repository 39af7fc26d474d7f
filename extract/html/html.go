// Package html reads the text of web pages.
//
// The text is Markdown as models read it: headings, list items with a dash or their
// number, tables as rows between bars, links with their addresses, pictures as they
// are described. A paragraph is a line. What a page does not show is left out:
// scripts, styles, templates, and what is hidden by the attribute hidden or by
// display: none in its own style.
package html

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/internal/rtl"
)

// Bounds on what is read.
const (
	maxFile   = 128 << 20 // bytes
	maxText   = 64 << 20  // bytes of text
	maxTables = 16        // tables in each other
	maxLists  = 16        // lists in each other
)

// Reader is the [extract.Reader] of HTML.
type Reader struct{}

var _ extract.Reader = Reader{}

// Types implements [extract.Reader].
func (Reader) Types() []extract.Type {
	return []extract.Type{{MIME: "text/html", Extensions: []string{".html", ".htm"}}, {MIME: "application/xhtml+xml", Extensions: []string{".xhtml"}}}
}

// Read implements [extract.Reader]. The error wraps [extract.ErrFormat], for bytes that
// are no text, or [extract.ErrTooLarge], or is that of ctx.
func (Reader) Read(ctx context.Context, r io.ReaderAt, size int64) (extract.Document, error) {
	if size > maxFile {
		return extract.Document{}, fmt.Errorf("%w: file", extract.ErrTooLarge)
	}
	data, err := io.ReadAll(io.NewSectionReader(r, 0, size))
	if err != nil {
		return extract.Document{}, fmt.Errorf("reading the document: %w", err)
	}
	markup := decode(data)
	if strings.IndexByte(markup, 0) >= 0 {
		return extract.Document{}, fmt.Errorf("%w: it is no text", extract.ErrFormat)
	}
	p := newPage()
	if err := p.run(ctx, markup); err != nil {
		return extract.Document{}, err
	}
	return extract.Document{Text: rtl.Letters(p.text())}, nil
}

// declared finds the encoding that a page names near its beginning.
var declared = regexp.MustCompile(`(?i)charset\s*=\s*["']?([-\w:.]+)`)

// decode returns a page in UTF-8. A byte order mark is believed first, then valid
// UTF-8, then what the page declares; else it is Windows-1252, as in browsers.
func decode(data []byte) string {
	text := string(data)
	switch {
	case strings.HasPrefix(text, "\xEF\xBB\xBF"):
		return strings.ToValidUTF8(text[3:], "\uFFFD")
	case strings.HasPrefix(text, "\xFF\xFE"), strings.HasPrefix(text, "\xFE\xFF"):
		text, _ = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().String(text)
		return strings.ToValidUTF8(text, "\uFFFD")
	case utf8.ValidString(text):
		return text
	}
	const head = 1024 // where browsers look
	encoding, err := htmlindex.Get("windows-1252")
	if label := declared.FindStringSubmatch(text[:min(len(text), head)]); label != nil {
		encoding, err = htmlindex.Get(label[1])
	}
	if err != nil {
		encoding = charmap.Windows1252
	}
	text, _ = encoding.NewDecoder().String(text)
	return strings.ToValidUTF8(text, "\uFFFD")
}
