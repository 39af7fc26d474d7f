package httpapi

import (
	"strconv"
	"unicode/utf8"
)

// The events of streams are written by hand, into a buffer that is used again
// for the next: there is one for every token.

const hex = "0123456789abcdef"

// appendString appends s as a JSON string, as encoding/json writes it without
// the escapes that only HTML needs.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if (r != utf8.RuneError || n > 1) && r != '\u2028' && r != '\u2029' {
				i += n
				continue
			}
			b = append(b, s[start:i]...)
			b = appendEscape(b, r)
			i += n
			start = i
			continue
		}
		b = append(b, s[start:i]...)
		b = appendEscape(b, rune(c))
		i++
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
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

// appendField appends `,"name":` and a string.
func appendField(b []byte, name, value string) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return appendString(b, value)
}

// appendInt appends `,"name":` and a number.
func appendInt(b []byte, name string, value int) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return strconv.AppendInt(b, int64(value), 10)
}

// appendJSON appends `,"name":` and a value that has been encoded already.
func appendJSON(b []byte, name string, value []byte) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return append(b, value...)
}
