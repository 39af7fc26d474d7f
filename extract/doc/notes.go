package doc

import (
	"strconv"
	"strings"
	"unicode/utf16"
)

// numberNotes gives the references to notes, and the notes themselves, their
// marks. Both are the same character, in the same order.
func (d *document) numberNotes() {
	d.marks = map[int]string{}
	parts := d.parts()
	footnotes := d.references(footnoteRefs, parts[mainDoc])
	endnotes := d.references(endnoteRefs, parts[mainDoc])
	arabic := func(n int) string { return "[^" + strconv.Itoa(n) + "]" }
	roman := func(n int) string { return "[^" + formatNumber(n, lowerRoman) + "]" }
	d.markAll(footnotes, arabic)
	d.markAll(endnotes, roman)
	d.markAll(find(parts[footnoteDoc], noteMark), func(n int) string { return arabic(n) + ": " })
	d.markAll(find(parts[endnoteDoc], noteMark), func(n int) string { return roman(n) + ": " })
	authors := d.commentAuthors()
	d.markAll(find(parts[commentDoc], commentMark), func(n int) string {
		if n <= len(authors) && authors[n-1] != "" {
			return "Comment (" + authors[n-1] + "): "
		}
		return "Comment: "
	})
}

// anchorComments moves the comments to where they are anchored.
func (d *document) anchorComments() {
	const entry = 30
	parts := d.parts()
	main, comments := parts[mainDoc], parts[commentDoc]
	refs := plc{d.fib.table(commentRefs), entry}
	begins := find(comments, commentMark)
	if refs.len() != len(begins) {
		return
	}
	for i, begin := range begins {
		pos := refs.position(i)
		if pos < 0 || pos >= len(main.chars) || main.chars[pos] != commentMark || d.marks[pos] != "" {
			continue
		}
		end := comments.at + len(comments.chars)
		if i+1 < len(begins) {
			end = begins[i+1]
		}
		one := part{comments.chars[begin-comments.at : end-comments.at], begin}
		if text := strings.Join(strings.Fields(d.write(one)), " "); text != "" {
			d.marks[pos] = " [" + text + "]"
		}
		clear(one.chars)
	}
}

func (d *document) markAll(at []int, mark func(n int) string) {
	for i, pos := range at {
		d.marks[pos] = mark(i + 1)
	}
}

// references returns the characters of the main document that refer to notes by
// number. The others are marks of the author's own.
func (d *document) references(t table, main part) []int {
	const entry = 2
	refs := plc{d.fib.table(t), entry}
	var at []int
	for i := range min(refs.len(), maxNotes) {
		pos := refs.position(i)
		if pos >= 0 && pos < len(main.chars) && main.chars[pos] == noteMark {
			at = append(at, pos)
		}
	}
	return at
}

// find returns where a character is.
func find(p part, char uint16) []int {
	var at []int
	for i, c := range p.chars {
		if c == char && len(at) < maxNotes {
			at = append(at, p.at+i)
		}
	}
	return at
}

// commentAuthors returns the author of each comment.
func (d *document) commentAuthors() []string {
	const entry, authorAt = 30, 20
	refs := plc{d.fib.table(commentRefs), entry}
	names := parseStrings(d.fib.table(commentAuthors))
	authors := make([]string, min(refs.len(), maxNotes))
	for i := range authors {
		if n := u16(refs.at(i), authorAt); n < len(names) {
			authors[i] = names[n]
		}
	}
	return authors
}

// parseStrings reads strings with their lengths in front, as many as there can
// be notes.
func parseStrings(b []byte) []string {
	var list []string
	for len(b) >= 2 && len(list) < maxNotes {
		s, n := parseString(b)
		list = append(list, s)
		b = b[min(len(b), n):]
	}
	return list
}

// parseString reads a length and as many characters, of which it returns the
// first, and their size.
func parseString(b []byte) (s string, size int) {
	n := u16(b, 0)
	chars := piece{}.decode(slice(b, 2, 2*min(n, maxLabel)), nil)
	return strings.TrimRight(string(utf16.Decode(chars)), "\x00"), 2 + 2*n
}
