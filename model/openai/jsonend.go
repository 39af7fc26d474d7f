package openai

import "strings"

// trailingBlanks is how many bytes of white space behind a complete object are
// taken for the end of an answer.
const trailingBlanks = 8

// maxBlanks is how many bytes of white space may come in one piece before the object, or
// between its tokens. Some models write nothing else when they are held to JSON.
const maxBlanks = 4 << 10

// jsonEnd watches the text of a structured answer for its end: servers that hold
// the model to a grammar let it run on with white space behind the object. The
// zero value is at the beginning of an answer.
type jsonEnd struct {
	depth            int
	inString, escape bool
	begun, other     bool // an object has begun; something else is there, too
	blank            int  // bytes of white space behind the object
	run              int  // bytes of white space outside of strings that came last
}

// add reads the next piece of text.
func (j *jsonEnd) add(text string) {
	for i := 0; i < len(text) && !j.other; i++ {
		j.next(text[i])
	}
}

// endless reports whether nothing but white space comes, and the object has not come.
func (j *jsonEnd) endless() bool { return j.run > maxBlanks }

// over reports whether the object is complete and nothing but white space has
// followed for a while.
func (j *jsonEnd) over() bool { return !j.other && j.blank >= trailingBlanks }

func (j *jsonEnd) next(c byte) {
	if j.run++; j.inString || strings.IndexByte(blanks, c) < 0 {
		j.run = 0
	}
	switch {
	case j.escape:
		j.escape = false
	case j.inString:
		j.escape = c == '\\'
		j.inString = c != '"'
	case c == '{' || c == '[':
		j.other = j.begun && j.depth == 0
		j.begun = true
		j.depth++
	case c == '}' || c == ']':
		j.depth--
	case j.depth > 0:
		j.inString = c == '"'
	case strings.IndexByte(blanks, c) < 0:
		j.other = true
	case j.begun:
		j.blank++
	}
}
