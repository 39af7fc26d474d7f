package docxtext

import "strings"

// story is text under construction: the body, a header, a note or a text box.
type story struct {
	text      strings.Builder
	lineEnds  int      // line ends due before the next text
	rows      []int    // cells begun, for each open table row
	boxes     []string // text boxes anchored in the open paragraph
	fields    []field  // open fields
	hidden    bool     // in a run that is not shown
	paragraph paragraph
}

// paragraph is what the properties of the open paragraph say.
type paragraph struct {
	style  string
	numID  string
	level  string
	joined bool // its mark is deleted: the next paragraph continues it
}

// field is a field between its first and last character.
type field struct {
	inCode bool
	form   form
}

// write appends text after the line ends that are due. At most one line is left
// blank.
func (s *story) write(text string) {
	s.flush()
	s.text.WriteString(text)
}

func (s *story) flush() {
	if s.text.Len() > 0 {
		for range min(s.lineEnds, 2) {
			s.text.WriteByte('\n')
		}
	}
	s.lineEnds = 0
}

// inCode tells whether the text belongs to the code of a field.
func (s *story) inCode() bool {
	for _, f := range s.fields {
		if f.inCode {
			return true
		}
	}
	return false
}

func (s *story) endParagraph() {
	// The code of a field that the paragraph leaves open is most often a
	// field without an end; its text must not swallow the document.
	for i := range s.fields {
		s.fields[i].inCode = false
	}
	if !s.paragraph.joined {
		s.lineEnds++
	}
	s.paragraph = paragraph{}
	for _, box := range s.boxes {
		s.lineEnds = max(s.lineEnds, 1)
		s.write(box)
		s.lineEnds = 1
	}
	s.boxes = nil
}

func (s *story) startRow() {
	s.flush()
	s.rows = append(s.rows, 0)
}

// startCell parts the cell from the one before by a tab.
func (s *story) startCell() {
	n := len(s.rows)
	if n == 0 {
		return
	}
	if s.rows[n-1] > 0 {
		s.lineEnds = 0
		s.text.WriteByte('\t')
	}
	s.rows[n-1]++
}

func (s *story) endRow() {
	if n := len(s.rows); n > 0 {
		s.rows = s.rows[:n-1]
	}
	s.lineEnds = 1
}

// String returns the text, with the boxes of a paragraph that never ended.
func (s *story) String() string {
	if len(s.boxes) > 0 {
		s.endParagraph()
	}
	return strings.Trim(s.text.String(), "\n")
}
