package pdf

import (
	"cmp"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Vertical text of East Asia: glyphs run from top to bottom, and columns of them from
// right to left. Fonts for it say so; some producers stack letters of other fonts.

// Distances in columns of vertical text, in ems.
const (
	minStacked   = 3    // letters that make a column
	minStackStep = 0.6  // from one letter of a stack down to the next
	maxStackStep = 1.3  // and at most
	stackShift   = 0.3  // to the side
	columnShift  = 0.5  // of what goes on in the same column, to the side
	columnBreak  = 1.0  // and how far below
	blockGap     = 2.0  // between columns of different blocks
	uprightWidth = 1.3  // of a number that is set upright in a column
	uprightText  = 4    // letters of it
	aboveMiddle  = 0.88 // from the baseline of a letter to where a column would begin with it
)

// maxCuts bounds how deep blocks of columns lie in each other.
const maxCuts = 32

// verticalOrder puts columns together and in the order in which to read them. Other
// lines stay where they are.
func verticalOrder(lines []line) []line {
	lines = joinColumns(joinStacks(lines))
	var places []int
	var columns []line
	for i, ln := range lines {
		if ln.isColumn() {
			places, columns = append(places, i), append(columns, ln)
		}
	}
	if inOrder(columns) {
		return lines
	}
	lines = slices.Clone(lines)
	for i, ln := range orderColumns(columns, 0) {
		ln.blank = false
		lines[places[i]] = ln
	}
	return lines
}

// isColumn reports whether a line is vertical text.
func (ln line) isColumn() bool { return ln.vertical && ln.direction.y < -0.99 }

// joinStacks makes columns of letters that are drawn one below the other.
func joinStacks(lines []line) []line {
	if !slices.ContainsFunc(lines, isStacked) {
		return lines
	}
	var out []line
	for i := 0; i < len(lines); {
		j := i + 1
		for isStacked(lines[i]) && j < len(lines) && isStacked(lines[j]) && lines[j].isUnder(lines[j-1]) {
			j++
		}
		if j-i < minStacked {
			out = append(out, lines[i:j]...)
		} else {
			column := lines[i].upright()
			for _, ln := range lines[i+1 : j] {
				column = column.followedBy(ln.upright())
			}
			column.blank = false // the next one begins far above
			out = append(out, column)
		}
		i = j
	}
	return out
}

// isStacked reports whether a line is one letter of East Asia.
func isStacked(ln line) bool {
	return len(ln.text) == 1 && ln.direction.x > 0.99 && isEastAsian(ln.text[0])
}

func isEastAsian(r rune) bool {
	return r >= 0x3000 && r <= 0x30ff || r >= 0xfe10 && r <= 0xfe4f || r >= 0xff01 && r <= 0xffef ||
		unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo)
}

func startsEastAsian(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return isEastAsian(r)
}

// isUnder reports whether a letter stands under another, as close as in a column.
func (ln line) isUnder(above line) bool {
	em, down := max(ln.size, above.size), above.start.y-ln.start.y
	return math.Abs(ln.size-above.size) < 0.1*em && math.Abs(ln.start.x-above.start.x) <= stackShift*em &&
		down >= minStackStep*em && down <= maxStackStep*em
}

// upright makes a short line part of a column.
func (ln line) upright() line {
	middle := (ln.start.x + ln.end.x) / 2
	top, bottom := ln.start.y+aboveMiddle*ln.size, ln.start.y-(1-aboveMiddle)*ln.size
	ln.start, ln.end, ln.direction, ln.vertical = vector{middle, top}, vector{middle, bottom}, vector{0, -1}, true
	return ln
}

// followedBy is a column and what goes on below it.
func (ln line) followedBy(below line) line {
	ln.text, ln.at = append(slices.Clip(ln.text), below.text...), append(slices.Clip(ln.at), below.at...)
	ln.end, ln.blank, ln.gaps = below.end, below.blank, nil
	ln.shown, ln.large, ln.bold = ln.shown+below.shown, ln.large+below.large, ln.bold+below.bold
	return ln
}

// goesOn reports whether a column goes on with another.
func (ln line) goesOn(below line) bool {
	em, gap := max(ln.size, below.size), ln.end.y-below.start.y
	return ln.isColumn() && below.isColumn() && math.Abs(ln.end.x-below.start.x) <= columnShift*em && gap >= -columnShift*em && gap <= columnBreak*em
}

// joinColumns puts what is set upright in columns, as numbers are, into them.
func joinColumns(lines []line) []line {
	if !slices.ContainsFunc(lines, line.isColumn) {
		return lines
	}
	var out []line
	for i, ln := range lines {
		n := len(out)
		if ln.direction.x > 0.99 && len(ln.text) <= uprightText && ln.end.x-ln.start.x <= uprightWidth*ln.size {
			if up := ln.upright(); n > 0 && out[n-1].goesOn(up) || i+1 < len(lines) && up.goesOn(lines[i+1]) {
				ln = up
			}
		}
		if n > 0 && out[n-1].goesOn(ln) && len(out[n-1].text) < maxJoined {
			out[n-1] = out[n-1].followedBy(ln)
			continue
		}
		out = append(out, ln)
	}
	return out
}

// inOrder reports whether each column stands to the left of the one before or below it.
func inOrder(columns []line) bool {
	for i := 1; i < len(columns); i++ {
		a, b := columns[i-1], columns[i]
		if b.start.x >= a.start.x && b.start.y > a.end.y+columnShift*b.size {
			return false
		}
	}
	return true
}

// orderColumns sorts columns: upper blocks first, then right ones, then the columns
// of a block.
func orderColumns(columns []line, depth int) []line {
	upper := blocks(columns, func(ln line) (from, to float64) { return -ln.start.y, -ln.end.y }, 0)
	right := blocks(columns, func(ln line) (from, to float64) { return -ln.start.x - ln.size/2, -ln.start.x + ln.size/2 }, blockGap)
	parts := upper
	if len(upper) == 1 {
		parts = right
	}
	if len(parts) > 1 && depth < maxCuts {
		var out []line
		for _, part := range parts {
			out = append(out, orderColumns(part, depth+1)...)
		}
		return out
	}
	slices.SortStableFunc(columns, func(a, b line) int { return cmp.Compare(b.start.x, a.start.x) })
	for i := 0; i < len(columns); {
		j := i + 1
		for j < len(columns) && columns[i].start.x-columns[j].start.x < columnShift*columns[i].size {
			j++
		}
		slices.SortStableFunc(columns[i:j], func(a, b line) int { return cmp.Compare(b.start.y, a.start.y) })
		i = j
	}
	return columns
}

// blocks divides columns where none lies for so many ems.
func blocks(columns []line, extent func(line) (from, to float64), ems float64) (parts [][]line) {
	sorted := slices.Clone(columns)
	slices.SortStableFunc(sorted, func(a, b line) int {
		x, _ := extent(a)
		y, _ := extent(b)
		return cmp.Compare(x, y)
	})
	first, reached := 0, math.Inf(-1)
	for i, ln := range sorted {
		from, to := extent(ln)
		if i > first && from-reached > ems*ln.size {
			parts, first = append(parts, sorted[first:i:i]), i
		}
		reached = max(reached, to)
	}
	return append(parts, sorted[first:])
}

// plainVertical makes usual letters of the shapes that marks have in columns.
func plainVertical(s string) string {
	if !slices.ContainsFunc([]rune(s), isVerticalForm) {
		return s
	}
	var out []rune
	for _, r := range s {
		if !isVerticalForm(r) {
			out = append(out, r)
			continue
		}
		for _, plain := range norm.NFKC.String(string(r)) {
			if plain > 0x20 && plain < 0x7f {
				plain += 0xfee0 // as wide as the letters around it
			}
			out = append(out, plain)
		}
	}
	return string(out)
}

func isVerticalForm(r rune) bool { return r >= 0xfe10 && r <= 0xfe19 || r >= 0xfe30 && r <= 0xfe48 }
