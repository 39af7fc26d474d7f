package word

import (
	"strings"

	"github.com/seed-506d8e5d/svc/extract/internal/markdown"
)

// FieldLink returns the address of a HYPERLINK field, "" of any other.
func FieldLink(code string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(code), "HYPERLINK")
	if !ok {
		return ""
	}
	rest = strings.TrimSpace(rest)
	if url, ok := strings.CutPrefix(rest, `"`); ok {
		url, _, _ = strings.Cut(url, `"`)
		return markdown.Address(url)
	}
	url, _, _ := strings.Cut(rest, " ")
	return markdown.Address(url)
}

// FieldEquation returns what an EQ field shows, in a line, and "" of any other
// field. It has no result that could be read instead: Word draws it. That is how
// documents have fractions and roots, characters in circles, and readings above
// characters, which are left out. Of a code over 4096 bytes the rest is.
func FieldEquation(code string) string {
	name, rest, _ := strings.Cut(strings.TrimSpace(code[:min(len(code), 4096)]), " ")
	if !strings.EqualFold(name, "EQ") {
		return ""
	}
	e := equation{rest: rest}
	e.argument(0, "", false)
	return strings.ToValidUTF8(strings.TrimSpace(string(e.out)), "")
}

// equation reads the code of an EQ field.
type equation struct {
	rest string
	out  []byte
}

// argument reads the arguments of a switch up to its parenthesis, at depth 0 all
// there is. between is written for what separates them; over says that they are
// drawn over each other.
func (e *equation) argument(depth int, between string, over bool) {
	for e.rest != "" {
		c := e.rest[0]
		e.rest = e.rest[1:]
		switch {
		case c == ')' && depth > 0:
			return
		case (c == ',' || c == ';') && depth > 0:
			e.out = append(e.out, between...)
		case c != '\\' || e.rest == "":
			e.out = append(e.out, c)
		case e.rest[0] == '*':
			e.look()
		case strings.IndexByte(letters, e.rest[0]) >= 0:
			e.sign(depth, over)
		default: // a character that would mean something without the backslash
			e.out = append(e.out, e.rest[0])
			e.rest = e.rest[1:]
		}
	}
}

// look passes over how the field looks: \* hps10, or \* "Font:MS Mincho".
func (e *equation) look() {
	e.rest = strings.TrimLeft(e.rest[1:], " ")
	end := " "
	if quoted, ok := strings.CutPrefix(e.rest, `"`); ok {
		e.rest, end = quoted, `"`
	}
	_, e.rest, _ = strings.Cut(e.rest, end)
}

const (
	letters   = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	maxNested = 20 // switches in arguments of switches
)

// sign reads a switch with its options and arguments.
func (e *equation) sign(depth int, over bool) {
	options, rest, found := strings.Cut(e.rest, "(")
	if !found || depth >= maxNested || strings.Trim(options, letters+`\ -0123456789`) != "" {
		e.rest = strings.TrimLeft(e.rest, letters+"-0123456789")
		return
	}
	e.rest = rest
	from := len(e.out)
	switch options[0] | 0x20 {
	case 'f':
		e.argument(depth+1, "/", false)
	case 'o':
		e.argument(depth+1, "", true)
	case 'r':
		e.argument(depth+1, "√", false)
		if !strings.Contains(string(e.out[from:]), "√") {
			e.out = append(e.out[:from], "√"+string(e.out[from:])...)
		}
	default:
		e.argument(depth+1, " ", false)
		if over && options[0]|0x20 == 's' { // a reading above the characters
			e.out = e.out[:from]
		}
	}
}
