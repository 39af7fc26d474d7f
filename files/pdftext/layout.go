package pdftext

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Layout: glyphs with places become words and lines. A PDF has neither; they
// are told by the gaps. Lines keep the order in which they are drawn, which
// producers mostly make the reading order.

// Gaps that mean something, in ems.
const (
	wordGap    = 0.12 // between words
	columnGap  = 1.0  // may be between columns
	tabGap     = 3.0  // between the cells of a row
	lineShift  = 0.55 // off the baseline: another line
	blankShift = 2.2  // off the baseline: a blank line between
	backStep   = 0.6  // back on the same line
	markShift  = 0.15 // off the baseline: the mark of a footnote before its text
	markSize   = 1.2  // and how much larger the text is, as a factor
	maxRun     = 20.0 // back for a run of another direction
)

// placed is a glyph on the page.
type placed struct {
	text       string
	start, end vector
	direction  vector // of the baseline, a unit vector
	size       float64
}

// line is a row of glyphs.
type line struct {
	text      []rune
	start     vector
	end       vector
	direction vector
	size      float64
	gaps      []gap
	forward   int    // right-to-left letters drawn to the right of the one before
	backward  int    // and to the left
	tail      []rune // what was drawn before text, to the right of it
	tailStart vector
	blank     bool // a blank line follows
	literal   bool // no place on the page
}

// gap is a wide space within a line, behind the first at characters.
type gap struct {
	at       int
	from, to vector
}

// spot is a glyph in a cell of the page, to recognize what is drawn twice.
type spot struct {
	text       string
	size, x, y float32
}

// doubleShift is how far apart, in ems, two drawings of one glyph may be.
const doubleShift = 0.1

// maxSpots bounds the glyphs remembered of one page.
const maxSpots = 200_000

type layout struct {
	out     strings.Builder
	hyphen  bool // out lacks the hyphen that the last line ended in
	lines   []line
	line    line
	last    placed
	hasLast bool
	pending bool   // a space was shown
	run     vector // where the glyphs began that follow each other to the right
	spots   map[spot]vector
	runes   int // held in lines
}

func newLayout() *layout { return &layout{spots: map[spot]vector{}} }

// size is how many bytes of text there are, about.
func (l *layout) size() int { return l.out.Len() + l.runes }

// text returns the text so far, "" if there is nothing but page breaks.
func (l *layout) text() string {
	s := l.out.String()
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return s
}

// place adds a glyph.
func (l *layout) place(p placed) {
	if !p.start.finite() || !p.end.finite() {
		return
	}
	if !(p.size > 0) || math.IsInf(p.size, 0) {
		p.size = 1
	}
	if p.text == "" {
		l.extend(p.end)
		return
	}
	p.text = cleanText(p.text)
	isBlank := strings.TrimSpace(p.text) == ""
	if !isBlank && l.isDouble(p) || l.hasLast && l.accent(p) {
		return
	}
	if l.hasLast {
		l.separate(p, isBlank)
	}
	switch {
	case !isBlank:
		if l.pending {
			l.space(' ')
		}
		l.append(p)
	case p.text != "":
		l.pending = true
	}
	if !l.hasLast || len(l.line.text) == 0 {
		l.run = p.start
	}
	l.hasLast, l.last = true, p
}

// extend lengthens the last glyph, which stands for several.
func (l *layout) extend(end vector) {
	if l.hasLast && end.finite() {
		l.last.end = end
	}
}

// isDouble reports whether the same glyph was drawn at the same place before,
// as is done for bold letters and shadows.
func (l *layout) isDouble(p placed) bool {
	// Cells are twice as wide as the shift, so that four of them hold all
	// places close enough.
	shift := doubleShift * p.size
	cell := func(v float64) float32 { return float32(math.Floor(v / (2 * shift))) }
	for _, dx := range []float64{-shift, shift} {
		for _, dy := range []float64{-shift, shift} {
			at, ok := l.spots[spot{p.text, float32(p.size), cell(p.start.x + dx), cell(p.start.y + dy)}]
			if ok && at.minus(p.start).length() <= shift {
				return true
			}
		}
	}
	if len(l.spots) < maxSpots {
		l.spots[spot{p.text, float32(p.size), cell(p.start.x), cell(p.start.y)}] = p.start
	}
	return false
}

// separate decides what lies between the last glyph and p: nothing, a space, or
// the end of the line.
func (l *layout) separate(p placed, isBlank bool) {
	em := max(p.size, l.last.size)
	move := p.start.minus(l.last.end)
	along := move.dot(l.last.direction)
	off := math.Abs(l.last.direction.cross(move))
	sameWay := p.direction.dot(l.last.direction) > 0.9
	rtl := startsRTL(p.text)
	switch {
	case !sameWay || off > lineShift*em:
		l.breakLine(sameWay && off > blankShift*em)
	case along > wordGap*em:
		l.wide(p, along/em)
	case along < -backStep*em:
		l.back(p, isBlank, rtl)
	case off > markShift*em && p.size > markSize*l.last.size && len(l.line.text) <= 3:
		l.space(' ')
	case rtl:
		l.line.forward++
	}
}

// wide adds the space for a gap of so many ems.
func (l *layout) wide(p placed, ems float64) {
	if ems > columnGap && len(l.line.text) > 0 {
		l.line.gaps = append(l.line.gaps, gap{len(l.line.text), l.last.end, p.start})
	}
	if ems > tabGap {
		l.space('\t')
		return
	}
	l.space(' ')
}

// back handles a glyph that begins left of where the last one ended: a
// right-to-left script drawn in its own order, or another line.
func (l *layout) back(p placed, isBlank, rtl bool) {
	em := max(p.size, l.last.size)
	left := l.run.minus(p.end).dot(l.last.direction) // gap to the left of the last run
	switch {
	case l.line.forward > l.line.backward && left > -0.4*em && left < maxRun*em:
		l.prepend()
	case rtl && left > -0.4*em && left < tabGap*em:
		l.line.backward++
		if left > wordGap*em {
			l.space(' ')
		}
	case l.line.backward > 0 && left > -0.4*em && left < maxRun*em:
		// a number or a foreign word, whose first glyph is far to the left
	case isBlank:
		l.pending = true
	case p.start.minus(l.last.end).dot(l.last.direction) < -1.6*em || left > wordGap*em:
		l.breakLine(false)
	}
	l.run = p.start
}

// prepend makes room to the left of the line, for the next run of a line that
// is drawn in visual order but from right to left.
func (l *layout) prepend() {
	l.line.tail = l.whole()
	l.line.tailStart = l.line.start
	l.line.text, l.line.gaps = nil, nil
	l.pending = false
}

// whole is the text of the line with what was drawn to the right of it.
func (l *layout) whole() []rune {
	if l.line.tail == nil {
		return l.line.text
	}
	if gap := l.line.tailStart.minus(l.line.end).dot(l.line.direction); gap > wordGap*l.line.size {
		l.space(' ')
	}
	return append(l.line.text, l.line.tail...)
}

// space adds a space or a tab unless there is one.
func (l *layout) space(r rune) {
	if n := len(l.line.text); n > 0 && l.line.text[n-1] != ' ' && l.line.text[n-1] != '\t' {
		l.line.text = append(l.line.text, r)
	}
	l.pending = false
}

func (l *layout) append(p placed) {
	if len(l.line.text) == 0 {
		l.line.start, l.line.direction, l.line.size = p.start, p.direction, p.size
	}
	before := len(l.line.text)
	l.line.text = append(l.line.text, []rune(p.text)...)
	l.line.end = p.end
	l.runes += len(l.line.text) - before
}

// literal adds text that has no place on the page, line by line.
func (l *layout) literal(s string) {
	l.breakAway()
	for part := range strings.SplitSeq(strings.ReplaceAll(s, "\r", "\n"), "\n") {
		l.line.text = []rune(cleanText(part))
		l.line.literal = true
		l.runes += len(l.line.text)
		l.breakLine(false)
	}
}

// breakAway ends the line; what comes next has nothing to do with it.
func (l *layout) breakAway() {
	l.breakLine(false)
	l.hasLast = false
}

// breakLine ends the line; blank says that a blank line follows.
func (l *layout) breakLine(blank bool) {
	l.pending = false
	l.line.text = l.whole()
	if len(l.line.text) > 0 {
		l.line.blank = blank
		l.lines = append(l.lines, l.line)
	}
	l.line = line{}
}

// endPage writes the lines of the page and a form feed.
func (l *layout) endPage() {
	l.breakLine(false)
	for _, ln := range readingOrder(l.lines) {
		l.write(ln)
	}
	if l.hyphen {
		l.out.WriteString("-\n")
		l.hyphen = false
	}
	l.out.WriteByte('\f')
	l.lines = l.lines[:0]
	l.runes = 0
	l.hasLast = false
	clear(l.spots)
}

// write adds a line to the text and joins words that were divided.
func (l *layout) write(ln line) {
	runes := ln.text
	if ln.forward > ln.backward {
		runes = logicalOrder(runes)
	}
	s := foldForms(strings.Trim(string(runes), " \t"))
	if s == "" {
		return
	}
	if l.hyphen {
		if r, _ := utf8.DecodeRuneInString(s); !unicode.IsLower(r) {
			l.out.WriteString("-\n")
		}
		l.hyphen = false
	}
	if !ln.blank && isDivided(s) {
		l.out.WriteString(s[:len(s)-1])
		l.hyphen = true
		return
	}
	l.out.WriteString(s)
	l.out.WriteByte('\n')
	if ln.blank {
		l.out.WriteByte('\n')
	}
}

// isDivided reports whether a line ends in a lower-case letter and a hyphen.
func isDivided(s string) bool {
	if len(s) < 3 || s[len(s)-1] != '-' {
		return false
	}
	r, _ := utf8.DecodeLastRuneInString(s[:len(s)-1])
	return unicode.IsLower(r)
}
