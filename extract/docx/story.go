package docx

import (
	"strings"

	"github.com/seed-506d8e5d/svc/extract/internal/markdown"
	"github.com/seed-506d8e5d/svc/extract/internal/word"
)

// story is text under construction: the body, a header, a note, a text box or a
// cell of a table.
type story struct {
	text      []byte
	lineEnds  int               // line ends due before the next text
	due       string            // what begins the paragraph's line, due before its text
	cell      *markdown.Cell    // what the story is the text of, or nil
	tables    []*markdown.Table // open tables
	links     []link            // open links
	boxes     []string          // text boxes anchored in the open paragraph
	fields    []field           // open fields
	codes     int               // open fields that are still in their code
	hidden    bool              // in a run that is not shown
	font      string            // of the run
	run       run
	paragraph paragraph
}

// link is a link whose text goes on.
type link struct {
	url  string
	from int // where its text begins
}

// paragraph is what the properties of the open paragraph say.
type paragraph struct {
	style   string
	numID   string
	level   string
	outline string // the level of a heading, counted from 0
	heading bool
	newPage bool // it begins a page
	joined  bool // its mark is deleted: the next paragraph continues it
}

// run is what the properties of the open run say about whether it shows.
type run struct {
	style  string
	vanish *bool // nil where they say nothing
}

// field is a field between its first and last character.
type field struct {
	inCode bool
	code   []byte // as far as it matters
	link   bool   // its result is a link
	from   int    // how much text there was before its result
	form   form
}

// write appends text after the line ends that are due. At most one line is left
// blank.
func (s *story) write(text string) {
	s.flush()
	s.text = append(s.text, text...)
}

func (s *story) flush() {
	if len(s.text) > 0 {
		for range min(s.lineEnds, 2) {
			s.text = append(s.text, '\n')
		}
	}
	s.lineEnds = 0
	s.text = append(s.text, s.due...)
	s.due = ""
}

// block writes text that stands alone, between blank lines.
func (s *story) block(text string) {
	if text == "" {
		return
	}
	s.due = ""
	s.lineEnds = max(s.lineEnds, 2)
	s.write(text)
	s.lineEnds = 2
}

// startLink and endLink put a link around the text between them, unless it has
// none, is the address itself or goes on over several lines.
func (s *story) startLink(url string) {
	s.flush()
	if len(s.links) < maxDepth {
		s.links = append(s.links, link{url, len(s.text)})
	}
}

func (s *story) endLink() {
	n := len(s.links)
	if n == 0 {
		return
	}
	l := s.links[n-1]
	s.links = s.links[:n-1]
	if l.url == "" || l.from > len(s.text) {
		return
	}
	text := string(s.text[l.from:])
	if !markdown.IsLink(text, l.url) {
		return
	}
	s.text = append(s.text[:l.from], "["+text+"]("+l.url+")"...)
}

// maxCode is how much of a field's code is kept.
const maxCode = 4096

// addCode takes a part of the code of the innermost field.
func (s *story) addCode(text []byte) {
	if n := len(s.fields); n > 0 && s.fields[n-1].inCode {
		f := &s.fields[n-1]
		f.code = append(f.code, text[:min(len(text), maxCode-len(f.code))]...)
	}
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
	n := len(s.fields)
	if n == 0 || !s.fields[n-1].inCode {
		return
	}
	f := &s.fields[n-1]
	f.inCode = false
	f.from = len(s.text) + len(s.due)
	s.codes--
	if url := word.FieldLink(string(f.code)); url != "" && s.codes == 0 {
		f.link = true
		s.startLink(url)
	}
}

// endField closes the innermost field and returns what it shows as a form or an
// equation.
func (s *story) endField() string {
	s.endCode()
	n := len(s.fields)
	if n == 0 {
		return ""
	}
	f := s.fields[n-1]
	s.fields = s.fields[:n-1]
	if f.link {
		s.endLink()
	}
	if len(s.text)+len(s.due) == f.from {
		if equation := word.FieldEquation(string(f.code)); equation != "" {
			return equation
		}
	}
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
	s.paragraph, s.due = paragraph{}, ""
	for _, box := range s.boxes {
		s.lineEnds = max(s.lineEnds, 1)
		s.write(box)
		s.lineEnds = 1
	}
	s.boxes = nil
}

// table is the innermost open table, or nil.
func (s *story) table() *markdown.Table {
	if n := len(s.tables); n > 0 {
		return s.tables[n-1]
	}
	return nil
}

// String returns the text, with the boxes of a paragraph that never ended.
func (s *story) String() string {
	if len(s.boxes) > 0 {
		s.endParagraph()
	}
	return strings.Trim(string(s.text), "\n")
}
