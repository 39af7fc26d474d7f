package jsonin

import (
	"strings"

	"github.com/tidwall/gjson"
)

// walker steps through the values of an array, or the names and values of an
// object, of JSON that [Check] has found good.
type walker struct {
	text string
	pos  int
}

// next moves to the next name or value and reports whether there is one.
func (w *walker) next() bool {
	if w.pos == 0 {
		w.pos = 1 // behind the bracket
	}
	for w.pos < len(w.text) {
		switch w.text[w.pos] {
		case ' ', '\t', '\n', '\r', ',', ':':
			w.pos++
		case ']', '}':
			return false
		default:
			return true
		}
	}
	return false
}

// skip moves behind the value and returns its text.
func (w *walker) skip() string {
	start, depth := w.pos, 0
	for w.pos < len(w.text) {
		switch w.text[w.pos] {
		case '"':
			w.pos += stringLen(w.text[w.pos:])
			if depth == 0 {
				return w.text[start:w.pos]
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // of what the value is in
				return w.text[start:w.pos]
			}
			if depth--; depth == 0 {
				w.pos++
				return w.text[start:w.pos]
			}
		case ' ', '\t', '\n', '\r', ',', ':':
			if depth == 0 {
				return w.text[start:w.pos]
			}
		}
		w.pos++
	}
	return w.text[start:w.pos]
}

// stringLen returns the length of the string that text begins with, its quotes
// included.
func stringLen(text string) int {
	for i := 1; ; {
		end := strings.IndexByte(text[i:], '"')
		if end < 0 {
			return len(text)
		}
		i += end + 1
		backslashes := 0
		for text[i-2-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return i
		}
	}
}

// unquote returns the string that raw writes. One without escapes is part of raw.
// Escapes that name half a surrogate pair become U+FFFD.
func unquote(raw string) string {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	return strings.ToValidUTF8(gjson.Parse(raw).Str, "\uFFFD")
}
