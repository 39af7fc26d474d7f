package pdf

import (
	"math"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/extract/internal/markdown"
)

// Tables become rows between bars where it is certain which words stand in a
// cell: grid.go knows those that are drawn with rules, aligned.go those whose
// columns are set apart. What is not certain stays lines.

// block is a line of the page, or a table in the place of its first line.
type block struct {
	line  line
	table string
}

// maxTableLines is how many lines a page with tables has at most.
const maxTableLines = 20_000

// findTables returns what is to be written of a page, in order.
func findTables(lines []line, r *ruling) []block {
	blocks := make([]block, len(lines))
	for i, ln := range lines {
		blocks[i].line = ln
	}
	if len(lines) > maxTableLines {
		return blocks
	}
	for _, g := range r.grids() {
		blocks = g.take(blocks)
	}
	return alignedTables(blocks)
}

// cells are the texts of a table by row and column. Each may be of several lines.
type cells [][][]line

func newCells(rows, columns int) cells {
	c, all := make(cells, rows), make([][]line, rows*columns)
	for i := range c {
		c[i] = all[i*columns : (i+1)*columns : (i+1)*columns]
	}
	return c
}

// compact drops the rows and columns without text.
func (c cells) compact() cells {
	c = slices.DeleteFunc(c, func(row [][]line) bool {
		return !slices.ContainsFunc(row, func(cell []line) bool { return len(cell) > 0 })
	})
	for column := 0; len(c) > 0 && column < len(c[0]); {
		if slices.ContainsFunc(c, func(row [][]line) bool { return len(row[column]) > 0 }) {
			column++
			continue
		}
		for i := range c {
			c[i] = slices.Delete(c[i], column, column+1)
		}
	}
	return c
}

// filled is how many cells have text.
func (c cells) filled() (n int) {
	for _, row := range c {
		for _, cell := range row {
			if len(cell) > 0 {
				n++
			}
		}
	}
	return n
}

func (c cells) String() string {
	var t markdown.Table
	for _, row := range c {
		t.StartRow()
		for _, cell := range row {
			t.Add(markdown.Cell{Text: cellText(cell)})
		}
		t.EndRow()
	}
	return t.String()
}

// cellText joins the lines of a cell, from top to bottom, and words that were
// divided.
func cellText(lines []line) string {
	slices.SortStableFunc(lines, func(a, b line) int {
		if down := b.start.y - a.start.y; math.Abs(down) > 0.3*max(a.size, b.size) {
			return int(math.Copysign(1, down))
		}
		return int(math.Copysign(1, a.start.x-b.start.x))
	})
	text := ""
	for _, ln := range lines {
		s := strings.Join(strings.Fields(ln.string()), " ")
		switch {
		case text == "" || s == "":
			text += s
		case isDivided(text) && startsLower(s):
			text = text[:len(text)-1] + s
		default:
			text += " " + s
		}
	}
	return text
}

// word is a part of a line without spaces.
type word struct {
	from, to    int
	left, right float64
}

// hasWords reports whether a line is more than spaces.
func (ln line) hasWords() bool {
	return slices.ContainsFunc(ln.text, func(r rune) bool { return r != ' ' && r != '\t' })
}

// words returns the words of a line.
func (ln line) words() (list []word) {
	from := -1
	for i := 0; i <= len(ln.text); i++ {
		isSpace := i == len(ln.text) || ln.text[i] == ' ' || ln.text[i] == '\t'
		switch {
		case !isSpace && from < 0:
			from = i
		case isSpace && from >= 0:
			right := ln.end.x
			if i < len(ln.at) {
				right = float64(ln.at[i])
			}
			list = append(list, word{from, i, float64(ln.at[from]), right})
			from = -1
		}
	}
	return list
}
