package doc

import (
	"strings"
	"unicode/utf16"

	"github.com/seed-506d8e5d/svc/extract/internal/word"
)

// hideFieldCodes takes out what does not show of fields: the code with the
// separator, or all of a field that has no result; equations have none and show all
// the same. A field without an end shows.
// Of links the address is remembered.
func (d *document) hideFieldCodes(p part) {
	chars := p.chars
	const maxOpen, maxCode = 64, 4096 // Word has 20 open
	type open struct{ begin, separator int }
	var fields []open
	for i, c := range chars {
		n := len(fields)
		switch {
		case c == fieldBegin && n < maxOpen:
			fields = append(fields, open{i, -1})
		case c == fieldSeparator && n > 0 && fields[n-1].separator < 0:
			fields[n-1].separator = i
		case c == fieldEnd && n > 0:
			f := fields[n-1]
			fields = fields[:n-1]
			if f.separator < 0 {
				f.separator = i
			}
			code := strings.ReplaceAll(string(utf16.Decode(chars[f.begin+1:min(f.separator, f.begin+maxCode)])), "\x00", "")
			if url := word.FieldLink(code); url != "" && f.separator < i {
				d.links[p.at+f.separator], d.linkEnds[p.at+i] = url, true
			}
			clear(chars[f.begin:f.separator])
			if i-f.separator <= 1 {
				copy(chars[f.begin:f.separator], utf16.Encode([]rune(word.FieldEquation(code))))
			}
		}
	}
}
