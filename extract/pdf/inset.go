package pdf

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/seed-506d8e5d/svc/extract/internal/markdown"
)

// What annotations add to the lines of a page: the text of form fields and
// comments at its place, and the addresses of links.

const (
	insetShift = 0.7  // ems off the baseline of the line that an inset goes into
	insetReach = 20.0 // ems from that line
	insetSize  = 10.0 // of text that says nothing of its size

	maxBeside = 500  // lines at one height that are looked at
	maxJoined = 5000 // characters of a line that something is put into

	maxInsetLines = 10_000 // of one inset, which the rest follows in the last
)

// inset adds text that is not drawn, line by line, in a box.
func (l *layout) inset(s string, box rectangle) {
	var lines []line
	all := strings.SplitN(strings.ReplaceAll(s, "\r", "\n"), "\n", maxInsetLines)
	height := (box.top - box.bottom) / float64(len(all))
	size := min(max(height*0.7, 1), insetSize)
	for i, part := range all {
		runes := []rune(strings.TrimSpace(cleanText(part)))
		if len(runes) == 0 {
			continue
		}
		y := box.top - height*float64(i) - (height+0.7*size)/2
		ln := line{text: runes, at: make([]float32, len(runes)), start: vector{box.left, y}, size: size, direction: vector{1, 0},
			shown: len(runes), large: size * float64(len(runes))}
		for j := range ln.at {
			ln.at[j] = float32(box.left)
		}
		if slices.ContainsFunc(runes, isRTL) {
			ln.backward = 1 // it is in reading order
		}
		ln.end = vector{max(box.left, min(box.right, box.left+0.5*size*float64(len(runes)))), y}
		lines = append(lines, ln)
		l.runes += len(runes)
	}
	if same := func(other []line) bool { return slices.EqualFunc(lines, other, line.isCopy) }; len(lines) > 0 && !slices.ContainsFunc(l.insets[max(0, len(l.insets)-maxCopies):], same) {
		l.insets = append(l.insets, lines)
		l.held += len(lines)
	}
}

// maxCopies is how far apart, in insets, two of the same are known for that.
const maxCopies = 100

// isCopy reports whether two lines say the same and it is a comment, of which one
// is enough.
func (ln line) isCopy(other line) bool {
	return slices.Equal(ln.text, other.text) && strings.HasPrefix(string(ln.text), "[Comment")
}

// maxMarked bounds the characters of marked text that a comment is compared with.
const maxMarked = 2000

// repeats reports whether a comment says no more than the text in its boxes does:
// some programs write what is marked into the comment on it.
func (l *layout) repeats(comment string, boxes []rectangle) bool {
	if len(comment) > maxMarked {
		return false
	}
	l.breakAway()
	var marked strings.Builder
	for _, box := range boxes {
		for _, ln := range l.lines {
			if l.compared++; l.compared > maxCompared {
				return false
			}
			if from, to, ok := ln.inBox(box); ok && ln.start.y > box.bottom-0.2*ln.size && marked.Len() <= maxMarked {
				marked.WriteString(string(ln.text[from:to]))
			}
		}
	}
	return marked.Len() > 0 && letters(marked.String()) == letters(comment)
}

// maxCompared is how many times lines of a page are looked at for what is marked.
const maxCompared = 1_000_000

// letters are the letters and digits of a text.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if isWord(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// heights finds lines by how high on the page they are.
type heights struct {
	lines []line
	order []int // of lines, from the top
}

func newHeights(lines []line) heights {
	h := heights{lines: lines}
	for i, ln := range lines {
		if ln.direction.x > 0.99 {
			h.order = append(h.order, i)
		}
	}
	slices.SortStableFunc(h.order, func(a, b int) int { return cmp.Compare(lines[b].start.y, lines[a].start.y) })
	return h
}

// below returns where the lines at a height and below it begin.
func (h heights) below(y float64) int {
	return sort.Search(len(h.order), func(i int) bool { return h.lines[h.order[i]].start.y <= y })
}

// between returns the lines from a height down to another, up to a bound.
func (h heights) between(top, bottom float64) []int {
	from := h.below(top)
	to := from
	for to < min(len(h.order), from+maxBeside) && h.lines[h.order[to]].start.y >= bottom {
		to++
	}
	return h.order[from:to]
}

// insertInsets puts insets where they are: into the line that they stand in, or
// behind the one above. Those of several lines stay together.
func insertInsets(lines []line, insets [][]line) []line {
	if len(insets) == 0 {
		return lines
	}
	slices.SortStableFunc(insets, func(a, b []line) int {
		return cmp.Or(cmp.Compare(b[0].start.y, a[0].start.y), cmp.Compare(a[0].start.x, b[0].start.x))
	})
	h := newHeights(lines)
	after := map[int][]line{} // by the line above, -1 for none
	var rest []line
	for _, inset := range insets {
		in := inset[0]
		if in.direction.x <= 0.99 {
			rest = append(rest, inset...)
			continue
		}
		if i := h.rowOf(in); i >= 0 && len(inset) == 1 {
			lines[i] = lines[i].with(in)
			continue
		}
		above := h.above(in)
		if n := len(after[above]); n > 0 && len(inset) == 1 && after[above][n-1].isRowOf(in) {
			after[above][n-1] = after[above][n-1].with(in)
			continue
		}
		after[above] = append(after[above], inset...)
	}
	out := slices.Clone(after[-1])
	for i, ln := range lines {
		if n := len(after[i]); n > 0 {
			after[i][n-1].blank, ln.blank = ln.blank, false
		}
		out = append(append(out, ln), after[i]...)
	}
	return append(out, rest...)
}

// isRowOf reports whether an inset stands in the line.
func (ln line) isRowOf(in line) bool {
	if len(ln.text) > maxJoined {
		return false
	}
	shift := insetShift * max(ln.size, in.size)
	return ln.start.y-in.start.y <= shift && in.start.y-ln.start.y <= shift && ln.distance(in) <= insetReach*max(ln.size, in.size)
}

// distance is how far a line is to the left or right of another.
func (ln line) distance(other line) float64 {
	left, right := ln.edges()
	otherLeft, otherRight := other.edges()
	return max(0, left-otherRight, otherLeft-right)
}

// edges are where a line begins and ends from left to right, about: some are drawn
// from right to left.
func (ln line) edges() (left, right float64) {
	left, right = ln.start.x, ln.end.x
	if ln.backward > 0 && len(ln.at) > 0 {
		left, right = min(left, float64(slices.Min(ln.at))), max(right, float64(slices.Max(ln.at)))
	}
	return left, right
}

// rowOf returns the nearest line that an inset stands in, -1 for none.
func (h heights) rowOf(in line) int {
	const most = 50.0
	best := -1
	for _, i := range h.between(in.start.y+most, in.start.y-most) {
		ln := h.lines[i]
		if !ln.isRowOf(in) {
			continue
		}
		if best < 0 || ln.distance(in) < h.lines[best].distance(in) {
			best = i
		}
	}
	return best
}

// above returns the line above an inset or beside it, and rather one that it is
// right below.
func (h heights) above(in line) int {
	const most = 20
	from := h.below(in.start.y-insetShift*in.size) - 1
	for i := from; i >= max(0, from-most); i-- {
		if h.lines[h.order[i]].distance(in) == 0 {
			return h.order[i]
		}
	}
	if from < 0 {
		return -1
	}
	return h.order[from]
}

// with returns the line with an inset at its place.
func (ln line) with(in line) line {
	if ln.forward+ln.backward+in.forward+in.backward == 0 {
		return ln.withLevel(in)
	}
	rtl := ln.rtl || ln.forward+ln.backward > 0 && isMostlyRTL(ln.text)
	in = in.inReadingOrder(isMostlyRTL(in.text))
	ln = ln.inReadingOrder(rtl)
	if rtl {
		ln = ln.withLeft(in)
	} else {
		ln = ln.withLevel(in)
	}
	ln.backward, ln.rtl = 1, rtl
	return ln
}

// inReadingOrder turns the characters of a line that are in visual order.
func (ln line) inReadingOrder(rtl bool) line {
	if ln.forward <= ln.backward {
		return ln
	}
	ln.text = reorder(ln.text, rtl)
	if rtl {
		ln.at = slices.Clone(ln.at)
		slices.Reverse(ln.at)
	}
	ln.forward, ln.backward, ln.gaps = 0, 1, nil
	return ln
}

// withLeft returns a line from right to left, in reading order, with an inset before
// the first word to the left of it.
func (ln line) withLeft(in line) line {
	left, right := ln.edges()
	at := len(ln.text)
	for _, w := range ln.words() {
		if float64(ln.at[w.from]) <= in.start.x {
			at = w.from
			break
		}
	}
	runes, places := append(slices.Clone(in.text), ' '), slices.Repeat([]float32{float32(in.start.x)}, len(in.text)+1)
	if at == len(ln.text) {
		runes = append([]rune{' '}, in.text...)
	}
	ln = ln.insert(at, runes, places)
	if ln.text[max(0, at-1)] == '\t' {
		ln.text[at-1] = ' '
	}
	ln.start.x, ln.end.x, ln.gaps = min(left, in.start.x), max(right, in.end.x), nil
	ln.shown, ln.large, ln.bold = ln.shown+in.shown, ln.large+in.large, ln.bold+in.bold
	return ln
}

// withLevel returns a line from left to right with an inset before the first word to
// the right of it.
func (ln line) withLevel(in line) line {
	at := len(ln.text)
	for _, w := range ln.words() {
		if w.left >= in.start.x-0.3*ln.size {
			at = w.from
			break
		}
	}
	gaps := slices.Clone(ln.gaps)
	wide := func(from, to float64) bool { return to-from > columnGap*ln.size }
	if at == len(ln.text) {
		if wide(ln.end.x, in.start.x) {
			gaps = append(gaps, gap{at, ln.end, in.start})
		}
		ln = ln.insert(at, append([]rune{' '}, in.text...), append([]float32{float32(ln.end.x)}, in.at...))
		ln.end.x = max(ln.end.x, in.end.x)
	} else {
		next := vector{float64(ln.at[at]), ln.start.y}
		n := len(in.text) + 1
		for i := range gaps {
			switch {
			case gaps[i].at >= at:
				gaps[i].at += n
			case gaps[i].at == at-1 && in.start.x > gaps[i].from.x:
				gaps[i].to = in.start
			}
		}
		if wide(in.end.x, next.x) {
			gaps = append(gaps, gap{at + len(in.text), in.end, next})
			slices.SortFunc(gaps, func(a, b gap) int { return cmp.Compare(a.at, b.at) })
		}
		ln = ln.insert(at, append(slices.Clone(in.text), ' '), append(slices.Clone(in.at), float32(in.end.x)))
		if at > 0 {
			ln.text[at-1] = ' ' // it was a tab, perhaps
		} else {
			ln.start.x = min(ln.start.x, in.start.x)
		}
	}
	ln.gaps = gaps
	ln.shown, ln.large, ln.bold = ln.shown+in.shown, ln.large+in.large, ln.bold+in.bold
	return ln
}

// insert returns the line with characters at a place in its text.
func (ln line) insert(at int, runes []rune, places []float32) line {
	ln.text = slices.Insert(slices.Clip(ln.text), at, runes...)
	ln.at = slices.Insert(slices.Clip(ln.at), at, places...)
	return ln
}

// link is an address behind a box on the page.
type link struct {
	box rectangle
	url string
}

// Addresses may take so many bytes of a document, and a share of its text: a page
// of nothing but links would be mostly addresses.
const (
	linkBytes = 400
	linkShare = 10
	maxLinks  = 5000 // of a page
)

// insertLinks makes links of the text in their boxes.
func (l *layout) insertLinks(lines []line) {
	if len(l.links) == 0 {
		return
	}
	h := newHeights(lines)
	spans := map[int][]linked{}
	written := map[string]bool{} // addresses that the page has, as links or as text
	for _, k := range l.links[:min(len(l.links), maxLinks)] {
		if written[k.url] {
			continue
		}
		for _, i := range h.between(k.box.top, k.box.bottom-1) {
			from, to, ok := lines[i].inBox(k.box)
			if !ok {
				continue
			}
			if text := string(lines[i].text[from:to]); isAddress(text, k.url) {
				written[k.url] = true
				break
			} else if !isLinkText(text, k.url) {
				continue
			}
			size := len(k.url) + 4
			if l.addresses+size > linkBytes+(l.out.Len()+l.runes)/linkShare {
				continue
			}
			l.addresses += size
			written[k.url] = true
			spans[i] = append(spans[i], linked{from, to, k.url})
			break
		}
	}
	for i, list := range spans {
		slices.SortFunc(list, func(a, b linked) int { return cmp.Compare(b.from, a.from) })
		next := len(lines[i].text)
		for _, s := range list {
			if s.to > next {
				continue
			}
			next = s.from
			lines[i] = lines[i].linked(s)
		}
	}
}

// linked is characters of a line that are a link.
type linked struct {
	from, to int
	url      string
}

// inBox returns which characters of a line are in a box, from word to word where
// it ends within one.
func (ln line) inBox(box rectangle) (from, to int, ok bool) {
	if ln.forward+ln.backward > 0 || len(ln.text) > maxJoined || ln.start.x > box.right || ln.end.x < box.left || ln.start.y > box.top-0.2*ln.size {
		return 0, 0, false
	}
	slack := 0.25 * ln.size
	from = slices.IndexFunc(ln.at, func(x float32) bool { return float64(x) >= box.left-slack })
	if from < 0 {
		return 0, 0, false
	}
	for to = from; to < len(ln.at) && float64(ln.at[to]) < box.right-slack; to++ {
	}
	inWord := func(i int) bool {
		return i > 0 && i < len(ln.text) && isWord(ln.text[i-1]) && isWord(ln.text[i])
	}
	for inWord(from) {
		from--
	}
	for inWord(to) {
		to++
	}
	for from < to && unicode.IsSpace(ln.text[from]) {
		from++
	}
	for from < to && unicode.IsSpace(ln.text[to-1]) {
		to--
	}
	return from, to, from < to
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// isLinkText reports whether text can stand for an address.
func isLinkText(text, url string) bool {
	return markdown.IsLink(text, url) && strings.ContainsFunc(text, isWord)
}

// isAddress reports whether text is an address: that of the link, with or without
// its scheme, the beginning of it where it goes on in the next line, or another one.
func isAddress(text, url string) bool {
	text = strings.ToLower(strings.Join(strings.Fields(text), ""))
	if strings.Contains(text, "://") || strings.HasPrefix(text, "www.") {
		return true
	}
	_, short, _ := strings.Cut(strings.ToLower(strings.Trim(url, "<>/")), ":")
	short = strings.TrimPrefix(strings.TrimLeft(short, "/"), "www.")
	text = strings.TrimPrefix(text, "mailto:")
	return short != "" && strings.Contains(text, short) || strings.ContainsAny(text, "./@") && strings.HasPrefix(short, text)
}

// linked returns the line with a link.
func (ln line) linked(s linked) line {
	right := float32(ln.end.x)
	if s.to < len(ln.at) {
		right = ln.at[s.to]
	}
	behind := []rune("](" + s.url + ")")
	places := make([]float32, len(behind))
	for i := range places {
		places[i] = right
	}
	gaps := slices.Clone(ln.gaps)
	for i := range gaps {
		if gaps[i].at >= s.to {
			gaps[i].at += len(behind)
		}
		if gaps[i].at > s.from {
			gaps[i].at++
		}
	}
	ln = ln.insert(s.to, behind, places)
	ln = ln.insert(s.from, []rune{'['}, []float32{ln.at[s.from]})
	ln.gaps = gaps
	return ln
}
