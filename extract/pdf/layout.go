package pdf

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/extract/internal/rtl"
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
	bold       bool
	fixed      bool // of a font whose letters are equally wide
	vertical   bool // of a font that runs from top to bottom
}

// line is a row of glyphs.
type line struct {
	text      []rune
	at        []float32 // where each of text begins, from left to right
	start     vector
	end       vector
	direction vector
	size      float64
	shown     int     // how many of text are drawn, others are spaces
	large     float64 // the sizes of those, added up
	bold      int     // how many of them are bold
	fixed     bool    // the first of them is of a font with equally wide letters
	vertical  bool    // the first of them is of a font that runs from top to bottom
	gaps      []gap
	forward   int    // right-to-left letters drawn to the right of the one before
	backward  int    // and to the left
	rtl       bool   // it is known to be a line from right to left
	tail      []rune // what was drawn before text, to the right of it
	tailAt    []float32
	tailStart vector
	blank     bool // a blank line follows
}

// gap is a wide space within a line, behind the first at characters.
type gap struct {
	at       int
	from, to vector
}

type layout struct {
	out       strings.Builder
	hyphen    bool // out lacks the hyphen that the last line ended in
	outline   outline
	lines     []line
	insets    [][]line // what annotations add to the page
	held      int      // lines of those
	links     []link
	compared  int // lines looked at for what comments mark
	addresses int // bytes of addresses of links written
	rules     ruling
	line      line
	last      placed
	hasLast   bool
	pending   bool   // a space was shown
	run       vector // where the glyphs began that follow each other to the right
	spots     spots
	room      room
	runes     int // held in lines
}

func newLayout() *layout { return &layout{spots: newSpots()} }

// size is how many bytes of text there are, about.
func (l *layout) size() int { return l.out.Len() + l.runes }

// maxPageLines bounds the lines of one page, which are all kept until it ends.
const maxPageLines = 400_000

// isCrowded reports whether a page has more lines than any that is to be read.
func (l *layout) isCrowded() bool { return len(l.lines)+l.held > maxPageLines }

// text returns the text so far with its headings, "" if there is nothing but page
// breaks.
func (l *layout) text() string {
	s := l.out.String()
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return l.outline.mark(s)
}

// place adds a glyph.
func (l *layout) place(p *placed) {
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
	l.hasLast, l.last = true, *p
}

// extend lengthens the last glyph, which stands for several.
func (l *layout) extend(end vector) {
	if l.hasLast && end.finite() {
		l.last.end = end
	}
}

// separate decides what lies between the last glyph and p: nothing, a space, or
// the end of the line.
func (l *layout) separate(p *placed, isBlank bool) {
	em := max(p.size, l.last.size)
	move := p.start.minus(l.last.end)
	along := move.dot(l.last.direction)
	off := math.Abs(l.last.direction.cross(move))
	sameWay := p.direction.dot(l.last.direction) > 0.9
	rtl := startsRTL(p.text)
	switch {
	case !sameWay || off > lineShift*em:
		l.breakLine(sameWay && off > blankShift*em)
	case along > wordGap*em && !(along < columnGap*em && l.isSpaced(p)):
		l.wide(p, along/em)
	case along < -backStep*em:
		l.back(p, isBlank, rtl)
	case off > markShift*em && p.size > markSize*l.last.size && len(l.line.text) <= 3:
		l.space(' ')
	case rtl:
		l.line.forward++
	}
}

// isSpaced reports whether p and the glyph before it are letters of vertical text,
// which has no words and is spaced to fill its columns.
func (l *layout) isSpaced(p *placed) bool {
	last, _ := utf8.DecodeLastRuneInString(l.last.text)
	next, _ := utf8.DecodeRuneInString(p.text)
	return p.vertical && l.last.vertical && isEastAsian(last) && isEastAsian(next)
}

// wide adds the space for a gap of so many ems.
func (l *layout) wide(p *placed, ems float64) {
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
func (l *layout) back(p *placed, isBlank, rtl bool) {
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
	l.joinTail()
	l.line.tail, l.line.tailAt = l.line.text, l.line.at
	l.line.tailStart = l.line.start
	l.line.text, l.line.at, l.line.gaps = nil, nil, nil
	l.pending = false
}

// joinTail puts what was drawn to the right of the line back behind it.
func (l *layout) joinTail() {
	if l.line.tail == nil {
		return
	}
	if gap := l.line.tailStart.minus(l.line.end).dot(l.line.direction); gap > wordGap*l.line.size {
		l.space(' ')
	}
	l.line.text, l.line.at = append(l.line.text, l.line.tail...), append(l.line.at, l.line.tailAt...)
}

// space adds a space or a tab unless there is one.
func (l *layout) space(r rune) {
	if n := len(l.line.text); n > 0 && l.line.text[n-1] != ' ' && l.line.text[n-1] != '\t' {
		l.line.text = append(l.line.text, r)
		l.line.at = append(l.line.at, float32(l.line.end.x))
	}
	l.pending = false
}

func (l *layout) append(p *placed) {
	if len(l.line.text) == 0 {
		if l.line.text == nil {
			l.line.text, l.line.at = l.room.take()
		}
		l.line.start, l.line.direction, l.line.size, l.line.fixed, l.line.vertical = p.start, p.direction, p.size, p.fixed, p.vertical
	}
	for _, r := range p.text {
		l.line.text = append(l.line.text, r)
		l.line.at = append(l.line.at, float32(p.start.x))
		l.line.shown++
		l.line.large += p.size
		if p.bold {
			l.line.bold++
		}
		l.runes++
	}
	l.line.end = p.end
}

// room is where the characters of lines are put, one line behind the other: lines
// that grow by themselves are copied again and again.
type room struct {
	text  []rune
	at    []float32
	taken bool // by the line that is being made
}

const (
	roomSize = 4096
	lineRoom = 160 // characters: lines that are longer leave it
)

// take returns room for a line, nothing if the line has had some before.
func (r *room) take() ([]rune, []float32) {
	if r.taken {
		return nil, nil
	}
	if len(r.text) < lineRoom {
		r.text, r.at = make([]rune, roomSize), make([]float32, roomSize)
	}
	r.taken = true
	return r.text[:0:lineRoom], r.at[:0:lineRoom]
}

// leave is told how many characters the line has that took room.
func (r *room) leave(n int) {
	if r.taken {
		n = min(n, lineRoom)
		r.text, r.at, r.taken = r.text[n:], r.at[n:], false
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
	l.joinTail()
	n := len(l.line.text)
	if n > 0 {
		l.line.text, l.line.at = l.line.text[:n:n], l.line.at[:n:n]
		l.line.blank = blank
		l.lines = append(l.lines, l.line)
	}
	if l.line.tail != nil {
		n = lineRoom // it is in the room, and behind the rest of the line
	}
	l.room.leave(n)
	l.line = line{}
}

// endPage writes the lines of the page and a form feed.
func (l *layout) endPage() {
	l.breakLine(false)
	lines := insertInsets(readingOrder(l.lines), l.insets)
	l.insertLinks(lines)
	l.outline.newPage()
	for _, ln := range lines {
		l.outline.count(ln)
	}
	for _, b := range findTables(lines, &l.rules) {
		if b.table != "" {
			l.writeTable(b.table)
			continue
		}
		l.write(b.line)
	}
	l.endHyphen("\n")
	l.out.WriteByte('\f')
	l.lines, l.insets, l.links = l.lines[:0], nil, nil
	l.rules.clear()
	l.runes, l.compared, l.held = 0, 0, 0
	l.hasLast = false
	l.spots.clear()
}

// endHyphen gives the last line its hyphen back.
func (l *layout) endHyphen(after string) {
	if l.hyphen {
		l.out.WriteString("-" + after)
	}
	l.hyphen = false
}

// string is the text of the line in the order in which to read it.
func (ln line) string() string {
	runes := ln.text
	if ln.forward > ln.backward {
		runes = logicalOrder(runes)
	}
	s := rtl.Letters(strings.Trim(string(runes), " \t"))
	if ln.vertical {
		s = plainVertical(s)
	}
	return s
}

// write adds a line to the text and joins words that were divided.
func (l *layout) write(ln line) {
	s := ln.string()
	if s == "" {
		return
	}
	joins := l.hyphen && startsLower(s)
	if !joins {
		l.endHyphen("\n")
		l.outline.add(l.out.Len(), ln, s)
	}
	l.hyphen = false
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

// writeTable adds a table to the text, between blank lines.
func (l *layout) writeTable(table string) {
	l.endHyphen("\n")
	if written := l.out.String(); !strings.HasSuffix(written, "\n\n") && written != "" && !strings.HasSuffix(written, "\f") {
		l.out.WriteByte('\n')
	}
	l.out.WriteString(table)
	l.out.WriteString("\n\n")
	l.outline.afterTable()
}

func startsLower(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLower(r)
}

// isDivided reports whether a line ends in a lower-case letter and a hyphen.
func isDivided(s string) bool {
	if len(s) < 3 || s[len(s)-1] != '-' {
		return false
	}
	r, _ := utf8.DecodeLastRuneInString(s[:len(s)-1])
	return unicode.IsLower(r)
}
