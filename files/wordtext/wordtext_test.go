package wordtext_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/seed-506d8e5d/svc/files/doctext"
	"github.com/seed-506d8e5d/svc/files/docxtext"
	"github.com/seed-506d8e5d/svc/files/reading"
	"github.com/seed-506d8e5d/svc/files/wordtext"
)

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestReadsByTheBytes gets documents without their names and types.
func TestReadsByTheBytes(t *testing.T) {
	doc, docx := read(t, "../doctext/testdata/manual.doc"), read(t, "../docxtext/testdata/manual.docx")
	old, err := doctext.Extract(t.Context(), bytes.NewReader(doc), int64(len(doc)))
	if err != nil {
		t.Fatal(err)
	}
	modern, err := docxtext.Extract(t.Context(), bytes.NewReader(docx), int64(len(docx)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		data []byte
		want reading.Text
		err  error
	}{
		{"a .doc", doc, old, nil},
		{"a .docx", docx, modern, nil},
		{"an encrypted .doc", read(t, "../doctext/testdata/password.doc"), reading.Text{}, reading.ErrPassword},
		{"an encrypted .docx", read(t, "testdata/password.docx"), reading.Text{}, reading.ErrPassword},
		{"a PDF", []byte("%PDF-1.7 and so on"), reading.Text{}, reading.ErrFormat},
		{"RTF", []byte(`{\rtf1\ansi The text of a letter.}`), reading.Text{Text: "The text of a letter.\n"}, nil},
		{"nothing", nil, reading.Text{}, reading.ErrFormat},
		{"a cut .docx", docx[:4000], reading.Text{}, reading.ErrDamaged},
	} {
		got, err := wordtext.Reader{}.Read(t.Context(), bytes.NewReader(c.data), int64(len(c.data)))
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		}
	}
}
