package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// A byte order mark, as spreadsheets write it, is not part of the first column's name.
func TestRowsWithAByteOrderMark(t *testing.T) {
	utf16le := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune("state,x\nhello,1\n")) {
		utf16le = append(utf16le, byte(unit), byte(unit>>8))
	}
	for name, content := range map[string]string{
		"utf8.csv": "\ufeffstate,x\nhello,1\n", "plain.csv": "state,x\nhello,1\n", "utf16.csv": string(utf16le),
		"utf8.jsonl": "\ufeff" + `{"state":"hello","x":"1"}` + "\n",
	} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		rows, err := openRows(file, "state")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r, err := rows.next(t.Context())
		if err != nil || string(r.state) != `"hello"` || rows.heading != nil && !slices.Equal(rows.heading, []string{"state", "x"}) {
			t.Errorf("%s: got %+v, %q, %v", name, r, rows.heading, err)
		}
		if err := rows.close(); err != nil {
			t.Error(err)
		}
	}
}

// TestColumnsThatAreJudged names columns that are not there, and has labels beside what is
// judged.
func TestColumnsThatAreJudged(t *testing.T) {
	const csvRows, jsonRows = "text,n.label\nhello,yes\n", `{"text":"hello","n.label":"yes"}` + "\n"
	for name, c := range map[string]struct{ file, column, text, want string }{
		"csv, the whole row":    {"a.csv", "state", csvRows, `{"text":"hello"}`},
		"jsonl, the whole row":  {"a.jsonl", "state", jsonRows, `{"text":"hello"}`},
		"csv, a column":         {"a.csv", "text", csvRows, `"hello"`},
		"csv, a mistyped one":   {"a.csv", "txt", csvRows, `there is no column "txt"; the columns are text, n.label`},
		"jsonl, a mistyped one": {"a.jsonl", "txt", jsonRows, `there is no column "txt"; the columns are n.label, text`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var r *row
			rows, err := openRows(file, c.column)
			if err == nil {
				defer rows.close()
				r, err = rows.next(t.Context())
			}
			switch {
			case err != nil && !strings.Contains(err.Error(), c.want):
				t.Errorf("got %v, want %s", err, c.want)
			case err == nil && string(r.state) != c.want:
				t.Errorf("got %s, want %s", r.state, c.want)
			}
		})
	}
}
