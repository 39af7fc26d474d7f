package chunk

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unit is a part of the text that is not cut: a heading, a sentence, a line of a
// table or a list. A longer one than a chunk may be is cut into several.
type unit struct {
	start, end int // in the text, with the white space behind it
	tokens     int
	kind       kind
	page       int
	headings   []string // that are in force, with the unit's own where it is one
	header     string   // of the table that the unit is a further row of
}

// kind says what a unit begins.
type kind int

const (
	sentence  kind = iota // nothing: it goes on in a paragraph
	paragraph             // a paragraph, a row or an item of a list
	heading               // a section
)

// maxHeader is how many tokens the header of a table may have to be repeated, as a
// share of a chunk.
const maxHeader = 4

// maxHeading is how many bytes of a heading are kept.
const maxHeading = 200

func (u *unit) prefixTokens() int {
	if u.header == "" {
		return 0
	}
	return tokens(u.header) + 1
}

// parents are the headings above a unit that is a heading.
func (u *unit) parents() []string { return u.headings[:max(0, len(u.headings)-1)] }

// parser finds the units of a text, line by line.
type parser struct {
	text   string
	max    int // tokens of a unit
	layout Layout
	paged  bool

	page     int
	levels   []int    // of the headings in force
	headings []string // replaced, not changed
	code     bool     // inside a fence
	rows     int      // of the table so far
	header   string   // of the table
	open     int      // start of a paragraph, -1: none
}

// units yields the units of the text in order; together they are the text.
func (p *parser) units() iter.Seq[unit] {
	return func(yield func(unit) bool) {
		p.open = -1
		for start := 0; start < len(p.text); {
			end := p.lineEnd(start)
			if !p.line(start, end, yield) {
				return
			}
			start = end
		}
		p.closeParagraph(len(p.text), yield)
	}
}

// lineEnd returns where the line that begins at start ends, with its end of line. A
// row of a table may have ends of lines between quotes.
func (p *parser) lineEnd(start int) int {
	quoted := false
	for i := start; i < len(p.text); i++ {
		switch p.text[i] {
		case '"':
			quoted = !quoted && p.layout == Rows
		case '\n', '\f':
			if !quoted || i-start > 64<<10 {
				return i + 1
			}
		}
	}
	return len(p.text)
}

// line takes the next line. It returns false when the consumer stops.
func (p *parser) line(start, end int, yield func(unit) bool) bool {
	line := strings.TrimSpace(p.text[start:end])
	ok := true
	switch {
	case p.layout != Markdown:
		ok = p.row(start, end, line, p.layout == Rows, yield)
	case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
		p.code = !p.code
		if p.open < 0 {
			p.open = start
		}
	case p.code:
		ok = p.closeParagraph(start, yield) && p.row(start, end, line, false, yield)
	case line == "":
		p.rows, p.header = 0, ""
		ok = p.closeParagraph(end, yield)
	case level(line) > 0:
		p.rows, p.header = 0, ""
		ok = p.closeParagraph(start, yield) && p.heading(start, end, line, yield)
	case line[0] == '|':
		ok = p.closeParagraph(start, yield) && p.row(start, end, line, true, yield)
	default:
		p.rows, p.header = 0, ""
		if p.open >= 0 && isItem(line) {
			ok = p.closeParagraph(start, yield)
		}
		if p.open < 0 {
			p.open = start
		}
	}
	if p.paged && strings.HasSuffix(p.text[start:end], "\f") {
		ok = ok && p.closeParagraph(end, yield)
		p.page++
	}
	return ok
}

// level returns the level of a heading of Markdown, 0 for another line.
func level(line string) int {
	n := 0
	for n < len(line) && line[n] == '#' {
		n++
	}
	if n == 0 || n > 6 || n == len(line) || line[n] != ' ' {
		return 0
	}
	return n
}

// isItem reports whether a line begins an item of a list.
func isItem(line string) bool {
	if len(line) > 1 && (line[0] == '-' || line[0] == '*' || line[0] == '+') && line[1] == ' ' {
		return true
	}
	digits := 0
	for digits < len(line) && line[digits] >= '0' && line[digits] <= '9' {
		digits++
	}
	return digits > 0 && digits < 10 && digits+1 < len(line) && (line[digits] == '.' || line[digits] == ')') && line[digits+1] == ' '
}

func (p *parser) heading(start, end int, line string, yield func(unit) bool) bool {
	n := level(line)
	keep := 0
	for keep < len(p.levels) && p.levels[keep] < n {
		keep++
	}
	title := strings.TrimSpace(strings.TrimRight(line[n:], "# "))
	if len(title) > maxHeading {
		title = strings.ToValidUTF8(title[:maxHeading], "")
	}
	p.levels = append(p.levels[:keep:keep], n)
	p.headings = append(p.headings[:keep:keep], title)
	return p.emit(start, end, heading, yield)
}

// row takes a line that is a unit. The first row of a table is its header, which
// further rows are told.
func (p *parser) row(start, end int, line string, table bool, yield func(unit) bool) bool {
	if !table {
		return p.emit(start, end, paragraph, yield)
	}
	p.rows++
	header := p.header
	switch {
	case p.rows == 1:
		if tokens(line) <= p.max/maxHeader {
			p.header = line
		}
		header = ""
	case p.rows == 2 && isRule(line):
		if p.header != "" {
			p.header += "\n" + line
		}
		header = ""
	}
	shown := p.header
	p.header = header
	ok := p.emit(start, end, paragraph, yield)
	p.header = shown
	return ok
}

// isRule reports whether a row is the line under the header of a table.
func isRule(line string) bool { return strings.Trim(line, "|-: \t") == "" }

// closeParagraph yields the sentences of the open paragraph, which ends at end.
func (p *parser) closeParagraph(end int, yield func(unit) bool) bool {
	if p.open < 0 {
		return true
	}
	start := p.open
	p.open = -1
	k := paragraph
	for start < end {
		next := sentenceEnd(p.text, start, end)
		if !p.emit(start, next, k, yield) {
			return false
		}
		start, k = next, sentence
	}
	return true
}

// sentenceEnd returns where the sentence that begins at start ends, with the white
// space behind it.
func sentenceEnd(text string, start, end int) int {
	for i := start; i < end; i++ {
		switch c := text[i]; {
		case c == '.' || c == '?' || c == '!':
			j := i + 1
			for j < end && strings.IndexByte(".?!)\"'", text[j]) >= 0 {
				j++
			}
			if j < end && isSpace(text[j]) && i-start > 20 {
				return skipSpace(text, j, end)
			}
			i = j - 1
		case c == 0xe3 && strings.HasPrefix(text[i:end], "。"), c == 0xef && (strings.HasPrefix(text[i:end], "？") || strings.HasPrefix(text[i:end], "！")):
			return skipSpace(text, i+3, end)
		}
	}
	return end
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

func skipSpace(text string, i, end int) int {
	for i < end && isSpace(text[i]) {
		i++
	}
	return i
}

// emit yields a part of the text as a unit, or as several where it is too long for
// one.
func (p *parser) emit(start, end int, k kind, yield func(unit) bool) bool {
	u := unit{kind: k, page: p.page, headings: p.headings, header: p.header}
	most := p.max - u.prefixTokens()
	for start < end {
		u.start, u.end = start, end
		if u.tokens = tokens(p.text[start:end]); u.tokens > most {
			u.end = cut(p.text, start, end, most)
			u.tokens = tokens(p.text[start:u.end])
		}
		if !yield(u) {
			return false
		}
		start, u.kind = u.end, sentence
	}
	return true
}

// cut returns where a part of the text is cut that is too long: behind the last white
// space within the tokens, or inside a word that is longer than half of them.
func cut(text string, start, end, most int) int {
	space, ascii, other := 0, 0, 0
	i := start
	for i < end {
		r, n := utf8.DecodeRuneInString(text[i:end])
		if r < utf8.RuneSelf {
			ascii++
		} else {
			other++
		}
		if (ascii+3)/4+other > most && i > start {
			break
		}
		i += n
		if unicode.IsSpace(r) {
			space = i
		}
	}
	if space > start+(i-start)/2 {
		return space
	}
	return i
}
