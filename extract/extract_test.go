package extract_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/doc"
	"github.com/seed-506d8e5d/svc/extract/docx"
	"github.com/seed-506d8e5d/svc/extract/pdf"
	"github.com/seed-506d8e5d/svc/extract/rtf"
)

func load(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAnyReadsByTheBytes(t *testing.T) {
	read := func(reader extract.Reader, data []byte) (extract.Document, error) {
		return reader.Read(t.Context(), bytes.NewReader(data), int64(len(data)))
	}
	must := func(reader extract.Reader, data []byte) extract.Document {
		d, err := read(reader, data)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	old, modern, page := load(t, "doc/testdata/manual.doc"), load(t, "docx/testdata/manual.docx"), load(t, "pdf/testdata/libreoffice.pdf")
	word := extract.Any(doc.Reader{}, rtf.Reader{}, docx.Reader{})
	all := extract.Any(doc.Reader{}, rtf.Reader{}, pdf.Reader{}, docx.Reader{})
	for _, c := range []struct {
		name   string
		reader extract.Reader
		data   []byte
		want   extract.Document
		err    error
	}{
		{"a .doc", all, old, must(doc.Reader{}, old), nil},
		{"a .docx", all, modern, must(docx.Reader{}, modern), nil},
		{"a PDF", all, page, must(pdf.Reader{}, page), nil},
		{"RTF", all, []byte(`{\rtf1\ansi The text of a letter.}`), extract.Document{Text: "The text of a letter.\n"}, nil},
		{"an encrypted .doc", all, load(t, "doc/testdata/password.doc"), extract.Document{}, extract.ErrPassword},
		{"an encrypted .docx", all, load(t, "docx/testdata/password.docx"), extract.Document{}, extract.ErrPassword},
		{"a cut .docx", all, modern[:4000], extract.Document{}, extract.ErrDamaged},
		{"a PDF among readers of Word", word, page, extract.Document{}, extract.ErrFormat},
		{"nothing", all, nil, extract.Document{}, extract.ErrFormat},
		{"no reader", extract.Any(), old, extract.Document{}, extract.ErrFormat},
	} {
		got, err := read(c.reader, c.data)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: got %+v, %v, want %v", c.name, got, err, c.err)
		}
	}
	if types := all.Types(); len(types) < 8 || types[0].MIME != "application/msword" {
		t.Errorf("got the types %v", types)
	}
}
