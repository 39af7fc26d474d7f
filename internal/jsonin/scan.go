package jsonin

import (
	"fmt"
	"slices"
	"unicode/utf8"
	"unsafe"

	"github.com/seed-506d8e5d/svc/fault"
)

// MaxDepth is how deep arrays and objects may nest in a body.
const MaxDepth = 128

// Check returns an Invalid error unless data is one JSON value of valid UTF-8
// with nothing behind it, whose objects have no name twice and which nests no
// deeper than [MaxDepth]. The error says at which byte the first problem is.
func Check(data []byte) error {
	if !utf8.Valid(data) {
		return fault.Invalidf("", "The request body is not valid UTF-8.")
	}
	s := scanner{data: data}
	s.space()
	if s.pos == len(data) {
		return fault.Invalidf("", "The request body is empty; it must be JSON.")
	}
	err := s.value()
	if err == nil {
		if s.space(); s.pos < len(data) {
			err = s.errorf("there is more after the value")
		}
	}
	return err
}

// scanner checks JSON in one pass. Its methods leave pos behind what they read.
type scanner struct {
	data  []byte
	pos   int
	depth int
	names []string // of the objects that are open, the innermost object's last
}

func (s *scanner) errorf(format string, args ...any) error {
	return fault.Invalidf("", "The request body is not valid JSON: %s (byte %d).", fmt.Sprintf(format, args...), s.pos)
}

// peek returns the next byte, or 0 at the end: no value begins with 0.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) value() error {
	switch c := s.peek(); {
	case c == '{':
		return s.object()
	case c == '[':
		return s.array()
	case c == '"':
		return s.text()
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	case s.pos == len(s.data):
		return s.errorf("it ends too early")
	}
	return s.errorf("a value must begin here")
}

func (s *scanner) word(w string) error {
	if len(s.data)-s.pos < len(w) || string(s.data[s.pos:s.pos+len(w)]) != w {
		return s.errorf("a value must begin here")
	}
	s.pos += len(w)
	return nil
}

// open steps into an array or object, unless it is empty, which it reports.
func (s *scanner) open(end byte) (empty bool, err error) {
	if s.depth++; s.depth > MaxDepth {
		return false, s.errorf("it nests deeper than %d levels", MaxDepth)
	}
	s.pos++
	s.space()
	if s.peek() == end {
		s.pos++
		s.depth--
		return true, nil
	}
	return false, nil
}

// next steps over what separates two elements and reports whether it was the
// end of the array or object.
func (s *scanner) next(end byte) (done bool, err error) {
	s.space()
	switch s.peek() {
	case ',':
		s.pos++
		s.space()
		return false, nil
	case end:
		s.pos++
		s.depth--
		return true, nil
	}
	return false, s.errorf("a comma or %q must follow here", end)
}

func (s *scanner) array() error {
	done, err := s.open(']')
	for err == nil && !done {
		if err = s.value(); err == nil {
			done, err = s.next(']')
		}
	}
	return err
}

func (s *scanner) object() error {
	names := objectNames{first: len(s.names)}
	done, err := s.open('}')
	for err == nil && !done {
		if err = s.member(&names); err == nil {
			done, err = s.next('}')
		}
	}
	s.names = s.names[:names.first]
	return err
}

func (s *scanner) member(names *objectNames) error {
	start := s.pos
	if s.peek() != '"' {
		return s.errorf("a name in double quotes must begin here")
	}
	if err := s.text(); err != nil {
		return err
	}
	name := unquote(unsafe.String(&s.data[start], s.pos-start)) // kept no longer than data
	if names.has(s.names, name) {
		return s.errorf("the name %q stands twice in one object", name)
	}
	if names.set == nil {
		s.names = append(s.names, name)
	}
	s.space()
	if s.peek() != ':' {
		return s.errorf("a colon must follow here")
	}
	s.pos++
	s.space()
	return s.value()
}

// objectNames finds a name among those an object has so far: in the scanner's
// list, from first on, and with many names in a set.
type objectNames struct {
	first int
	set   map[string]bool
}

func (o *objectNames) has(names []string, name string) bool {
	const many = 16
	names = names[o.first:]
	if o.set == nil && len(names) < many {
		return slices.Contains(names, name)
	}
	if o.set == nil {
		o.set = make(map[string]bool, 4*many)
		for _, n := range names {
			o.set[n] = true
		}
	}
	had := o.set[name]
	o.set[name] = true
	return had
}

func (s *scanner) text() error {
	s.pos++
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		case c < ' ':
			return s.errorf("a control character stands in a string")
		default:
			s.pos++
		}
	}
	return s.errorf("a string has no end")
}

func (s *scanner) escape() error {
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return nil
	case 'u':
		s.pos++
		for range 4 {
			if !isHex(s.peek()) {
				return s.errorf("four hexadecimal digits must follow \\u")
			}
			s.pos++
		}
		return nil
	}
	return s.errorf("an unknown escape stands in a string")
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func (s *scanner) number() error {
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if err := s.digits(); err != nil {
		return err
	}
	if s.peek() == '.' {
		s.pos++
		if err := s.digits(); err != nil {
			return err
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		return s.digits()
	}
	return nil
}

func (s *scanner) digits() error {
	start := s.pos
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.pos++
	}
	if s.pos == start {
		return s.errorf("a digit must follow here")
	}
	return nil
}
