// Package xlsx reads the text of .xlsx files, Excel workbooks in Office Open XML.
//
// The text is Markdown as models read it: each sheet begins with its name as a heading
// and is a table of its rows, the first of them as its head. Cells have the values that
// Excel stored with them: numbers as they are, percentages and dates as they are shown,
// dates as 2006-01-02 15:04. Rows and columns in which nothing stands are left out at
// the end, and so are hidden sheets, formulas, comments and charts.
package xlsx

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/internal/ooxml"
	"github.com/seed-506d8e5d/svc/extract/internal/rtl"
)

// Limits beside those of package ooxml.
const (
	maxText    = 64 << 20 // bytes of text
	maxStrings = 4 << 20  // texts that cells share
	maxColumns = 16_384   // of a row, as in Excel
)

// Reader is the [extract.Reader] of .xlsx files and their kin with macros and templates.
type Reader struct{}

var _ extract.Reader = Reader{}

// Types implements [extract.Reader].
func (Reader) Types() []extract.Type {
	const modern, macros = "application/vnd.openxmlformats-officedocument.spreadsheetml.", "application/vnd.ms-excel."
	return []extract.Type{
		{MIME: modern + "sheet", Extensions: []string{".xlsx"}},
		{MIME: modern + "template", Extensions: []string{".xltx"}},
		{MIME: macros + "sheet.macroenabled.12", Extensions: []string{".xlsm"}},
	}
}

// Read implements [extract.Reader]. The error wraps one of package extract, or is that of
// ctx, which Read watches while it reads.
func (Reader) Read(ctx context.Context, r io.ReaderAt, size int64) (extract.Document, error) {
	c, err := ooxml.Open(ctx, r, size)
	if err != nil {
		return extract.Document{}, err
	}
	b := &workbook{ctx: ctx, c: c}
	if err := b.read(); err != nil {
		return extract.Document{}, err
	}
	return extract.Document{Text: rtl.Letters(b.text.String()), Partial: c.Damaged}, nil
}

// workbook is a workbook that is being read.
type workbook struct {
	ctx     context.Context
	c       *ooxml.Container
	shared  []string // the texts that cells share
	formats formats
	text    strings.Builder
}

func (b *workbook) read() error {
	main, err := b.c.Main("xl/workbook.xml")
	if err != nil {
		return err
	}
	part, err := b.c.Read(main, ooxml.MaxSide)
	if err != nil {
		return err
	}
	var list struct {
		XMLName xml.Name
		Props   struct {
			From1904 string `xml:"date1904,attr"`
		} `xml:"workbookPr"`
		Sheets []struct {
			Name  string     `xml:"name,attr"`
			State string     `xml:"state,attr"`
			Attrs []xml.Attr `xml:",any,attr"`
		} `xml:"sheets>sheet"`
	}
	whole := ooxml.Decode(part, &list)
	if list.XMLName.Local != "workbook" {
		return fmt.Errorf("%w: the main part is no workbook", extract.ErrFormat)
	}
	b.c.Damaged = b.c.Damaged || !whole
	if err := b.readShared(main); err != nil {
		return err
	}
	if err := b.readFormats(main); err != nil {
		return err
	}
	b.formats.from1904 = on(list.Props.From1904)
	names, err := b.c.Targets(main, "worksheet")
	if err != nil {
		return err
	}
	for _, s := range list.Sheets {
		for _, a := range s.Attrs {
			name, ok := names[a.Value]
			if !ok || a.Name.Local != "id" || s.State == "hidden" || s.State == "veryHidden" {
				continue
			}
			if err := b.sheet(s.Name, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func on(value string) bool { return value == "1" || value == "true" }

// readShared reads the texts that cells share.
func (b *workbook) readShared(main string) error {
	names, err := b.c.Targets(main, "sharedStrings")
	if err != nil {
		return err
	}
	for _, name := range names {
		part, err := b.c.ReadSide(name, ooxml.MaxPart)
		if err != nil {
			return err
		}
		var text strings.Builder
		return b.walk(part, func(path []string, t xml.Token) error {
			in := path[len(path)-1]
			switch t := t.(type) {
			case xml.CharData:
				if in == "t" && !isPhonetic(path) {
					text.Write(t)
				}
			case xml.EndElement:
				if in == "si" {
					b.shared = append(b.shared, text.String())
					text.Reset()
				}
			}
			if len(b.shared) > maxStrings {
				return fmt.Errorf("%w: over %d texts", extract.ErrTooLarge, maxStrings)
			}
			return nil
		})
	}
	return nil
}

// isPhonetic reports whether a text says how another one is read.
func isPhonetic(path []string) bool { return len(path) > 1 && path[len(path)-2] == "rPh" }

// readFormats reads how the styles show numbers.
func (b *workbook) readFormats(main string) error {
	names, err := b.c.Targets(main, "styles")
	if err != nil {
		return err
	}
	for _, name := range names {
		part, err := b.c.ReadSide(name, ooxml.MaxSide)
		if err != nil {
			return err
		}
		if !b.formats.read(part) {
			b.c.Damaged = true
		}
		return nil
	}
	return nil
}

// maxDepth is how many elements may be open: those of sheets nest no deeper.
const maxDepth = 100

// walk calls visit for each token of a part, with the names of the elements that are
// open. The part is read as far as it can be.
func (b *workbook) walk(part []byte, visit func(path []string, t xml.Token) error) error {
	dec, err := ooxml.NewDecoder(string(part))
	if err != nil {
		return err
	}
	var path []string
	for token, err := range ooxml.Tokens(b.ctx, dec) {
		if errors.Is(err, extract.ErrDamaged) {
			b.c.Damaged = true
			return nil
		}
		if err != nil {
			return err
		}
		if start, ok := token.(xml.StartElement); ok {
			if len(path) >= maxDepth {
				return fmt.Errorf("%w: elements nest over %d deep", extract.ErrTooLarge, maxDepth)
			}
			path = append(path, start.Name.Local)
		}
		if len(path) == 0 {
			continue
		}
		if err := visit(path, token); err != nil {
			return err
		}
		if _, ok := token.(xml.EndElement); ok {
			path = path[:len(path)-1]
		}
	}
	return nil
}
