package rtf

import (
	"bytes"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/extract/internal/markdown"
)

// story is a text of its own: the body, a footnote, a header.
type story struct {
	out   strings.Builder
	line  []byte // the paragraph or cell that is being read
	table markdown.Table
	rows  int      // in the table
	row   []string // the cells of the row
}

// cell says how a cell is merged with others.
type cell struct{ before, above bool }

// write adds to the paragraph. One that is in no table ends the table before it.
func (s *story) write(text string, inRow bool) {
	if !inRow && len(s.row) == 0 {
		s.endTable()
	}
	s.line = append(s.line, text...)
}

// endParagraph ends a paragraph, which may be a heading of a level, 0 for none.
func (s *story) endParagraph(inRow bool, level int) {
	if inRow || len(s.row) > 0 {
		s.line = append(s.line, '\n')
		return
	}
	s.endTable()
	text := strings.TrimSpace(string(s.line))
	s.line = s.line[:0]
	if text == "" {
		return
	}
	if level > 0 {
		s.out.WriteString(strings.Repeat("#", level) + " ")
	}
	s.out.WriteString(text + "\n")
}

// maxCells is how many cells a row has at most, as in Word.
const maxCells = 63

func (s *story) endCell() {
	if len(s.row) == maxCells {
		s.line = append(s.line, ' ')
		return
	}
	s.row = append(s.row, strings.TrimSpace(string(s.line)))
	s.line = s.line[:0]
}

// endRow ends a row whose cells are merged as the file says, and returns how many
// bytes it has.
func (s *story) endRow(cells []cell) (size int) {
	if len(s.row) == 0 {
		return 0
	}
	s.table.StartRow()
	merged := func(i int, kind func(cell) bool) bool { return i < len(cells) && kind(cells[i]) && s.row[i] == "" }
	before := func(c cell) bool { return c.before }
	for i := 0; i < len(s.row); {
		c := markdown.Cell{Text: s.row[i], Span: 1, Above: merged(i, func(c cell) bool { return c.above })}
		for i++; i < len(s.row) && merged(i, before); i++ {
			c.Span++
		}
		size += s.table.Add(c)
	}
	s.table.EndRow()
	s.row = s.row[:0]
	s.rows++
	return size
}

// endInnerRow ends a row of a table that stands in a cell.
func (s *story) endInnerRow() {
	s.line = append(bytes.TrimRight(s.line, "; "), '\n')
}

func (s *story) endTable() {
	s.endRow(nil)
	if s.rows > 0 {
		s.out.WriteString(s.table.String() + "\n\n")
	}
	s.table, s.rows = markdown.Table{}, 0
}

// link makes a link of what was written since the line had a length.
func (s *story) link(from int, url string) {
	if from >= len(s.line) || !markdown.IsLink(string(s.line[from:]), url) {
		return
	}
	s.line = slices.Insert(s.line, from, '[')
	s.line = append(s.line, "]("+url+")"...)
}

// text ends the story and returns it.
func (s *story) text() string {
	s.endTable()
	s.endParagraph(false, 0)
	return s.out.String()
}
