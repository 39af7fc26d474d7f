package jsonout

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Writer appends JSON text to a buffer, for what is encoded too often for
// reflection or has an order that maps lose. It puts the commas; that names and
// values take turns is up to its user. The zero value is ready to use; [Over]
// writes behind what a buffer has.
type Writer struct {
	Buf   []byte
	start int // where in Buf what is written begins
}

// Over returns a Writer that appends one value to a buffer.
func Over(b []byte) Writer { return Writer{Buf: b, start: len(b)} }

// separate puts a comma before a name or value that is not the first of what
// is open.
func (w *Writer) separate() {
	if n := len(w.Buf); n > w.start {
		switch w.Buf[n-1] {
		case '{', '[', ':':
		default:
			w.Buf = append(w.Buf, ',')
		}
	}
}

// Object and EndObject begin and end an object, Array and EndArray an array.
func (w *Writer) Object()    { w.separate(); w.Buf = append(w.Buf, '{') }
func (w *Writer) EndObject() { w.Buf = append(w.Buf, '}') }
func (w *Writer) Array()     { w.separate(); w.Buf = append(w.Buf, '[') }
func (w *Writer) EndArray()  { w.Buf = append(w.Buf, ']') }

// Name begins a member of an object. It returns w, for the value to follow.
func (w *Writer) Name(name string) *Writer {
	w.String(name)
	w.Buf = append(w.Buf, ':')
	return w
}

// String writes a string. Bytes that are not UTF-8 become U+FFFD.
func (w *Writer) String(s string) {
	w.BeginString()
	w.AddString(s)
	w.EndString()
}

// BeginString begins a string that AddString adds pieces to, whole characters
// each, until EndString.
func (w *Writer) BeginString()       { w.separate(); w.Buf = append(w.Buf, '"') }
func (w *Writer) AddString(s string) { w.Buf = appendEscaped(w.Buf, s) }
func (w *Writer) EndString()         { w.Buf = append(w.Buf, '"') }

// StringMember writes a member of an object unless its string is empty.
func (w *Writer) StringMember(name, s string) {
	if s != "" {
		w.Name(name).String(s)
	}
}

// IntMember writes a member of an object unless its integer is 0.
func (w *Writer) IntMember(name string, n int64) {
	if n != 0 {
		w.Name(name).Int(n)
	}
}

// Int writes an integer.
func (w *Writer) Int(n int64) {
	w.separate()
	w.Buf = strconv.AppendInt(w.Buf, n, 10)
}

// Uint writes an integer.
func (w *Writer) Uint(n uint64) {
	w.separate()
	w.Buf = strconv.AppendUint(w.Buf, n, 10)
}

// Bool writes true or false.
func (w *Writer) Bool(b bool) {
	w.separate()
	w.Buf = strconv.AppendBool(w.Buf, b)
}

// Null writes null.
func (w *Writer) Null() {
	w.separate()
	w.Buf = append(w.Buf, "null"...)
}

// Float writes a finite number as encoding/json does: with as few digits as tell
// it from its neighbours, and an exponent only where it is very large or small.
func (w *Writer) Float(f float64) {
	w.separate()
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	w.Buf = strconv.AppendFloat(w.Buf, f, format, -1, 64)
	if n := len(w.Buf); format == 'e' && w.Buf[n-4] == 'e' && w.Buf[n-3] == '-' && w.Buf[n-2] == '0' {
		w.Buf = append(w.Buf[:n-2], w.Buf[n-1]) // e-09 is written e-9
	}
}

// Raw writes a value that is JSON already, without the blanks between its parts,
// or null where there is none. What is not valid JSON becomes null, too: it
// would make the whole text invalid.
func (w *Writer) Raw(raw json.RawMessage) {
	if len(raw) == 0 {
		w.Null()
		return
	}
	w.separate()
	b := bytes.NewBuffer(w.Buf)
	if json.Compact(b, raw) != nil {
		w.Buf = append(w.Buf, "null"...)
		return
	}
	w.Buf = b.Bytes()
}

// Plain returns a value that is JSON already in one spelling: without blanks
// between its parts, and with no escapes but those that JSON needs. So a value reads
// the same, whatever its sender has escaped.
func Plain(raw json.RawMessage) []byte {
	var w Writer
	w.Raw(raw)
	if !bytes.Contains(w.Buf, []byte(`\u`)) && !bytes.Contains(w.Buf, []byte(`\/`)) {
		return w.Buf
	}
	b := make([]byte, 0, len(w.Buf))
	for rest := w.Buf; len(rest) > 0; {
		quote := bytes.IndexByte(rest, '"')
		if quote < 0 {
			return append(b, rest...)
		}
		n := quote + 1
		for rest[n] != '"' {
			if rest[n] == '\\' {
				n++
			}
			n++
		}
		var text string
		_ = json.Unmarshal(rest[quote:n+1], &text) // a string of valid JSON
		b = append(b, rest[:quote+1]...)
		for {
			// JSON does not need what Marshal escapes for JavaScript.
			i := strings.IndexAny(text, "\u2028\u2029")
			if i < 0 {
				break
			}
			n := i + len("\u2028")
			b = append(appendEscaped(b, text[:i]), text[i:n]...)
			text = text[n:]
		}
		b = append(appendEscaped(b, text), '"')
		rest = rest[n+1:]
	}
	return b
}

// Tags writes string tags in the order of their names; nil is an empty object.
func Tags(w *Writer, tags map[string]string) {
	w.Object()
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		w.Name(name).String(tags[name])
	}
	w.EndObject()
}

const hex = "0123456789abcdef"

// appendEscaped appends what is between the quotes of s as a JSON string, as
// [Marshal] writes it.
func appendEscaped(b []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i += plain(s[i:])
			continue
		}
		r, n := rune(c), 1
		if c >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
			if (r != utf8.RuneError || n > 1) && r != '\u2028' && r != '\u2029' {
				i += n
				continue
			}
		}
		b = append(b, s[start:i]...)
		b = appendEscape(b, r)
		i += n
		start = i
	}
	return append(b, s[start:]...)
}

// plain returns how many bytes of ASCII s begins with that need no escape.
func plain(s string) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	i := 0
	for ; i+8 <= len(s); i += 8 {
		// A byte's highest bit is set in a word where the byte is below a blank, or
		// a quote, or a backslash, or no ASCII; perhaps also in one behind such a byte.
		eight := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		quotes, slashes := eight^'"'*ones, eight^'\\'*ones
		if ((eight-' '*ones)|(quotes-ones)|(slashes-ones)|eight)&highs != 0 {
			break
		}
	}
	for i < len(s) && s[i] >= ' ' && s[i] != '"' && s[i] != '\\' && s[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// appendEscape appends the escape of one character of the basic plane.
func appendEscape(b []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', hex[r>>12&0xf], hex[r>>8&0xf], hex[r>>4&0xf], hex[r&0xf])
}
