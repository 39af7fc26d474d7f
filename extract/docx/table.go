package docx

import (
	"encoding/xml"
	"strconv"

	"github.com/seed-506d8e5d/svc/extract/internal/markdown"
	"github.com/seed-506d8e5d/svc/extract/internal/ooxml"
)

// maxTables bounds how deep tables stand in each other. What is deeper is text.
const maxTables = 16

func (w *walker) startTable() {
	if len(w.outer) < maxOuter && len(w.story.tables) < maxTables {
		w.story.tables = append(w.story.tables, &markdown.Table{})
		w.open[len(w.open)-1].table = true
	}
}

func (w *walker) startRow() {
	if w.story.table() == nil { // a row without its table
		w.startTable()
	}
	if t := w.story.table(); t != nil {
		t.StartRow()
	}
}

// startCell begins a story of its own.
func (w *walker) startCell() {
	if w.story.table() == nil || len(w.outer) >= maxOuter {
		return
	}
	w.openStory()
	w.story.cell = &markdown.Cell{}
}

func (w *walker) cellProperty(e xml.StartElement) {
	if w.story.cell == nil {
		return
	}
	switch e.Name.Local {
	case "gridSpan":
		w.story.cell.Span, _ = strconv.Atoi(ooxml.Attr(e, "val")) // less than one is one
	case "vMerge":
		w.story.cell.Above = ooxml.Attr(e, "val") != "restart"
	}
}

// endTable writes the table, or in a cell its lines.
func (w *walker) endTable() {
	n := len(w.story.tables)
	if n == 0 {
		return
	}
	t := w.story.tables[n-1]
	w.story.tables = w.story.tables[:n-1]
	text := t.String()
	if w.story.cell != nil {
		text = t.Inner()
		w.story.lineEnds = max(w.story.lineEnds, 1)
		if text != "" {
			w.story.write(text)
			w.story.lineEnds = 1
		}
	} else {
		w.story.block(text)
	}
	w.wrote += len(text)
}
