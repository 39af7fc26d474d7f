package markdown_test

import (
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/extract/internal/markdown"
)

func TestTables(t *testing.T) {
	long := strings.Repeat("x", 2000)
	type cells = []markdown.Cell
	for _, c := range []struct {
		name  string
		rows  []cells
		want  string
		inner string
	}{
		{"rows", []cells{{{Text: "a"}, {Text: "b"}}, {{Text: "c"}, {Text: "d"}}}, "| a | b |\n| --- | --- |\n| c | d |", "a; b\nc; d"},
		{"one cell", []cells{{{Text: "a\nb"}}}, "a\nb", "a b"},
		{"no cell", []cells{{}}, "", ""},
		{"an empty row", []cells{{{Text: "a"}, {Text: "b"}}, {}, {{Text: "c"}}}, "| a | b |\n| --- | --- |\n| c | |", "a; b\nc"},
		{"lines and bars", []cells{{{Text: "a\nb"}, {Text: "c|d\te"}}}, "| a<br>b | c\\|d e |\n| --- | --- |", "a b; c|d\te"},
		{"columns together", []cells{{{Text: "a", Span: 2}, {Text: "b"}}}, "| a | a | b |\n| --- | --- | --- |", "a; a; b"},
		{"rows together", []cells{{{Text: "a"}, {Text: "b"}}, {{Above: true}, {Text: "c"}}, {{Above: true}, {Text: "d"}}},
			"| a | b |\n| --- | --- |\n| a | c |\n| a | d |", "a; b\na; c\na; d"},
		{"nothing above", []cells{{{Above: true}, {Text: "a"}}}, "| | a |\n| --- | --- |", "; a"},
		{"long text once", []cells{{{Text: long, Span: 2}}}, "| " + long + " | |\n| --- | --- |", long + "; "},
	} {
		var table markdown.Table
		for _, row := range c.rows {
			table.StartRow()
			for _, cell := range row {
				table.Add(cell)
			}
			table.EndRow()
		}
		if got := table.String(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if got := table.Inner(); got != c.inner {
			t.Errorf("%s: inside of a cell: got %q, want %q", c.name, got, c.inner)
		}
	}
	var wide markdown.Table
	wide.Add(markdown.Cell{Span: 1 << 30, Text: long})
	wide.Add(markdown.Cell{Span: 1 << 30, Text: "short"})
	if got := wide.String(); len(got) > 10_000 {
		t.Errorf("a cell over too many columns is %d bytes", len(got))
	}
}
