package doctext

import (
	"strings"
	"unicode"
	"unicode/utf16"
)

// Characters that mean something to Word. Those that end rows and the cells of
// nested tables are our own: Word leaves their codes free.
const (
	nothing        = 0x00
	noteMark       = 0x02
	commentMark    = 0x05
	rowMark        = 0x06
	cellMark       = 0x07
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

// writer turns characters into lines of text.
type writer struct {
	text     strings.Builder
	lineEnds int  // due before the next text
	tabs     int  // due before the next text of the row
	nested   bool // a row of a nested table was the last that ended
}

// maxTabs is the number of columns that Word has, 63, and one.
const maxTabs = 64

func (w *writer) write(s string) {
	if w.text.Len() > 0 {
		for range min(w.lineEnds, 2) {
			w.text.WriteByte('\n')
		}
	}
	for range min(w.tabs, maxTabs) {
		w.text.WriteByte('\t')
	}
	w.lineEnds, w.tabs, w.nested = 0, 0, false
	w.text.WriteString(s)
}

// endCell parts the cell from the next by a tab. An empty first cell ends the
// line before, but a cell that ends after a table in it is not empty.
func (w *writer) endCell(nested bool) {
	if w.tabs == 0 && (nested || !w.nested) {
		w.write("")
	}
	w.lineEnds = 0
	w.tabs++
}

// endRow ends the line, without the tab after the last cell.
func (w *writer) endRow(nested bool) {
	w.tabs = max(0, w.tabs-1)
	if w.tabs > 0 {
		w.write("")
	}
	w.lineEnds, w.nested = 1, nested
}

// write writes out one of the documents.
func (d *document) write(p part) string {
	var w writer
	due := "" // the label of a paragraph that has not shown anything yet
	for i := 0; i < len(p.chars); i++ {
		if label := d.labels[p.at+i]; label != "" {
			due = label
		}
		c := p.chars[i]
		if c == nothing {
			continue
		}
		if due != "" {
			w.write(due)
			due = ""
		}
		switch {
		case c == noteMark, c == commentMark:
			mark := d.marks[p.at+i]
			w.write(mark)
			if strings.HasSuffix(mark, " ") && i+1 < len(p.chars) && isBlank(p.chars[i+1]) {
				i++
			}
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
	return strings.Trim(w.text.String(), "\n")
}

func (w *writer) control(c uint16) {
	switch c {
	case paragraphMark, sectionMark, columnBreak:
		w.lineEnds++
	case lineBreak:
		w.write("\n")
	case cellMark, nestedCellMark:
		w.endCell(c == nestedCellMark)
	case rowMark, nestedRowMark:
		w.endRow(c == nestedRowMark)
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

// hideFieldCodes takes out what does not show of fields: the code with the
// separator, or all of a field that has no result. A field without an end shows.
func hideFieldCodes(chars []uint16) {
	const maxOpen = 64 // Word has 20
	type open struct{ begin, separator int }
	var fields []open
	for i, c := range chars {
		n := len(fields)
		switch {
		case c == fieldBegin && n < maxOpen:
			fields = append(fields, open{i, -1})
		case c == fieldSeparator && n > 0 && fields[n-1].separator < 0:
			fields[n-1].separator = i
		case c == fieldEnd && n > 0:
			f := fields[n-1]
			fields = fields[:n-1]
			if f.separator < 0 {
				f.separator = i
			}
			clear(chars[f.begin:f.separator])
		}
	}
}
