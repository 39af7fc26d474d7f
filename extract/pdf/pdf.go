package pdf

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/seed-506d8e5d/svc/extract"
)

// Reader is the [extract.Reader] of PDF files. The zero value has the default limits.
type Reader struct{ Limits Limits }

var _ extract.Reader = Reader{}

// Types implements [extract.Reader].
func (Reader) Types() []extract.Type {
	return []extract.Type{{MIME: "application/pdf", Extensions: []string{".pdf"}}}
}

// Read implements [extract.Reader].
func (p Reader) Read(ctx context.Context, r io.ReaderAt, size int64) (extract.Document, error) {
	res, err := Extract(ctx, r, size, p.Limits)
	return extract.Document{Text: markPages(res.Text), Pages: res.Pages, Partial: res.Repaired || res.Unmapped > res.Glyphs/100, Dynamic: res.Dynamic}, err
}

// markPages puts the number of each page before its text, where there are several:
// people ask for what stands on a page.
func markPages(text string) string {
	pages := strings.Split(strings.TrimSuffix(text, "\f"), "\f")
	if len(pages) == 1 {
		return strings.TrimSuffix(text, "\f")
	}
	var b strings.Builder
	b.Grow(len(text) + 16*len(pages))
	for i, page := range pages {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "[page %d]\n%s", i+1, page)
	}
	return b.String()
}

// Limits bound one extraction. A zero field stands for its default. Whoever
// reads files from strangers also bounds the memory of the process.
type Limits struct {
	File      int64 // bytes of the upload; 512 MB
	Stream    int64 // decoded bytes of one stream; 64 MB
	Total     int64 // decoded bytes of all streams; 512 MB
	Text      int   // bytes of text; 64 MB
	Pages     int   // 20,000
	Objects   int   // found in a damaged file; 2,000,000
	Operators int   // content stream operators; 100,000,000
	Forms     int   // form XObjects drawn; 100,000
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.File, 512<<20)
	setDefault(&l.Stream, 64<<20)
	setDefault(&l.Total, 512<<20)
	setDefault(&l.Text, 64<<20)
	setDefault(&l.Pages, 20_000)
	setDefault(&l.Objects, 2_000_000)
	setDefault(&l.Operators, 100_000_000)
	setDefault(&l.Forms, 100_000)
	return l
}

func setDefault[T int | int64](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// Result is what Extract found. A scan without text has no glyphs.
type Result struct {
	Text     string // Markdown in UTF-8; each page ends in a form feed
	Pages    int    // pages read
	Repaired bool   // the file was damaged or cut short; Text is what is still there
	Glyphs   int    // glyphs shown on all pages
	Unmapped int    // of those, glyphs whose character is not known; Text has U+FFFD for them
	Dynamic  bool   // the file is an XFA form, laid out when it is opened, and Text stands in for it
}

// Extract returns the text of the PDF of the given size in r, in reading order
// as far as the file tells it. It reads r from start to end, keeps nothing of it,
// and may be called concurrently. Cancelling ctx stops it within moments with
// the cause of the cancellation.
//
// It fails with extract.ErrFormat, extract.ErrPassword, extract.ErrDamaged when no
// page can be found, extract.ErrTooLarge when a limit is passed, and
// extract.ErrUndecodable when more than half of the glyphs shown have no known
// character; the counts of Result are set then. A file that is cut short or damaged
// is no error as long as pages are left.
func Extract(ctx context.Context, r io.ReaderAt, size int64, limits Limits) (Result, error) {
	limits = limits.withDefaults()
	if size > limits.File {
		return Result{}, fmt.Errorf("%w: file", extract.ErrTooLarge)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(r, 0, size), data); err != nil {
		return Result{}, fmt.Errorf("reading the document: %w", err)
	}
	f, err := openFile(ctx, data, limits)
	if err != nil {
		return Result{}, err
	}
	pages := f.pages()
	switch {
	case f.meter.err != nil:
		return Result{}, f.meter.err
	case len(pages) == 0:
		return Result{}, fmt.Errorf("%w: no pages", extract.ErrDamaged)
	}
	res := newDocument(f).extract(pages)
	res.Repaired, res.Dynamic = f.repaired, f.isDynamic(res.Text)
	switch {
	case f.meter.err != nil:
		err = f.meter.err
	case res.Unmapped > res.Glyphs/2:
		err = extract.ErrUndecodable
	}
	if err != nil {
		res.Text = ""
	}
	return res, err
}
