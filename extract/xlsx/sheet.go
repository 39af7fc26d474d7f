package xlsx

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/internal/markdown"
	"github.com/seed-506d8e5d/svc/extract/internal/ooxml"
)

// row is a row that is being read.
type row struct {
	book  *workbook
	line  strings.Builder
	cells int // in the line
	begun bool

	// The open cell.
	column int
	next   int    // the column behind it
	kind   string // its attribute t
	style  int
	value  strings.Builder
}

// sheet writes a sheet.
func (b *workbook) sheet(title, name string) error {
	part, err := b.c.ReadSide(name, ooxml.MaxPart)
	if err != nil || part == nil {
		return err
	}
	if b.text.Len() > 0 {
		b.text.WriteByte('\n')
	}
	b.text.WriteString("# " + strings.Join(strings.Fields(title), " ") + "\n")
	r := &row{book: b}
	if err := b.walk(part, r.visit); err != nil {
		return err
	}
	return r.end()
}

func (r *row) visit(path []string, token xml.Token) error {
	in := path[len(path)-1]
	switch t := token.(type) {
	case xml.StartElement:
		switch in {
		case "row":
			return r.end()
		case "c":
			r.start(t)
		}
	case xml.CharData:
		if in == "v" || in == "t" && !isPhonetic(path) {
			r.value.Write(t)
		}
	case xml.EndElement:
		switch in {
		case "c":
			return r.cell()
		case "row":
			return r.end()
		}
	}
	return nil
}

// start begins a cell. One that does not say where it is stands behind the one before.
func (r *row) start(e xml.StartElement) {
	r.kind = ooxml.Attr(e, "t")
	r.style, _ = strconv.Atoi(ooxml.Attr(e, "s"))
	r.value.Reset()
	r.column = r.next
	if at := columnOf(ooxml.Attr(e, "r")); at >= 0 {
		r.column = at
	}
	r.next = min(r.column+1, maxColumns)
}

// columnOf returns the column that a reference such as AB12 names, counted from 0, or -1.
func columnOf(reference string) int {
	n := 0
	for i := range len(reference) {
		c := reference[i] | 0x20
		if c < 'a' || c > 'z' {
			break
		}
		if n = n*26 + int(c-'a') + 1; n > maxColumns {
			return -1
		}
	}
	return n - 1
}

// cell ends a cell.
func (r *row) cell() error {
	text := markdown.CellText(r.shown())
	if text == "" || r.column < r.cells {
		return nil
	}
	for ; r.cells < r.column; r.cells++ {
		r.line.WriteString(" |")
	}
	r.cells++
	r.line.WriteString(" " + text + " |")
	return r.check()
}

func (r *row) check() error {
	if r.book.text.Len()+r.line.Len() > maxText {
		return fmt.Errorf("%w: text", extract.ErrTooLarge)
	}
	return nil
}

// shown returns the value of the open cell as it is shown.
func (r *row) shown() string {
	value := r.value.String()
	switch r.kind {
	case "s":
		if i, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && i >= 0 && i < len(r.book.shared) {
			return r.book.shared[i]
		}
		return ""
	case "b":
		return map[string]string{"1": "TRUE", "0": "FALSE"}[strings.TrimSpace(value)]
	case "str", "inlineStr", "e", "d":
		return value
	}
	return r.book.formats.number(strings.TrimSpace(value), r.style)
}

// end writes the row, if something stands in it. The first one of a sheet is the head of
// its table.
func (r *row) end() error {
	r.next = 0
	if r.cells == 0 {
		return nil
	}
	b := &r.book.text
	b.WriteString("|" + r.line.String() + "\n")
	if !r.begun {
		b.WriteString("|" + strings.Repeat(" --- |", r.cells) + "\n")
	}
	r.begun, r.cells = true, 0
	r.line.Reset()
	return r.check()
}
