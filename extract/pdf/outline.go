package pdf

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Headings: a PDF does not say which lines are. They are told by their size beside
// that of the usual text, or by standing apart in bold letters.

// Conditions for a heading. A size of which there is much text is not one of
// headings, unless it is far from the usual.
const (
	headingSize  = 1.15 // times the usual size
	titleSize    = 1.4  // times the usual size: certainly larger
	maxCommon    = 0.4  // of the usual text, that a size of headings may have
	maxBold      = 0.3  // of the usual text, that may be bold where bold lines are headings
	headingApart = 1.4  // ems from the line before, of a bold heading
	headingLead  = 1.7  // ems between the lines of a heading
	maxHeading   = 200  // bytes of a line of a heading
	maxHeadLines = 3
	maxHeadings  = 200_000 // lines looked at
)

// outline collects the lines that may be headings, until the sizes of all text
// are known.
type outline struct {
	sizes map[int]int // characters by size, in half points
	bolds map[int]int // of those, bold ones
	lines []headline
	last  line // of the page
	any   bool // there is one
}

// headline is a line that may be a heading.
type headline struct {
	at    int // offset in the text
	size  int // in half points
	bold  bool
	first bool // it begins as headings do
	apart bool // from the line before
	goes  bool // on from the line before
}

// pointSize is the size of most of the line, in half points.
func (ln line) pointSize() int {
	return int(math.Round(min(2*ln.large/float64(max(1, ln.shown)), 1e6)))
}

func (o *outline) newPage() { o.any = false }

// afterTable makes the next line stand apart.
func (o *outline) afterTable() { o.any = false }

// count counts the characters of a line by their size.
func (o *outline) count(ln line) {
	if o.sizes == nil {
		o.sizes, o.bolds = map[int]int{}, map[int]int{}
	}
	const maxSizes = 10_000
	if size := ln.pointSize(); len(o.sizes) < maxSizes {
		o.sizes[size] += ln.shown
		o.bolds[size] += ln.bold
	}
}

// add takes a line, whose text s will stand at an offset.
func (o *outline) add(at int, ln line, s string) {
	last, any := o.last, o.any
	o.last, o.any = ln, true
	if ln.direction.x < 0.99 || len(s) > maxHeading || len(o.lines) >= maxHeadings {
		return
	}
	h := headline{at: at, size: ln.pointSize(), bold: ln.shown > 0 && ln.bold == ln.shown, first: mayHead(s), apart: !any}
	if em := ln.large / float64(max(1, ln.shown)); any && em > 0 {
		down := (last.start.y - ln.start.y) / em
		h.apart = down < 0 || down > headingApart
		h.goes = down > 0.5 && down < headingLead
	}
	o.lines = append(o.lines, h)
}

// mayHead reports whether a text has letters and begins as headings do.
func mayHead(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	if unicode.IsPunct(first) && !strings.ContainsRune("(¿¡\"“«‘'「『【〈《", first) || unicode.IsSymbol(first) || unicode.IsLower(first) {
		return false
	}
	if strings.Contains(s, "\t") || strings.Contains(s, ". . .") || strings.Contains(s, "....") {
		return false // a line with parts of their own, or of a table of contents
	}
	letters := 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters >= 2
}

// mark returns the text with its headings marked.
func (o *outline) mark(s string) string {
	usual := o.usual()
	var groups [][]headline
	for i := 0; i < len(o.lines); {
		n := o.group(s, i)
		if g := o.lines[i : i+n]; o.isHeading(s, g, usual) {
			groups = append(groups, g)
		}
		i += n
	}
	if len(groups) == 0 {
		return s
	}
	levels := levelsOf(groups)
	var b strings.Builder
	b.Grow(len(s) + 8*len(groups))
	done := 0
	for _, g := range groups {
		b.WriteString(s[done:g[0].at])
		b.WriteString(strings.Repeat("#", levels[g[0].size]) + " ")
		done = g[0].at
		for _, h := range g[1:] { // one line, with a space in place of its end
			b.WriteString(s[done:h.at-1] + " ")
			done = h.at
		}
	}
	b.WriteString(s[done:])
	return b.String()
}

// usual is the size that most of the text has.
func (o *outline) usual() int {
	best := 0
	for size, n := range o.sizes {
		if n > o.sizes[best] || n == o.sizes[best] && size < best {
			best = size
		}
	}
	return best
}

// group returns how many lines from i on are of one heading, if they are one.
func (o *outline) group(s string, i int) int {
	n := 1
	for i+n < len(o.lines) {
		before, h := o.lines[i+n-1], o.lines[i+n]
		if !h.goes || h.size != before.size || h.bold != before.bold || strings.IndexByte(s[before.at:], '\n') != h.at-1-before.at {
			break
		}
		n++
	}
	return n
}

// isHeading decides about lines that belong together.
func (o *outline) isHeading(s string, g []headline, usual int) bool {
	size, most := float64(g[0].size), float64(o.sizes[usual])
	if len(g) > maxHeadLines || !g[0].first {
		return false
	}
	if size >= headingSize*float64(usual) {
		return size >= titleSize*float64(usual) && float64(o.sizes[g[0].size]) <= most || float64(o.sizes[g[0].size]) <= maxCommon*most
	}
	end := g[len(g)-1].at
	end += strings.IndexByte(s[end:], '\n')
	text := s[g[0].at:max(end, g[0].at)]
	return g[0].bold && g[0].apart && g[0].size == usual && len(text) <= maxHeading/2 &&
		float64(o.bolds[usual]) <= maxBold*most && !strings.ContainsAny(text[max(0, len(text)-1):], ".,;:")
}

// levelsOf gives the largest headings the first level.
func levelsOf(groups [][]headline) map[int]int {
	var sizes []int
	for _, g := range groups {
		sizes = append(sizes, g[0].size)
	}
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	levels := map[int]int{}
	for i, size := range sizes {
		levels[size] = min(len(sizes)-i, 6)
	}
	return levels
}
