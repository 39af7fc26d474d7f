package pdf

import (
	"cmp"
	"math"
	"slices"
)

// Tables that are drawn with rules: the rules that cross each other make a grid,
// and a cell is what none of them divides.

const (
	ruleSlack     = 3.0   // points between rules that are taken for one, or that meet
	maxGridRules  = 600   // of one direction on a page of tables
	maxGridCells  = 20000 // of one grid
	minGridFill   = 0.4   // of the cells that rules make, that have text
	minCellFill   = 0.5   // of the rows and columns that come of them
	maxCellText   = 1500  // characters in a cell of a table
	usualCell     = 300   // characters in its usual cell at most
	maxLedColumns = 3     // of boxes at the ends of lines
	maxListing    = 5     // short lines in a cell: more are no text that goes on
)

// grid is rules that cross each other.
type grid struct {
	xs, ys       []float64 // of the columns' edges from the left, of the rows' from the top
	down, across [][]rule  // at the same edges
}

// grids returns the grids of a page that could be tables, from the top.
func (r *ruling) grids() []grid {
	across, down := mergeRules(r.across), mergeRules(r.down)
	if len(across) < 2 || len(down) < 2 || len(across) > maxGridRules || len(down) > maxGridRules {
		return nil
	}
	// Rules are of one grid where one can go from each to each along them.
	grids := make([]int, len(across)+len(down))
	for i := range grids {
		grids[i] = i
	}
	root := func(i int) int {
		for grids[i] != i {
			grids[i] = grids[grids[i]]
			i = grids[i]
		}
		return i
	}
	for i, a := range across {
		for j, d := range down {
			if a.from-ruleSlack <= d.at && d.at <= a.to+ruleSlack && d.from-ruleSlack <= a.at && a.at <= d.to+ruleSlack {
				grids[root(i)] = root(len(across) + j)
			}
		}
	}
	var list []grid
	for at := range grids {
		if root(at) != at {
			continue
		}
		var g grid
		var as, ds []rule
		for i, a := range across {
			if root(i) == at {
				as = append(as, a)
			}
		}
		for j, d := range down {
			if root(len(across)+j) == at {
				ds = append(ds, d)
			}
		}
		g.xs, g.down = edges(ds, as)
		g.ys, g.across = edges(as, ds)
		slices.Reverse(g.ys)
		slices.Reverse(g.across)
		if len(g.xs) >= 3 && len(g.ys) >= 2 && len(g.xs)*len(g.ys) <= maxGridCells {
			list = append(list, g)
		}
	}
	slices.SortStableFunc(list, func(a, b grid) int { return cmp.Compare(b.ys[0], a.ys[0]) })
	return list
}

// mergeRules makes one of rules that go on from each other.
func mergeRules(rules []rule) []rule {
	sorted := slices.Clone(rules)
	slices.SortFunc(sorted, func(a, b rule) int {
		return cmp.Or(cmp.Compare(math.Round(a.at), math.Round(b.at)), cmp.Compare(a.from, b.from))
	})
	var out []rule
	for _, r := range sorted {
		if n := len(out); n > 0 && math.Abs(out[n-1].at-r.at) <= 1 && r.from <= out[n-1].to+ruleSlack {
			out[n-1].to = max(out[n-1].to, r.to)
			continue
		}
		out = append(out, r)
	}
	return out
}

// edges returns the different places of parallel rules in ascending order. The ends
// of the rules across them are edges, too: a table may be open at its sides.
func edges(rules, across []rule) (at []float64, of [][]rule) {
	slices.SortStableFunc(rules, func(a, b rule) int { return cmp.Compare(a.at, b.at) })
	for _, r := range rules {
		if n := len(at); n > 0 && r.at-at[n-1] <= ruleSlack {
			of[n-1] = append(of[n-1], r)
			continue
		}
		at, of = append(at, r.at), append(of, []rule{r})
	}
	if len(at) == 0 {
		return nil, nil
	}
	first, last := at[0], at[len(at)-1]
	for _, a := range across {
		first, last = min(first, a.from), max(last, a.to)
	}
	if first < at[0]-2*ruleSlack {
		at, of = append([]float64{first}, at...), append([][]rule{nil}, of...)
	}
	if last > at[len(at)-1]+2*ruleSlack {
		at, of = append(at, last), append(of, nil)
	}
	return at, of
}

// covers reports whether one of the rules is at a place along them.
func covers(rules []rule, at float64) bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return r.from-ruleSlack <= at && at <= r.to+ruleSlack })
}

// regions gives each cell of the grid the first cell that no rule parts it from.
func (g grid) regions() []int {
	rows, columns := len(g.ys)-1, len(g.xs)-1
	of := make([]int, rows*columns)
	for i := range of {
		of[i] = i
	}
	root := func(i int) int {
		for of[i] != i {
			of[i] = of[of[i]]
			i = of[i]
		}
		return i
	}
	join := func(i, j int) {
		a, b := root(i), root(j)
		of[max(a, b)] = min(a, b)
	}
	for r := range rows {
		y := (g.ys[r] + g.ys[r+1]) / 2
		for c := range columns {
			i := r*columns + c
			if c+1 < columns && !covers(g.down[c+1], y) {
				join(i, i+1)
			}
			if x := (g.xs[c] + g.xs[c+1]) / 2; r+1 < rows && !covers(g.across[r+1], x) {
				join(i, i+columns)
			}
		}
	}
	for i := range of {
		of[i] = root(i)
	}
	return of
}

// find returns the interval between edges that holds v, -1 for none.
func find(edges []float64, v float64) int {
	for i := range len(edges) - 1 {
		if lo, hi := min(edges[i], edges[i+1]), max(edges[i], edges[i+1]); lo <= v && v < hi {
			return i
		}
	}
	return -1
}

// take puts a table in the place of the lines within the grid, if they make one.
func (g grid) take(blocks []block) []block {
	rows, columns := len(g.ys)-1, len(g.xs)-1
	f := newGridFiller(g)
	var out []block
	led := map[int]bool{} // rows with text to the left of the grid
	at := -1              // where the table comes to stand
	for _, b := range blocks {
		ln := b.line
		y := ln.start.y + 0.3*ln.size
		row := find(g.ys, y)
		if b.table != "" || row < 0 {
			out = append(out, b)
			continue
		}
		if !isLevel(ln) && ln.direction.x <= 0.99 {
			if x := ln.start.x; g.xs[0] <= x && x < g.xs[columns] {
				return blocks
			}
			out = append(out, b)
			continue
		}
		words := ln.words()
		first := slices.IndexFunc(words, g.holds)
		if first < 0 {
			out = append(out, b)
			continue
		}
		if first > 0 {
			led[row] = true
			out = append(out, block{line: ln.cut(0, words[first-1].to)})
		}
		if at < 0 {
			at = len(out)
			out = append(out, block{})
		}
		i, ok := f.fill(ln, row, words, first)
		if !ok {
			return blocks // a word across a rule
		}
		if i < len(words) {
			out = append(out, block{line: ln.cut(words[i].from, len(ln.text))})
		}
	}
	text := g.finish(f.table, f.regions)
	if columns <= maxLedColumns && len(led) >= minTableRows && 2*len(led) >= rows {
		text = "" // boxes at the ends of the lines of a form
	}
	if text == "" {
		return blocks
	}
	out[at].table = text
	return out
}

// holds reports whether a word's middle is between the first and the last rule.
func (g grid) holds(w word) bool {
	m := (w.left + w.right) / 2
	return g.xs[0] <= m && m < g.xs[len(g.xs)-1]
}

// gridFiller puts words into the cells of a grid. Regions, by cell, are cells that no
// rule parts; of each the columns are known.
type gridFiller struct {
	grid
	regions       []int
	table         cells
	lefts, rights []int
}

func newGridFiller(g grid) *gridFiller {
	rows, columns := len(g.ys)-1, len(g.xs)-1
	f := &gridFiller{grid: g, regions: g.regions(), table: newCells(rows, columns), lefts: make([]int, rows*columns), rights: make([]int, rows*columns)}
	for i := range f.lefts {
		f.lefts[i] = columns
	}
	for i, region := range f.regions {
		f.lefts[region] = min(f.lefts[region], i%columns)
		f.rights[region] = max(f.rights[region], i%columns+1)
	}
	return f
}

// region returns the region in which a word of a row is.
func (f *gridFiller) region(row int, w word) int {
	return f.regions[row*(len(f.xs)-1)+find(f.xs, (w.left+w.right)/2)]
}

// fill puts the words of a line from the given one on into cells, and returns the first
// one behind the grid. It reports false where a word is across a rule.
func (f *gridFiller) fill(ln line, row int, words []word, i int) (int, bool) {
	columns := len(f.xs) - 1
	for i < len(words) && f.holds(words[i]) {
		region := f.region(row, words[i])
		slack := 0.35 * ln.size
		left, right := f.xs[f.lefts[region]]-slack, f.xs[f.rights[region]]+slack
		j := i
		for j < len(words) && f.holds(words[j]) && f.region(row, words[j]) == region {
			if words[j].left < left || words[j].right > right {
				return i, false
			}
			j++
		}
		cell := &f.table[region/columns][region%columns]
		*cell = append(*cell, ln.cut(words[i].from, words[j-1].to))
		i = j
	}
	return i, true
}

// finish returns the table, "" if it is none.
func (g grid) finish(table cells, regions []int) string {
	used := map[int]bool{} // the regions of rows with text
	for r, row := range table {
		if slices.ContainsFunc(row, func(c []line) bool { return len(c) > 0 }) {
			for c := range row {
				used[regions[r*len(row)+c]] = true
			}
		}
	}
	filled := float64(table.filled())
	if filled < 4 || filled < minGridFill*float64(len(used)) {
		return ""
	}
	table = splitRows(table.compact())
	if len(table) < 2 || len(table[0]) < 2 || float64(table.filled()) < minCellFill*float64(len(table)*len(table[0])) || !table.isShort() {
		return ""
	}
	for column := range table[0] {
		if table.isLed(column) {
			return ""
		}
	}
	return table.String()
}

// isShort reports whether the cells have what cells of tables have, and not pages
// or listings.
func (c cells) isShort() bool {
	var lengths []int
	for _, row := range c {
		for _, cell := range row {
			n := 0
			var widths []float64
			for _, ln := range cell {
				n += len(ln.text)
				widths = append(widths, ln.end.x-ln.start.x)
			}
			if n == 0 {
				continue
			}
			lengths = append(lengths, n)
			if n > maxCellText || len(cell) > maxListing && median(widths) < 0.6*slices.Max(widths) {
				return false
			}
		}
	}
	slices.Sort(lengths)
	return len(lengths) > 0 && lengths[len(lengths)/2] <= usualCell
}

// splitRows divides rows that no rules part.
func splitRows(table cells) cells {
	var out cells
	for _, row := range table {
		out = append(out, splitRow(row, len(table) <= 2)...)
	}
	return out
}

// splitRow divides a row in which all of several cells have a line at the same
// heights or, in a table that has no rules between its rows, most have.
func splitRow(row [][]line, open bool) cells {
	var ys []float64
	var size, widest, wide float64
	for _, cell := range row {
		for _, ln := range cell {
			ys = append(ys, ln.start.y)
			size = max(size, ln.size)
			widest = max(widest, ln.end.x-ln.start.x)
		}
	}
	slices.SortFunc(ys, func(a, b float64) int { return cmp.Compare(b, a) })
	ys = slices.CompactFunc(ys, func(a, b float64) bool { return math.Abs(a-b) < 0.4*size })
	out := newCells(len(ys), len(row))
	lines, words := 0, 0
	for c, cell := range row {
		for _, ln := range cell {
			words += len(ln.words())
			r := slices.IndexFunc(ys, func(y float64) bool { return math.Abs(y-ln.start.y) < 0.5*size })
			if r < 0 {
				return cells{row}
			}
			out[r][c] = append(out[r][c], ln)
			lines++
			if ln.end.x-ln.start.x > 0.75*widest {
				wide++
			}
		}
	}
	const several, few = 4, 2.5
	through, columns := 0, (cells{row}).filled()
	for _, r := range out {
		if len(r[0]) > 0 && (cells{r}).filled() >= 2 {
			through++
		}
	}
	if columns >= several && out.filled() == columns*len(ys) && lines == out.filled() {
		return out
	}
	if !open || len(ys) < 3 || float64(through) < 0.75*float64(len(ys)) || wide > 0.5*float64(lines) && float64(words) > few*float64(lines) {
		return cells{row}
	}
	return out
}
