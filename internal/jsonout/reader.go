package jsonout

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Reader reads in one pass what a [Writer] has written: JSON without blanks. Once
// something is not as it is asked for it has failed, and every method returns
// nothing: its user then asks encoding/json, which takes more forms and says what
// is wrong. Strings without escapes are parts of the text that is read.
type Reader struct {
	s      string
	failed bool
}

// Readable is a value that reads itself, into its zero value. Whether it could is
// for [Reader.End] to say.
type Readable interface{ ReadJSON(r *Reader) }

// Read returns a Reader of a text.
func Read(text string) Reader { return Reader{s: text} }

// End reports whether the whole text was read.
func (r *Reader) End() bool { return !r.failed && r.s == "" }

// take takes a byte, if it comes next.
func (r *Reader) take(c byte) bool {
	if r.s == "" || r.s[0] != c {
		return false
	}
	r.s = r.s[1:]
	return true
}

func (r *Reader) want(c byte) {
	if !r.take(c) {
		r.Fail()
	}
}

// Object reads an object: it calls member for each name, which has to read the
// value.
func (r *Reader) Object(member func(name string)) {
	r.want('{')
	for more := !r.take('}'); more && !r.failed; more = r.more('}') {
		name := r.String()
		if r.want(':'); !r.failed {
			member(name)
		}
	}
}

// Array reads an array: it calls element for each, which has to read it.
func (r *Reader) Array(element func()) {
	r.want('[')
	for more := !r.take(']'); more && !r.failed; more = r.more(']') {
		element()
	}
}

// more reads what is between two elements, or the end behind the last.
func (r *Reader) more(end byte) bool {
	if r.take(end) {
		return false
	}
	r.want(',')
	return true
}

// String reads a string.
func (r *Reader) String() string {
	r.want('"')
	end := strings.IndexByte(r.s, '"')
	if end < 0 {
		r.want('"')
		return ""
	}
	text := r.s[:end]
	if strings.IndexByte(text, '\\') < 0 {
		r.s = r.s[end+1:]
		return text
	}
	return r.escaped()
}

// escaped reads the rest of a string with escapes.
func (r *Reader) escaped() string {
	var b strings.Builder
	for {
		i := strings.IndexAny(r.s, `"\`)
		if i < 0 || i+1 == len(r.s) && r.s[i] == '\\' {
			r.Fail()
			return ""
		}
		b.WriteString(r.s[:i])
		c := r.s[i]
		if r.s = r.s[i+1:]; c == '"' {
			return b.String()
		}
		b.WriteRune(r.escape())
	}
}

// escapes are what the short escapes stand for.
var escapes = [256]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads what follows a backslash.
func (r *Reader) escape() rune {
	c := r.s[0]
	r.s = r.s[1:]
	if c != 'u' {
		if escapes[c] == 0 {
			r.Fail()
		}
		return escapes[c]
	}
	first := r.unit()
	if !utf16.IsSurrogate(first) {
		return first
	}
	if !strings.HasPrefix(r.s, `\u`) {
		return utf8.RuneError
	}
	rest := r.s
	r.s = r.s[2:]
	if whole := utf16.DecodeRune(first, r.unit()); whole != utf8.RuneError {
		return whole
	}
	r.s = rest // it is none of a pair, and read by itself
	return utf8.RuneError
}

// unit reads four hexadecimal digits.
func (r *Reader) unit() rune {
	if len(r.s) < 4 {
		r.Fail()
		return 0
	}
	n, err := strconv.ParseUint(r.s[:4], 16, 16)
	if err != nil {
		r.Fail()
		return 0
	}
	r.s = r.s[4:]
	return rune(n)
}

// Int reads a whole number that an int64 holds.
func (r *Reader) Int() int64 {
	n, err := strconv.ParseInt(r.digits(), 10, 64)
	if err != nil {
		r.Fail()
	}
	return n
}

// Uint reads a whole number that a uint64 holds.
func (r *Reader) Uint() uint64 {
	n, err := strconv.ParseUint(r.digits(), 10, 64)
	if err != nil {
		r.Fail()
	}
	return n
}

// digits reads the text of a whole number as a Writer writes it: without a plus
// and without zeros in front.
func (r *Reader) digits() string {
	end := 0
	for end < len(r.s) && (r.s[end] == '-' || r.s[end] >= '0' && r.s[end] <= '9') {
		end++
	}
	text := r.s[:end]
	if r.s = r.s[end:]; len(text) > 1 && text[0] == '0' || strings.HasPrefix(text, "-0") {
		r.Fail()
	}
	return text
}

// Bool reads true or false.
func (r *Reader) Bool() bool {
	if rest, ok := strings.CutPrefix(r.s, "true"); ok {
		r.s = rest
		return true
	}
	rest, ok := strings.CutPrefix(r.s, "false")
	r.s, r.failed = rest, r.failed || !ok
	return false
}

// Raw reads a value of any kind and returns its text, in which it looks for
// nothing but the end.
func (r *Reader) Raw() string {
	end := extent(r.s)
	if end <= 0 {
		r.Fail()
		return ""
	}
	text := r.s[:end]
	r.s = r.s[end:]
	return text
}

// extent returns how many bytes the value has that s begins with, -1 where it has
// no end.
func extent(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			n := quoted(s[i:])
			if n < 0 {
				return -1
			}
			i += n - 1
		case '{', '[':
			depth++
		case ',', '}', ']':
			if depth == 0 {
				return i
			}
			if s[i] != ',' {
				depth--
			}
		}
	}
	if depth > 0 {
		return -1
	}
	return len(s)
}

// quoted returns how many bytes the string has that s begins with, -1 where it has
// no end.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// Fail makes the Reader one that has failed: what is next is not known to its user.
func (r *Reader) Fail() { r.failed, r.s = true, "" }
