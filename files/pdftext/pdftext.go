package pdftext

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// The reasons why a file has no text to give. Everything else that Extract
// returns is the context's error or that of reading the input.
var (
	ErrNotPDF      = errors.New("not a PDF file")
	ErrPassword    = errors.New("the PDF needs a password")
	ErrDamaged     = errors.New("the PDF is damaged")
	ErrTooLarge    = errors.New("the PDF is over a limit when unpacked")
	ErrUndecodable = errors.New("the PDF's fonts do not tell which characters their glyphs are")
)

// Limits bound one extraction. A zero field stands for its default. Whoever
// reads files from strangers also bounds the memory of the process.
type Limits struct {
	File      int64 // bytes of the upload; 512 MB
	Stream    int64 // decoded bytes of one stream; 64 MB
	Total     int64 // decoded bytes of all streams; 512 MB
	Text      int   // bytes of text; 64 MB
	Pages     int   // 20,000
	Objects   int   // 2,000,000
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
	Text     string // UTF-8; each page ends in a form feed
	Pages    int    // pages read
	Repaired bool   // the file was damaged or cut short; Text is what is still there
	Glyphs   int    // glyphs shown on all pages
	Unmapped int    // of those, glyphs whose character is not known and that Text lacks
}

// Extract returns the text of the PDF of the given size in r, in reading order
// as far as the file tells it. It reads r from start to end, keeps nothing of it,
// and may be called concurrently. Cancelling ctx stops it within moments with
// the cause of the cancellation.
//
// It fails with ErrNotPDF, ErrPassword, ErrDamaged when no page can be found,
// ErrTooLarge when a limit is passed, and ErrUndecodable when more than half of
// the glyphs have no known character; the counts of Result are set then. A file
// that is cut short or damaged is no error as long as pages are left.
func Extract(ctx context.Context, r io.ReaderAt, size int64, limits Limits) (res Result, err error) {
	limits = limits.withDefaults()
	if size > limits.File {
		return Result{}, fmt.Errorf("%w: file", ErrTooLarge)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(r, 0, size), data); err != nil {
		return Result{}, fmt.Errorf("pdftext: read: %w", err)
	}
	// The library panics on what it does not expect; nothing of it may escape.
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, x)
		}
	}()
	f, err := openFile(ctx, data, limits)
	if err != nil {
		return Result{}, err
	}
	plain, err := f.plain()
	if err != nil {
		return Result{}, err
	}
	m, repaired := f.meter, f.repaired // the rest of f is not needed any more
	d, err := readPlain(bytes.NewReader(plain), int64(len(plain)), m)
	if err != nil {
		return Result{}, err
	}
	res = d.extract()
	res.Repaired = repaired
	switch {
	case m.err != nil:
		err = m.err
	case res.Unmapped > res.Glyphs/2:
		err = ErrUndecodable
	}
	if err != nil {
		res.Text = ""
	}
	return res, err
}
