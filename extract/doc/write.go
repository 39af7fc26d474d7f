package doc

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/seed-506d8e5d/svc/extract/internal/markdown"
)

// Characters that mean something to Word. Those that end rows and the cells of
// nested tables are our own: Word leaves their codes free.
const (
	nothing        = 0x00
	pictureMark    = 0x01
	noteMark       = 0x02
	commentMark    = 0x05
	rowMark        = 0x06
	cellLine       = 0x10
	cellMark       = 0x07
	shapeMark      = 0x08
	tabChar        = 0x09
	lineBreak      = 0x0B
	sectionMark    = 0x0C // or the break of a page
	paragraphMark  = 0x0D
	columnBreak    = 0x0E
	fieldBegin     = 0x13
	fieldSeparator = 0x14
	fieldEnd       = 0x15
	hardHyphen     = 0x1E
	optionalHyphen = 0x1F
	nestedCellMark = 0x16
	nestedRowMark  = 0x17
	softHyphen     = 0xAD
)

// writer turns characters into lines of text, and the cells of rows into tables.
type writer struct {
	text      []byte
	lineEnds  int             // due before the next text
	due       string          // what the line of the paragraph begins with
	paragraph int             // where the text of the paragraph begins
	cell      int             // where the text of the cell begins, -1 outside of cells
	cells     []markdown.Cell // of the open row
	rows      []tableRow      // of the open table
	inTable   bool
	dropped   bool // something in the row is not shown
	inner     int  // cells of a nested table that ended in the line
	links     []openLink
	newPage   bool // a page began
}

// openLink is a link whose text goes on.
type openLink struct {
	url  string
	from int // where its text begins
}

func (w *writer) write(s string) {
	if w.newPage && s != "" && w.cell < 0 {
		w.newPage = false
		if len(w.text) > 0 {
			w.text = append(bytes.TrimRight(w.text, "\n"), "\n\n---"...)
			w.lineEnds = 2
			w.paragraph = len(w.text)
		}
	}
	if len(w.text) > 0 {
		for range min(w.lineEnds, 2) {
			w.text = append(w.text, '\n')
		}
	}
	if w.inner > 0 && s != "" {
		w.text = append(w.text, "; "...)
	}
	w.lineEnds, w.inner = 0, 0
	w.text = append(append(w.text, w.due...), s...)
	w.due = ""
}

// begin begins a paragraph.
func (w *writer) begin() { w.paragraph, w.due = len(w.text), "" }

// endLine ends a paragraph in a cell.
func (w *writer) endLine() {
	w.enterCell()
	w.lineEnds++
	w.begin()
}

// enterCell makes the paragraph the first of a cell unless one goes on.
func (w *writer) enterCell() {
	if w.cell < 0 {
		w.cell = w.paragraph
	}
}

// endCell takes the text of the cell into the table.
func (w *writer) endCell() {
	w.enterCell()
	w.cells = append(w.cells, markdown.Cell{Text: strings.Trim(string(w.text[w.cell:]), "\n")})
	w.text = w.text[:w.cell]
	w.inTable, w.cell, w.lineEnds, w.inner = true, -1, 0, 0
	w.begin()
}

// endRow ends a row, which is dropped where it was deleted.
func (w *writer) endRow(def rowDef) {
	hasText := slices.ContainsFunc(w.cells, func(c markdown.Cell) bool { return c.Text != "" })
	if hasText || !w.dropped {
		w.rows = append(w.rows, tableRow{w.cells, def})
	}
	w.cells = nil
	w.text = w.text[:w.paragraph] // the mark of a row has no text
	w.dropped = false
	w.cell = -1
	w.begin()
}

// endTable writes the table before the paragraph behind it.
func (w *writer) endTable() {
	if !w.inTable {
		return
	}
	if len(w.cells) > 0 {
		w.rows = append(w.rows, tableRow{cells: w.cells})
	}
	text := tableText(w.rows)
	w.rows, w.cells, w.inTable, w.cell = nil, nil, false, -1
	between := "\n\n"
	if text == "" { // a cell without text
		between = "\n"
	}
	after := strings.TrimLeft(string(w.text[w.paragraph:]), "\n")
	w.text = bytes.TrimRight(w.text[:w.paragraph], "\n")
	for _, part := range []string{text, after} {
		if part != "" && len(w.text) > 0 {
			w.text = append(w.text, between...)
		}
		w.text = append(w.text, part...)
	}
	if after == "" && len(w.text) > 0 {
		w.lineEnds = max(w.lineEnds, 1)
	}
}

// endParagraph ends a paragraph outside of tables.
func (w *writer) endParagraph() {
	w.endTable()
	w.cell = -1
	w.lineEnds++
	w.begin()
}

// write writes out one of the documents.
func (d *document) write(p part) string {
	w := writer{cell: -1}
	for i := 0; i < len(p.chars); i++ {
		w.beginWith(d.headings[p.at+i], d.labels[p.at+i])
		w.newPage = w.newPage || d.pages[p.at+i]
		c := p.chars[i]
		if c == nothing {
			w.dropped = true
			continue
		}
		switch {
		case c == noteMark, c == commentMark:
			mark := d.marks[p.at+i]
			w.write(mark)
			if strings.HasSuffix(mark, " ") && i+1 < len(p.chars) && isBlank(p.chars[i+1]) {
				i++
			}
		case c == pictureMark, c == shapeMark:
			if description := d.descriptions[p.at+i]; description != "" {
				w.write(description)
			}
		case c == rowMark:
			w.endRow(d.rows[p.at+i])
		case c == sectionMark && !d.sections[p.at+i]:
			w.control(c)
			w.newPage = true
		case c == fieldSeparator || c == fieldEnd:
			w.link(d.links[p.at+i], d.linkEnds[p.at+i])
		case c < 0x20:
			w.control(c)
		case utf16.IsSurrogate(rune(c)) && i+1 < len(p.chars):
			if r := utf16.DecodeRune(rune(c), rune(p.chars[i+1])); r != 0xFFFD {
				w.write(string(r))
				i++
			}
		default:
			w.write(plain(rune(c)))
		}
	}
	w.endTable()
	return strings.Trim(string(w.text), "\n")
}

// beginWith sets what the line of a paragraph begins with, where there is
// something: a heading without text leaves no mark, an item its number.
func (w *writer) beginWith(heading int, label string) {
	if heading > 0 {
		w.due = strings.Repeat("#", heading) + " "
	}
	if label != "" {
		w.due += label
	}
}

func (w *writer) control(c uint16) {
	switch c {
	case paragraphMark, sectionMark, columnBreak:
		if strings.TrimLeft(w.due, "# ") != "" {
			w.write("") // an item without text has its number
		}
		w.endParagraph()
	case lineBreak:
		w.write("\n")
	case cellLine:
		w.endLine()
	case cellMark:
		w.endCell()
	case nestedCellMark:
		w.enterCell()
		w.inner++
	case nestedRowMark:
		w.lineEnds, w.inner = 1, 0
	case tabChar:
		w.write("\t")
	case hardHyphen:
		w.write("-")
	}
}

func isBlank(c uint16) bool { return c == ' ' || c == tabChar }

// plain returns the text of a character, "" for those that do not show.
func plain(r rune) string {
	switch {
	case r == softHyphen, r == 0xFEFF, r >= 0xFFF0 && r != unicode.ReplacementChar, utf16.IsSurrogate(r):
		return ""
	case r >= 0xF020 && r <= 0xF0FF: // the private area of symbol fonts
		return "•"
	}
	return string(r)
}

// link begins a link to an address, or ends the last one.
func (w *writer) link(url string, ends bool) {
	const most = 64
	if url != "" && len(w.links) < most {
		w.write("")
		w.links = append(w.links, openLink{url, len(w.text)})
	}
	n := len(w.links)
	if !ends || n == 0 {
		return
	}
	l := w.links[n-1]
	w.links = w.links[:n-1]
	if l.from > len(w.text) {
		return // a cell has ended
	}
	if text := string(w.text[l.from:]); markdown.IsLink(text, l.url) {
		w.text = append(w.text[:l.from], "["+text+"]("+l.url+")"...)
	}
}
