package docx_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/docx"
)

var update = flag.Bool("update", false, "rewrite the expected texts in testdata")

func textOf(t *testing.T, data []byte) (extract.Document, error) {
	t.Helper()
	return docx.Reader{}.Read(t.Context(), bytes.NewReader(data), int64(len(data)))
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The documents were written by LibreOffice 7.4, except manual.docx, which is
// Pandoc's. The texts were checked against what the programs show.
func TestExtractDocuments(t *testing.T) {
	for _, name := range []string{"features", "manual"} {
		t.Run(name, func(t *testing.T) {
			got, err := textOf(t, read(t, name+".docx"))
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got.Text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want := extract.Document{Text: string(read(t, name+".txt"))}
			if got != want {
				t.Errorf("got partial %t and\n%s\nwant\n%s", got.Partial, got.Text, want.Text)
			}
		})
	}
}

// pack makes a container of names and contents in turn, which are not compressed.
func pack(t testing.TB, parts ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for i := 0; i < len(parts); i += 2 {
		f, err := w.CreateHeader(&zip.FileHeader{Name: parts[i], Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, parts[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

const (
	wordNS   = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"`
	relsHead = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`
	officeNS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
)

// body is a main part around the markup of its paragraphs.
func body(markup string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><w:document ` + wordNS + `><w:body>` + markup + `</w:body></w:document>`
}

func paragraph(text string) string { return "<w:p><w:r><w:t>" + text + "</w:t></w:r></w:p>" }

func relationships(idKindTarget ...string) string {
	var b strings.Builder
	b.WriteString(relsHead)
	for i := 0; i < len(idKindTarget); i += 3 {
		b.WriteString(`<Relationship Id="` + idKindTarget[i] + `" Type="` + officeNS + idKindTarget[i+1] + `" Target="` + idKindTarget[i+2] + `"/>`)
	}
	return b.String() + "</Relationships>"
}

func TestExtractErrors(t *testing.T) {
	features := read(t, "features.docx")
	encrypted := bytes.Clone(features)
	for at := 0; ; at += 4 { // set the bit in every entry of the directory
		i := bytes.Index(encrypted[at:], []byte("PK\x01\x02"))
		if i < 0 {
			break
		}
		at += i
		encrypted[at+8] |= 1
	}
	legacy := append([]byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), make([]byte, 4096)...)
	deep := strings.Repeat("<w:ins>", 3000)
	for _, c := range []struct {
		name string
		data []byte
		want error
	}{
		{"empty", nil, extract.ErrFormat},
		{"short", []byte("PK"), extract.ErrFormat},
		{"plain text", []byte("Dear Sir or Madam, the text of a letter."), extract.ErrFormat},
		{"rich text", []byte(`{\rtf1\ansi The text of a letter.}`), extract.ErrFormat},
		{"a legacy document", legacy, extract.ErrFormat},
		{"another zip", pack(t, "readme.txt", "Read me."), extract.ErrFormat},
		{"a spreadsheet", pack(t, "_rels/.rels", relationships("r1", "officeDocument", "xl/workbook.xml"), "xl/workbook.xml", "<workbook/>"), extract.ErrFormat},
		{"an encrypted zip", encrypted, extract.ErrPassword},
		{"cut short", features[:len(features)/2], extract.ErrDamaged},
		{"no end", features[:len(features)-20], extract.ErrDamaged},
		{"a main part without text", pack(t, "word/document.xml", "<w:document><w:body><w:p w:x='"), extract.ErrDamaged},
		{"a main part of nothing", pack(t, "word/document.xml", ""), extract.ErrFormat},
		{"nested too deep", pack(t, "word/document.xml", body(deep)), extract.ErrTooLarge},
		{"a tag too long", pack(t, "word/document.xml", body(`<w:p `+strings.Repeat(`a="" `, 1<<18)+`/>`)), extract.ErrTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := textOf(t, c.data)
			if !errors.Is(err, c.want) {
				t.Errorf("got %+v and %v, want %v", got, err, c.want)
			}
		})
	}
}

func TestExtractPartial(t *testing.T) {
	notes := `<w:footnotes ` + wordNS + `><w:footnote w:id="2">` + paragraph("note") + `</w:footnote><w:foot`
	main := body(paragraph("before") + `<w:p><w:r><w:t>word</w:t><w:footnoteReference w:id="2"/></w:r></w:p>`)
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"a main part cut short", pack(t, "word/document.xml", main[:len(main)-60]), "before\nword\n"},
		{"notes cut short", pack(t, "word/document.xml", main,
			"word/_rels/document.xml.rels", relationships("r1", "footnotes", "footnotes.xml"),
			"word/footnotes.xml", notes), "before\nword[^1]\n\n[^1]: note\n"},
		{"a wrong checksum", corrupt(t, pack(t, "word/document.xml", main)), "before\nword[^1]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := textOf(t, c.data)
			want := extract.Document{Text: c.want, Partial: true}
			if err != nil || got != want {
				t.Errorf("got %+v and %v, want %+v", got, err, want)
			}
		})
	}
}

// corrupt changes the checksum of the only part.
func corrupt(t *testing.T, data []byte) []byte {
	t.Helper()
	i := bytes.Index(data, []byte("PK\x01\x02"))
	if i < 0 {
		t.Fatal("no directory")
	}
	data[i+16] ^= 0xFF
	descriptor := bytes.Index(data, []byte("PK\x07\x08"))
	if descriptor < 0 {
		t.Fatal("no descriptor")
	}
	data[descriptor+4] ^= 0xFF
	return data
}

func TestExtractEmptyDocument(t *testing.T) {
	got, err := textOf(t, pack(t, "word/document.xml", body("<w:p/>")))
	if err != nil || got != (extract.Document{}) {
		t.Errorf("got %+v and %v, want an empty result", got, err)
	}
}

func TestExtractStopsWithItsContext(t *testing.T) {
	data := read(t, "features.docx")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (docx.Reader{}).Read(ctx, bytes.NewReader(data), int64(len(data))); !errors.Is(err, context.Canceled) {
		t.Errorf("before the start: got %v, want context.Canceled", err)
	}
	for reads := 1; reads < 6; reads++ {
		ctx, cancel := context.WithCancel(t.Context())
		r := &cancelingReader{r: bytes.NewReader(data), left: reads, cancel: cancel}
		if _, err := (docx.Reader{}).Read(ctx, r, int64(len(data))); !errors.Is(err, context.Canceled) {
			t.Errorf("at read %d: got %v, want context.Canceled", reads, err)
		}
		cancel()
	}
}

// cancelingReader cancels a context at one of the reads.
type cancelingReader struct {
	r      io.ReaderAt
	left   int
	cancel context.CancelFunc
}

func (c *cancelingReader) ReadAt(p []byte, off int64) (int, error) {
	if c.left--; c.left == 0 {
		c.cancel()
	}
	return c.r.ReadAt(p, off)
}

func TestExtractReportsReadErrors(t *testing.T) {
	data := read(t, "features.docx")
	_, err := docx.Reader{}.Read(t.Context(), bytes.NewReader(data[:3000]), int64(len(data)))
	if !errors.Is(err, extract.ErrDamaged) {
		t.Errorf("got %v, want extract.ErrDamaged", err)
	}
}

func FuzzExtract(f *testing.F) {
	names, err := filepath.Glob(filepath.Join("testdata", "*.docx"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := docx.Reader{}.Read(t.Context(), bytes.NewReader(data), int64(len(data)))
		if err != nil && got != (extract.Document{}) {
			t.Errorf("got %+v with %v", got, err)
		}
	})
}

// FuzzMarkup gets past the container, which the other target seldom does.
func FuzzMarkup(f *testing.F) {
	f.Add(body(paragraph("text")), "<w:styles/>", "<w:numbering/>")
	f.Add(body(`<w:tbl><w:tr><w:tc>`+paragraph("cell")+`</w:tc></w:tr></w:tbl>`),
		`<w:styles><w:style w:styleId="a"><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style></w:styles>`,
		`<w:numbering><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:lvlText w:val="%1."/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>`)
	f.Fuzz(func(t *testing.T, main, styles, numbering string) {
		data := pack(t, "word/document.xml", main,
			"word/_rels/document.xml.rels", relationships("r1", "styles", "styles.xml", "r2", "numbering", "numbering.xml"),
			"word/styles.xml", styles, "word/numbering.xml", numbering)
		got, err := docx.Reader{}.Read(t.Context(), bytes.NewReader(data), int64(len(data)))
		if err != nil && got != (extract.Document{}) {
			t.Errorf("got %+v with %v", got, err)
		}
	})
}
