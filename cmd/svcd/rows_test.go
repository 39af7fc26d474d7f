package main

import (
	"os"
	"path/filepath"
	"slices"
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
