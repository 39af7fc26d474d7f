package docx_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/extract"
)

// bomb is a part that unpacks to that many megabytes of zeros.
type bomb struct {
	name      string
	megabytes int
}

// packBombs makes a container of parts, as pack does, and bombs.
func packBombs(t *testing.T, bombs []bomb, parts ...string) []byte {
	t.Helper()
	var block bytes.Buffer // one megabyte, which may be repeated
	fw, err := flate.NewWriter(&block, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fw.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := fw.Flush(); err != nil {
		t.Fatal(err)
	}
	const lastBlock = "\x03\x00"
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for i := 0; i < len(parts); i += 2 {
		f, err := w.Create(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, parts[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range bombs {
		data := append(bytes.Repeat(block.Bytes(), b.megabytes), lastBlock...)
		writeRaw(t, w, zip.FileHeader{Name: b.name, UncompressedSize64: uint64(b.megabytes) << 20, CompressedSize64: uint64(len(data))}, data)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// writeRaw adds packed data whose sizes may be lies.
func writeRaw(t *testing.T, w *zip.Writer, h zip.FileHeader, data []byte) {
	t.Helper()
	h.Method = zip.Deflate
	f, err := w.CreateRaw(&h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
}

// claim makes a container whose directory claims sizes that are not there.
func claim(t *testing.T, unpacked, packed uint64) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	writeRaw(t, w, zip.FileHeader{Name: "word/document.xml", UncompressedSize64: unpacked, CompressedSize64: packed}, nil)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestExtractBombs(t *testing.T) {
	manyParts := make([]string, 0, 2*20_001)
	for i := range 20_001 {
		manyParts = append(manyParts, strconv.Itoa(i), "")
	}
	longNames := make([]string, 0, 2*200)
	for i := range 200 {
		longNames = append(longNames, strconv.Itoa(i)+strings.Repeat("0", 60_000), "")
	}
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"a large main part", claim(t, 129<<20, 100<<20)},
		{"a main part of 16 exabytes", claim(t, 1<<64-1, 100<<20)},
		{"a high ratio", packBombs(t, []bomb{{"word/document.xml", 17}})},
		{"many parts", pack(t, manyParts...)},
		{"a large directory", pack(t, longNames...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := textOf(t, c.data); !errors.Is(err, extract.ErrTooLarge) {
				t.Errorf("got %v, want extract.ErrTooLarge", err)
			}
		})
	}
}

// Parts that are named like headers are not unpacked, nor are parts of the kinds
// that the text does not need.
func TestExtractLeavesBombsPacked(t *testing.T) {
	data := packBombs(t, []bomb{{"word/header1.xml", 16}, {"word/media/footer.png", 64}}, "word/document.xml", body(paragraph("text")))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := textOf(t, data)
	runtime.ReadMemStats(&after)
	if err != nil || got.Text != "text\n" {
		t.Fatalf("got %q and %v", got.Text, err)
	}
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 8<<20 {
		t.Errorf("allocated %d bytes", spent)
	}
}

// A side part that is too large is left out, and the rest is read.
func TestExtractWithoutLargeSidePart(t *testing.T) {
	data := packBombs(t, []bomb{{"word/header1.xml", 17}, {"word/styles.xml", 17}},
		"word/document.xml", body(paragraph("text")+`<w:sectPr><w:headerReference w:id="r1"/></w:sectPr>`),
		"word/_rels/document.xml.rels", relationships("r1", "header", "header1.xml", "r2", "styles", "styles.xml"))
	got, err := textOf(t, data)
	want := extract.Document{Text: "text\n", Partial: true}
	if err != nil || got != want {
		t.Errorf("got %+v and %v, want %+v", got, err, want)
	}
}

// The size that the directory declares is a ceiling for what is unpacked.
func TestExtractUnderstatedSize(t *testing.T) {
	data := pack(t, "word/document.xml", body(paragraph(strings.Repeat("0", 1<<20))))
	i := bytes.Index(data, []byte("PK\x01\x02"))
	if i < 0 {
		t.Fatal("no directory")
	}
	binary.LittleEndian.PutUint32(data[i+24:], 1000)
	got, err := textOf(t, data)
	if err != nil && !errors.Is(err, extract.ErrDamaged) || len(got.Text) > 1000 {
		t.Errorf("got %d bytes and %v", len(got.Text), err)
	}
}

func TestExtractUnknownMethod(t *testing.T) {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	f, err := w.CreateRaw(&zip.FileHeader{Name: "word/document.xml", Method: 99, UncompressedSize64: 4, CompressedSize64: 4})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "text"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := textOf(t, buf.Bytes()); !errors.Is(err, extract.ErrDamaged) {
		t.Errorf("got %v, want extract.ErrDamaged", err)
	}
}

// The main part is the one that the package names, wherever it lies.
func TestExtractFindsParts(t *testing.T) {
	for _, c := range []struct {
		name  string
		parts []string
	}{
		{"usual", []string{"word/document.xml", body(paragraph("text"))}},
		{"elsewhere", []string{"_rels/.rels", relationships("r1", "officeDocument", "word/document2.xml"), "word/document2.xml", body(paragraph("text")), "word/document.xml", body(paragraph("old"))}},
		{"absolute", []string{"_rels/.rels", relationships("r1", "officeDocument", "/main/x.xml"), "main/x.xml", body(paragraph("text"))}},
		{"backslashes", []string{`_rels\.rels`, relationships("r1", "officeDocument", `word\document.xml`), `word\document.xml`, body(paragraph("text"))}},
		{"another case", []string{"_rels/.rels", relationships("r1", "officeDocument", "word/document.xml"), "Word/Document.xml", body(paragraph("text"))}},
		{"escaped", []string{"_rels/.rels", relationships("r1", "officeDocument", "my%20word.xml"), "my word.xml", body(paragraph("text"))}},
		{"missing", []string{"_rels/.rels", relationships("r1", "officeDocument", "gone.xml"), "word/document.xml", body(paragraph("text"))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := textOf(t, pack(t, c.parts...))
			if err != nil || got != (extract.Document{Text: "text\n"}) {
				t.Errorf("got %+v and %v", got, err)
			}
		})
	}
}

func TestExtractSideParts(t *testing.T) {
	ref := func(kind, id string) string {
		return `<w:p><w:r><w:` + kind + `Reference w:id="` + id + `"/></w:r></w:p>`
	}
	note := func(kind, attrs, text string) string {
		return `<w:` + kind + ` ` + attrs + `>` + paragraph(text) + `</w:` + kind + `>`
	}
	section := func(refs string) string { return `<w:sectPr>` + refs + `</w:sectPr>` }
	margin := func(kind, id string) string { return `<w:` + kind + `Reference w:type="default" w:id="` + id + `"/>` }
	got, err := textOf(t, pack(t,
		"word/document.xml", body(
			`<w:p><w:pPr>`+section(margin("header", "h2")+margin("footer", "f1"))+`</w:pPr></w:p>`+
				ref("footnote", "3")+ref("footnote", "2")+ref("endnote", "2")+ref("footnote", "3")+
				`<w:p><w:r><w:footnoteReference w:customMarkFollows="1" w:id="4"/><w:t>*</w:t></w:r></w:p>`+
				section(margin("header", "h1")+margin("header", "h3")+margin("header", "gone"))),
		"word/_rels/document.xml.rels", relationships(
			"h1", "header", "header1.xml", "h2", "header", "header2.xml", "h3", "header", "header3.xml", "f1", "footer", "footer1.xml",
			"n1", "footnotes", "footnotes.xml", "n2", "endnotes", "endnotes.xml", "c1", "comments", "comments.xml"),
		"word/header1.xml", `<w:hdr `+wordNS+`>`+paragraph("first header")+`</w:hdr>`,
		"word/header2.xml", `<w:hdr `+wordNS+`>`+paragraph("second header")+`</w:hdr>`,
		"word/header3.xml", `<w:hdr `+wordNS+`>`+paragraph("first header")+`</w:hdr>`,
		"word/footer1.xml", `<w:ftr `+wordNS+`>`+paragraph("footer")+`</w:ftr>`,
		"word/footnotes.xml", `<w:footnotes `+wordNS+`>`+note("footnote", `w:id="0" w:type="separator"`, "line")+
			note("footnote", `w:id="2"`, "two")+note("footnote", `w:id="3"`, "three")+note("footnote", `w:id="4"`, "* four")+note("footnote", `w:id="5"`, "nowhere")+`</w:footnotes>`,
		"word/endnotes.xml", `<w:endnotes `+wordNS+`>`+note("endnote", `w:id="2"`, "end")+`</w:endnotes>`,
		"word/comments.xml", `<w:comments `+wordNS+`>`+note("comment", `w:author="Ann"`, "why")+note("comment", "", "how")+`</w:comments>`,
	))
	want := "[^1]\n[^2]\n[^i]\n[^1]\n*\n\n[^1]: three\n[^2]: two\n* four\n\n[^i]: end\n\nComment (Ann): why\nComment: how\n\nsecond header\nfirst header\n\nfooter\n"
	if err != nil || got != (extract.Document{Text: want}) {
		t.Errorf("got %+v and %v, want %q", got, err, want)
	}
}
