package docxtext

import "strings"

// story is text under construction: the body, a header, a note or a text box.
type story struct {
	text      strings.Builder
	lineEnds  int      // line ends due before the next text
	rows      []int    // cells begun, for each open table row
	boxes     []string // text boxes anchored in the open paragraph
	fields    []field  // open fields
	codes     int      // open fields that are still in their code
	hidden    bool     // in a run that is not shown
	font      string   // of the run
	run       run
	paragraph paragraph
}

// paragraph is what the properties of the open paragraph say.
type paragraph struct {
	style  string
	numID  string
	level  string
	joined bool // its mark is deleted: the next paragraph continues it
}

// run is what the properties of the open run say about whether it shows.
type run struct {
	style  string
	vanish *bool // nil where they say nothing
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

// beginField opens a field, whose code comes first.
func (s *story) beginField() {
	if len(s.fields) < maxDepth {
		s.fields = append(s.fields, field{inCode: true})
		s.codes++
	}
}

// endCode goes on to the result of the innermost field.
func (s *story) endCode() {
	if n := len(s.fields); n > 0 && s.fields[n-1].inCode {
		s.fields[n-1].inCode = false
		s.codes--
	}
}

// endField closes the innermost field and returns what it shows as a form.
func (s *story) endField() string {
	s.endCode()
	n := len(s.fields)
	if n == 0 {
		return ""
	}
	f := s.fields[n-1]
	s.fields = s.fields[:n-1]
	return f.form.String()
}

func (s *story) endParagraph() {
	// The code of a field that the paragraph leaves open is most often a
	// field without an end, and must not swallow the document.
	if s.codes > 0 {
		for i := range s.fields {
			s.fields[i].inCode = false
		}
		s.codes = 0
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
