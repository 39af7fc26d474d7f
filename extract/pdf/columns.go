package pdf

import (
	"math"
	"slices"
)

// Columns: some producers draw two columns of prose row by row. Such a page is
// recognized by a gutter that most rows leave free while text fills both sides
// of it, which the columns of a table seldom do.

// Conditions for a gutter.
const (
	minRows      = 8    // rows that have text on both sides
	maxCrossing  = 0.25 // of all lines, those that cross the gutter
	minFilled    = 0.75 // of its column, how much of it the usual row fills
	maxImbalance = 2.0  // between the widths of the two columns
)

// readingOrder returns the lines in the order in which to read them.
func readingOrder(lines []line) []line {
	lines = verticalOrder(lines)
	gutter, ok := findGutter(lines)
	if !ok {
		return lines
	}
	var out, right []line
	for _, ln := range lines {
		switch side, l, r := splitAt(ln, gutter); side {
		case sideBoth:
			out, right = append(out, l), append(right, r)
		case sideLeft:
			out = append(out, ln)
		case sideRight:
			right = append(right, ln)
		default: // a heading over both: what stands above comes first
			out = append(append(out, right...), ln)
			right = nil
		}
	}
	return append(out, right...)
}

// side tells where a line lies as to a gutter.
type side uint8

const (
	sideAcross side = iota
	sideLeft
	sideRight
	sideBoth
)

// splitAt divides a line at the gutter x.
func splitAt(ln line, x float64) (s side, left, right line) {
	switch {
	case !isLevel(ln):
		return sideAcross, ln, line{}
	case ln.end.x <= x:
		return sideLeft, ln, line{}
	case ln.start.x >= x:
		return sideRight, line{}, ln
	}
	for i, g := range ln.gaps {
		if g.from.x <= x && x <= g.to.x {
			left, right = ln.cut(0, g.at), ln.cut(g.at, len(ln.text))
			left.end, left.gaps, left.blank = g.from, ln.gaps[:i], ln.blank
			right.start = g.to
			return sideBoth, left, right
		}
	}
	return sideAcross, ln, line{}
}

// cut returns the part of a line from one of its characters to another, whose
// sizes and weights are as those of the whole. It has no gaps.
func (ln line) cut(from, to int) line {
	part := ln
	part.text, part.at, part.gaps = ln.text[from:to:to], ln.at[from:to:to], nil
	share := float64(to-from) / float64(max(1, len(ln.text)))
	part.large *= share
	part.shown, part.bold = int(math.Ceil(float64(part.shown)*share)), int(math.Ceil(float64(part.bold)*share))
	if from < len(ln.at) {
		part.start.x = float64(ln.at[from])
	}
	if to < len(ln.at) {
		part.end.x, part.blank = float64(ln.at[to]), false
	}
	return part
}

// isLevel reports whether a line runs from left to right in the order drawn.
func isLevel(ln line) bool {
	return ln.direction.x > 0.99 && ln.end.x > ln.start.x && ln.backward == 0
}

// findGutter returns the middle of the gutter between two columns of prose that
// are drawn row by row.
func findGutter(lines []line) (x float64, ok bool) {
	var middles []float64
	for _, ln := range lines {
		if !isLevel(ln) {
			continue
		}
		for _, g := range ln.gaps {
			middles = append(middles, (g.from.x+g.to.x)/2)
		}
	}
	if len(middles) < minRows {
		return 0, false
	}
	slices.Sort(middles)
	x = middles[len(middles)/2]
	return x, isProse(lines, x)
}

// isProse reports whether the rows on both sides of x are filled as those of
// running text are.
func isProse(lines []line, x float64) bool {
	left, right := math.Inf(1), math.Inf(-1)
	var lefts, rights []float64 // how far the rows reach from the outer edges
	var starts, ends []float64  // where the left ones end and the right ones begin
	across, level := 0, 0
	for _, ln := range lines {
		if !isLevel(ln) {
			continue
		}
		level++
		s, l, r := splitAt(ln, x)
		if s == sideAcross {
			across++
		}
		if s != sideBoth {
			continue
		}
		left, right = min(left, l.start.x), max(right, r.end.x)
		lefts, rights = append(lefts, l.end.x-l.start.x), append(rights, r.end.x-r.start.x)
		starts, ends = append(starts, r.start.x), append(ends, l.end.x)
	}
	if len(lefts) < minRows || float64(across) > maxCrossing*float64(level) {
		return false
	}
	leftWidth, rightWidth := slices.Max(ends)-left, right-slices.Min(starts)
	if max(leftWidth, rightWidth) > maxImbalance*min(leftWidth, rightWidth) {
		return false
	}
	return median(lefts) > minFilled*leftWidth && median(rights) > minFilled*rightWidth
}

// median sorts v, which is not empty.
func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
