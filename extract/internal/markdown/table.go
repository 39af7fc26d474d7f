// Package markdown writes what the readers of documents find beside plain lines, as
// models read it: tables and links.
package markdown

import "strings"

// Table is the cells of a table as they are read, and writes them as Markdown.
// Its zero value has no rows.
type Table struct {
	rows [][]Cell
	open bool // the last row goes on
}

// Cell is a cell of a row.
type Cell struct {
	Text  string // lines of text
	Span  int    // how many columns it takes; 0 is one
	Above bool   // it is one cell with the one above it
}

// Bounds on what a table repeats: the columns of a row, of which Word has 63, and
// the bytes of a cell that stands in several places.
const (
	maxColumns  = 64
	maxRepeated = 1000
)

// StartRow begins a row, EndRow ends it. A row without cells is dropped.
func (t *Table) StartRow() {
	t.rows = append(t.rows, nil)
	t.open = true
}

// EndRow ends the row.
func (t *Table) EndRow() {
	if n := len(t.rows); n > 0 && len(t.rows[n-1]) == 0 {
		t.rows = t.rows[:n-1]
	}
	t.open = false
}

// Add adds a cell to the row. A cell that spans columns stands in each of them, and
// one that is merged with the one above has its text, so that every row can be
// read by itself. Add returns how many bytes of text the row has got.
func (t *Table) Add(c Cell) (size int) {
	if !t.open {
		t.StartRow()
	}
	n := len(t.rows) - 1
	at := len(t.rows[n])
	if c.Above && n > 0 && at < len(t.rows[n-1]) && c.Text == "" {
		c.Text = repeatable(t.rows[n-1][at].Text)
	}
	for range min(max(1, c.Span), maxColumns) {
		t.rows[n] = append(t.rows[n], Cell{Text: c.Text})
		size += len(c.Text)
		c.Text = repeatable(c.Text)
	}
	return size
}

func repeatable(text string) string {
	if len(text) > maxRepeated {
		return ""
	}
	return text
}

// String returns the table as rows of Markdown, with a line under the first, or
// the text of its only cell. It has no line end behind it.
func (t *Table) String() string {
	columns := 0
	for _, row := range t.rows {
		columns = max(columns, len(row))
	}
	if columns == 0 {
		return ""
	}
	if len(t.rows) == 1 && columns == 1 {
		return t.rows[0][0].Text
	}
	var b strings.Builder
	for i, row := range t.rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteByte('|')
		for j := range columns {
			text := ""
			if j < len(row) {
				text = CellText(row[j].Text)
			}
			if text != "" {
				b.WriteString(" " + text)
			}
			b.WriteString(" |")
		}
		if i == 0 {
			b.WriteString("\n|" + strings.Repeat(" --- |", columns))
		}
	}
	return b.String()
}

// Inner returns the table as lines, for a cell that it is in: its own cells stand
// in a line with semicolons between them.
func (t *Table) Inner() string {
	lines := make([]string, len(t.rows))
	for i, row := range t.rows {
		texts := make([]string, len(row))
		for j, c := range row {
			texts[j] = strings.ReplaceAll(c.Text, "\n", " ")
		}
		lines[i] = strings.Join(texts, "; ")
	}
	return strings.Join(lines, "\n")
}

// CellText returns a text as it stands in a cell of a row: it keeps lines within the row, and lines of a cell from ending it.
func CellText(text string) string {
	text = strings.Trim(text, " \t\n")
	text = strings.ReplaceAll(text, "|", `\|`)
	text = strings.ReplaceAll(text, "\t", " ")
	return strings.ReplaceAll(text, "\n", "<br>")
}
