package rtftext

import (
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/files/internal/markdown"
)

// story is a text of its own: the body, a footnote, a header.
type story struct {
	out   strings.Builder
	line  []byte // the paragraph or cell that is being read
	table markdown.Table
	rows  int // in the table
	cells int // in the row
	open  bool
}

// write adds to the paragraph. One that is in no table ends the table before it.
func (s *story) write(text string, inRow bool) {
	if !inRow && !s.open {
		s.endTable()
	}
	s.line = append(s.line, text...)
}

// endParagraph ends a paragraph, which may be a heading of a level, 0 for none.
func (s *story) endParagraph(inRow bool, level int) {
	if inRow || s.open {
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
	if !s.open {
		s.table.StartRow()
		s.open, s.cells = true, 0
	}
	if s.cells++; s.cells > maxCells {
		s.line = append(s.line, ' ')
		return
	}
	s.table.Add(markdown.Cell{Text: strings.TrimSpace(string(s.line))})
	s.line = s.line[:0]
}

func (s *story) endRow() {
	if s.open {
		s.table.EndRow()
		s.rows++
	}
	s.open = false
}

func (s *story) endTable() {
	s.endRow()
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
