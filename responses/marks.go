package responses

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/conversations"
)

// marks finds the marks of passages in a text that comes in pieces: [1], or [1, 2]. A
// mark becomes citations and is taken out of the text, with the space before it; one of
// a passage that is not known is taken out as well. In code, and where a link follows,
// brackets stay.
type marks struct {
	known map[int]*conversations.Passage
	held  string // the end of the text so far, which may become a mark
	chars int    // of the text that was passed on

	ticks         int // backticks that the text ends with
	fence, inline bool
}

// citedPiece is a piece of text, or a citation at the end of what came before it.
type citedPiece struct {
	text     string
	citation *conversations.Citation
}

const (
	maxMark   = 64 // bytes of a mark
	maxDigits = 3  // of a number in it
)

// add takes the next piece of the text and returns what is certain.
func (m *marks) add(text string) []citedPiece { return m.scan(text, false) }

// end returns what is left at the end of the text. The next text may begin.
func (m *marks) end() []citedPiece {
	pieces := m.scan("", true)
	*m = marks{known: m.known}
	return pieces
}

func (m *marks) scan(text string, last bool) (pieces []citedPiece) {
	text = m.held + text
	m.held = ""
	from := 0 // of what is not passed on
	pass := func(to int) {
		if to > from {
			pieces = append(pieces, citedPiece{text: text[from:to]})
			m.chars += utf8.RuneCountInString(text[from:to])
		}
		from = to
	}
	for i := 0; i < len(text); {
		if c := text[i]; !m.mayBegin(c) {
			i++
			continue
		}
		length, numbers, open := parseMark(text[i:], last)
		if open {
			pass(i)
			m.held = text[i:]
			return pieces
		}
		if length == 0 {
			i++
			continue
		}
		pass(i)
		for _, n := range numbers {
			if p := m.known[n]; p != nil {
				pieces = append(pieces, citedPiece{citation: &conversations.Citation{File: p.File, Filename: p.Filename, Index: m.chars}})
			}
		}
		i += length
		from = i
	}
	pass(len(text))
	return pieces
}

// mayBegin reports whether a mark may begin with the next byte of the text. It follows
// where code begins and ends.
func (m *marks) mayBegin(c byte) bool {
	if c == '`' {
		m.ticks++
		return false
	}
	switch {
	case m.ticks >= 3:
		m.fence, m.inline = !m.fence, false
	case m.ticks > 0 && !m.fence:
		m.inline = !m.inline
	}
	m.ticks = 0
	if c == '\n' {
		m.inline = false
	}
	return (c == ' ' || c == '[') && !m.fence && !m.inline
}

// parseMark reads the mark that a text begins with, behind a space or not. The length
// is 0 where there is none; open says that more text may make it one.
func parseMark(text string, last bool) (length int, numbers []int, open bool) {
	open = !last
	i := 0
	if text[i] == ' ' {
		i++
	}
	if i == len(text) {
		return 0, nil, open
	}
	if text[i] != '[' {
		return 0, nil, false
	}
	end := strings.IndexByte(text[:min(len(text), maxMark)], ']')
	inside := text[i+1:]
	if end > 0 {
		inside = text[i+1 : end]
	}
	if strings.Trim(inside, "0123456789, ") != "" || len(inside) > maxMark {
		return 0, nil, false
	}
	if end < 0 {
		return 0, nil, open && len(text) < maxMark
	}
	for part := range strings.SplitSeq(inside, ",") {
		part = strings.TrimSpace(part)
		n, err := strconv.Atoi(part)
		if err != nil || len(part) > maxDigits {
			return 0, nil, false
		}
		numbers = append(numbers, n)
	}
	if end+1 == len(text) {
		if open {
			return 0, nil, true // a link may follow
		}
		return end + 1, numbers, false
	}
	if text[end+1] == '(' {
		return 0, nil, false
	}
	return end + 1, numbers, false
}
