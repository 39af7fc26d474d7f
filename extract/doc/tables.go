package doc

import (
	"math"
	"slices"

	"github.com/seed-506d8e5d/svc/extract/internal/markdown"
)

// tableRow is a row of a table that is being read.
type tableRow struct {
	cells []markdown.Cell
	def   rowDef
}

// rowDef is how the cells of a row lie: where they begin and the last one ends, in
// twentieths of a point, and which of them go on from the row above.
type rowDef struct {
	edges []int
	above []bool
}

// parseRow reads the definition of a row (MS-DOC, 2.9.311). A row without one has no
// edges.
func parseRow(b []byte) (def rowDef) {
	const cell, vertical, restart = 20, 0x20, 0x40
	if len(b) < 3 {
		return def
	}
	n := int(b[2])
	edges, cells := b[3:], []byte(nil)
	if len(edges) < 2*(n+1) {
		return def
	}
	edges, cells = edges[:2*(n+1)], edges[2*(n+1):]
	for i := range n + 1 {
		def.edges = append(def.edges, int(int16(u16(edges, 2*i))))
	}
	for i := range n {
		flags := u16(cells, cell*i)
		def.above = append(def.above, flags&vertical != 0 && flags&restart == 0)
	}
	return def
}

// edgeSlack is how far apart edges of one column may be, in twentieths of a point.
const edgeSlack = 100

// tableText writes a table. A cell has the columns that lie under it, where the
// rows tell and agree.
func tableText(rows []tableRow) string {
	grid := gridOf(rows)
	column := func(edge int) int {
		return slices.IndexFunc(grid, func(at int) bool { return edge-at <= edgeSlack })
	}
	var t markdown.Table
	for _, r := range rows {
		t.StartRow()
		for i, c := range r.cells {
			if i < len(r.def.above) {
				c.Above = r.def.above[i]
			}
			if grid != nil {
				c.Span = column(r.def.edges[i+1]) - column(r.def.edges[i])
			}
			t.Add(c)
		}
		t.EndRow()
	}
	return t.String()
}

// gridOf returns the edges of all rows in order, nil where a row does not tell its
// own or there are too many for the columns that any row has.
func gridOf(rows []tableRow) (grid []int) {
	most := 0
	for _, r := range rows {
		if len(r.cells) == 0 {
			continue
		}
		if len(r.def.edges) != len(r.cells)+1 || !slices.IsSorted(r.def.edges) {
			return nil
		}
		most = max(most, len(r.cells))
		grid = append(grid, r.def.edges...)
		if len(grid) > math.MaxUint16 {
			slices.Sort(grid)
			grid = slices.Compact(grid)
		}
	}
	slices.Sort(grid)
	grid = slices.CompactFunc(grid, func(a, b int) bool { return max(a, b)-min(a, b) <= edgeSlack })
	if len(grid)-1 > most+most/2 {
		return nil
	}
	return grid
}

// sectionMarks returns which characters end sections and not pages.
func (b *fib) sectionMarks() map[int]bool {
	const entry = 12
	marks := map[int]bool{}
	ends := plc{b.table(sections), entry}
	for i := range min(ends.len(), maxNotes) {
		marks[ends.position(i+1)-1] = true
	}
	return marks
}
