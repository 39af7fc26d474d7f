package pdf

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Tables without rules: rows whose parts, with wide gaps between them, stand below
// each other.

const (
	minTableRows  = 3    // rows of several cells
	rowShift      = 0.3  // ems off the baseline, in a row
	maxRowGap     = 2.6  // ems between rows
	columnMargin  = 0.5  // ems between columns
	edgeSlack     = 0.35 // ems between edges that are taken for one
	minAligned    = 0.75 // of the cells of a column, that have a common edge
	minFull       = 0.6  // of the rows, that have several cells
	minFilledRows = 0.7  // of the cells, that have text
	proseCell     = 28   // characters from which on a usual cell looks like prose
	maxAlignedLen = 160  // characters of a cell
	maxColumns    = 24
	maxRows       = 1000
)

// tableRow is blocks on one baseline, in parts.
type tableRow struct {
	blocks int // how many
	parts  []line
	y, em  float64
	lone   *line // the only part, until it is needed: most lines of most pages are one
}

// several reports whether the row has parts beside each other.
func (r *tableRow) several() bool { return len(r.parts) > 1 }

// part looks at the row as one of a table's.
func (r *tableRow) part() {
	if r.lone != nil {
		r.parts, r.lone = parts(*r.lone), nil
	}
}

// alignedTables puts tables in the place of lines that make some.
func alignedTables(blocks []block) []block {
	rows := make([]tableRow, 0, len(blocks))
	several := 0
	for i := 0; i < len(blocks); {
		r := rowAt(blocks[i:])
		if r.several() {
			several++
		}
		rows = append(rows, r)
		i += r.blocks
	}
	if several < minTableRows {
		return blocks
	}
	out := make([]block, 0, len(blocks))
	at := 0 // in blocks
	for i := 0; i < len(rows); {
		n, table := alignedTable(rows[i:])
		size := 0
		for _, r := range rows[i : i+max(n, 1)] {
			size += r.blocks
		}
		if n > 0 {
			out = append(out, block{table: table})
		} else {
			out = append(out, blocks[at:at+size]...)
		}
		at += size
		i += max(n, 1)
	}
	return out
}

// rowAt returns the row that begins with the first block. It has no parts if it is
// none of text from left to right.
func rowAt(blocks []block) tableRow {
	r := tableRow{blocks: 1}
	first := &blocks[0]
	if first.table != "" || first.line.direction.x <= 0.99 {
		return r
	}
	r.y, r.em = first.line.start.y, first.line.size
	r.lone = &first.line
	for i := range blocks[1:] {
		b := &blocks[i+1]
		if b.table != "" || b.line.direction.x <= 0.99 || math.Abs(b.line.start.y-r.y) > rowShift*r.em || len(r.parts) > maxColumns {
			break
		}
		r.part()
		r.parts = append(r.parts, parts(b.line)...)
		r.blocks++
	}
	if len(first.line.gaps) > 0 {
		r.part()
	}
	if r.several() {
		slices.SortStableFunc(r.parts, func(a, b line) int { return cmp.Compare(a.start.x, b.start.x) })
	}
	return r
}

// parts cuts a line at its wide gaps.
func parts(ln line) (out []line) {
	from := 0
	add := func(to int, left, right float64) {
		part := ln.cut(from, to)
		part.start.x, part.end.x = left, right
		if part.hasWords() {
			out = append(out, part)
		}
	}
	left := ln.start.x
	for _, g := range ln.gaps {
		if g.at < from || g.at > len(ln.text) {
			continue
		}
		add(g.at, left, g.from.x)
		from, left = g.at, g.to.x
	}
	add(len(ln.text), left, ln.end.x)
	return out
}

// column is how far the cells of a column reach.
type column struct{ left, right float64 }

// alignedTable returns the table that the first rows make, and how many rows it
// has, 0 if they make none.
func alignedTable(rows []tableRow) (n int, text string) {
	if !rows[0].several() {
		return 0, ""
	}
	var columns []column
	last := 0 // rows up to the last of several cells
	single := 0
	for i := range rows {
		r := &rows[i]
		r.part()
		if i >= maxRows || i > 0 && !r.follows(&rows[i-1]) {
			break
		}
		next, ok := fit(columns, r)
		if !ok {
			break
		}
		columns = next
		if single++; len(r.parts) >= 2 {
			last, single = i+1, 0
		}
		if single > 2 {
			break
		}
	}
	for n = last; n >= minTableRows; n-- {
		if table, ok := rowsOf(rows[:n]); ok {
			return n, table.String()
		}
		if n < last-1 {
			break
		}
	}
	return 0, ""
}

// follows reports whether a row is below another as those of a table are.
func (r *tableRow) follows(before *tableRow) bool {
	if len(r.parts) == 0 || len(before.parts) == 0 {
		return false
	}
	em := max(r.em, before.em)
	down := before.y - r.y
	return down > 0.5*em && down < maxRowGap*em && min(r.em, before.em) > 0.75*em
}

// fit adds the parts of a row to the columns. It is not ok where one stands in two.
func fit(columns []column, r *tableRow) ([]column, bool) {
	out := slices.Clone(columns)
	margin := columnMargin * r.em
	for _, p := range r.parts {
		at, hits := -1, 0
		for i, c := range out {
			if p.start.x < c.right+margin && p.end.x > c.left-margin {
				at = i
				hits++
			}
		}
		switch {
		case hits > 1:
			return nil, false
		case hits == 1:
			out[at] = column{min(out[at].left, p.start.x), max(out[at].right, p.end.x)}
		default:
			out = append(out, column{p.start.x, p.end.x})
		}
	}
	slices.SortFunc(out, func(a, b column) int { return cmp.Compare(a.left, b.left) })
	for i := 1; i < len(out); i++ {
		if out[i].left < out[i-1].right+margin {
			return nil, false
		}
	}
	return out, len(out) <= maxColumns
}

// rowsOf returns the cells of rows, and whether they are certainly a table's.
func rowsOf(rows []tableRow) (cells, bool) {
	var columns []column
	for i := range rows {
		var ok bool
		if columns, ok = fit(columns, &rows[i]); !ok {
			return nil, false
		}
	}
	if len(columns) < 2 {
		return nil, false
	}
	full, filled := 0, 0
	for i := range rows {
		if filled += len(rows[i].parts); rows[i].several() {
			full++
		}
	}
	if full < minTableRows || float64(full) < minFull*float64(len(rows)) ||
		float64(filled) < minFilledRows*float64(len(rows)*len(columns)) {
		return nil, false
	}
	table := newCells(len(rows), len(columns))
	for i := range rows {
		for j := range rows[i].parts { // each has a cell for itself
			p := rows[i].parts[j : j+1 : j+1]
			c := slices.IndexFunc(columns, func(c column) bool { return p[0].start.x >= c.left-0.01 && p[0].end.x <= c.right+0.01 })
			if c < 0 || len(table[i][c]) > 0 || len(p[0].text) > maxAlignedLen {
				return nil, false
			}
			table[i][c] = p
		}
	}
	prose, told, fixed := 0, 0, 0
	for _, r := range rows {
		if r.parts[0].fixed {
			fixed++
		}
	}
	if len(columns) == 2 && 2*fixed > len(rows) {
		return nil, false // a listing, most likely
	}
	for c := range columns {
		ok, usual := table.alignment(c)
		if !ok || table.isLed(c) {
			return nil, false
		}
		if usual > proseCell {
			prose++
		}
		if !table.isMarked(c) {
			told++
		}
	}
	return table, told >= 2 && prose < 2 && (len(columns) > 2 || full > minTableRows)
}

// isLed reports whether a cell of a column has dots that lead to the next one, as
// in a table of contents, which is easier to read as it is.
func (c cells) isLed(column int) bool {
	return slices.ContainsFunc(c, func(row [][]line) bool {
		return slices.ContainsFunc(row[column], func(ln line) bool {
			s := string(ln.text)
			return strings.Contains(s, "....") || strings.Contains(s, ". . .") || strings.Contains(s, "……")
		})
	})
}

// isMarked reports whether a column has nothing but the marks of a list.
func (c cells) isMarked(column int) bool {
	marks, all := 0, 0
	for _, row := range c {
		for _, ln := range row[column] {
			all++
			if isMark(ln.text) {
				marks++
			}
		}
	}
	return 5*marks >= 4*all
}

// isMark reports whether text is a bullet, a box, or a number such as (a) or 12.
func isMark(text []rune) bool {
	text = []rune(strings.TrimSpace(string(text)))
	words := 0
	for _, r := range text {
		if isWord(r) {
			words++
		}
	}
	return words == 0 || words <= 2 && words < len(text) && strings.ContainsRune(".):", text[len(text)-1])
}

// alignment reports whether the cells of a column have a common edge or middle, and
// how long they usually are.
func (c cells) alignment(column int) (ok bool, usual int) {
	var lefts, rights, middles []float64
	var lengths []int
	em := 1.0
	for _, row := range c {
		for _, ln := range row[column] {
			lefts, rights = append(lefts, ln.start.x), append(rights, ln.end.x)
			middles = append(middles, (ln.start.x+ln.end.x)/2)
			lengths = append(lengths, len(ln.text))
			em = max(em, ln.size)
		}
	}
	if len(lefts) < 2 {
		return false, 0
	}
	slices.Sort(lengths)
	best := 0
	for _, edge := range [][]float64{lefts, rights, middles} {
		usual := median(slices.Clone(edge))
		n := 0
		for _, v := range edge {
			if math.Abs(v-usual) < edgeSlack*em {
				n++
			}
		}
		best = max(best, n)
	}
	return float64(best) >= minAligned*float64(len(lefts)), lengths[len(lengths)/2]
}
