package pptx_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/pptx"
)

func read(data []byte) (extract.Document, error) {
	return pptx.Reader{}.Read(context.Background(), bytes.NewReader(data), int64(len(data)))
}

// pack makes a container of names and contents in turn.
func pack(t testing.TB, parts ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for i := 0; i < len(parts); i += 2 {
		f, err := w.Create(parts[i])
		if err == nil {
			_, err = io.WriteString(f, parts[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// rels is a part of relationships: IDs, kinds and targets in turn.
func rels(triples ...string) string {
	const kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
	var b strings.Builder
	b.WriteString(`<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`)
	for i := 0; i < len(triples); i += 3 {
		b.WriteString(`<Relationship Id="` + triples[i] + `" Type="` + kinds + triples[i+1] + `" Target="` + triples[i+2] + `"/>`)
	}
	return b.String() + "</Relationships>"
}

const spaces = ` xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"`

// deck is a presentation of slides, each the content of a shape tree.
func deck(t testing.TB, slides ...string) []byte {
	t.Helper()
	list, links := "", []string{}
	parts := []string{}
	for i, tree := range slides {
		n := strconv.Itoa(i + 1)
		list = list + `<p:sldId id="25` + n + `" r:id="rId` + n + `"/>`
		links = append(links, "rId"+n, "slide", "slides/slide"+n+".xml")
		parts = append(parts, "ppt/slides/slide"+n+".xml", slide(tree))
	}
	return pack(t, append(parts,
		"_rels/.rels", rels("rId1", "officeDocument", "ppt/presentation.xml"),
		"ppt/presentation.xml", `<?xml version="1.0"?><p:presentation`+spaces+`><p:sldIdLst>`+list+`</p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", rels(links...),
		"ppt/slides/_rels/slide1.xml.rels", rels("rId1", "notesSlide", "../notesSlides/notesSlide1.xml"),
		"ppt/notesSlides/notesSlide1.xml", `<p:notes`+spaces+`><p:cSld><p:spTree>`+shape(`type="sldNum"`, para("", "1"))+shape(`type="body"`, para("", "Say hello."))+`</p:spTree></p:cSld></p:notes>`)...)
}

func slide(tree string) string {
	show := ""
	if rest, ok := strings.CutPrefix(tree, "HIDDEN"); ok {
		show, tree = ` show="0"`, rest
	}
	return `<?xml version="1.0"?><p:sld` + spaces + show + `><p:cSld><p:spTree>` + tree + `</p:spTree></p:cSld></p:sld>`
}

// shape is a shape with text; holder are the attributes of its placeholder, or "none".
func shape(holder, paragraphs string) string {
	ph := "<p:ph " + holder + "/>"
	if holder == "none" {
		ph = ""
	}
	return `<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"/><p:cNvSpPr/><p:nvPr>` + ph + `</p:nvPr></p:nvSpPr><p:txBody><a:bodyPr/>` + paragraphs + `</p:txBody></p:sp>`
}

func para(props, text string) string {
	return "<a:p><a:pPr " + props + "/><a:r><a:t>" + text + "</a:t></a:r></a:p>"
}

func TestPresentations(t *testing.T) {
	cell := func(attributes, text string) string {
		return "<a:tc " + attributes + "><a:txBody>" + para("", text) + "</a:txBody></a:tc>"
	}
	data := deck(t,
		shape(`type="ctrTitle"`, "<a:p><a:r><a:t>The </a:t></a:r><a:br/><a:r><a:t>&lt;title&gt;</a:t></a:r></a:p>")+shape(`type="subTitle" idx="1"`, para("", "below it"))+shape(`type="ftr"`, para("", "footer")),
		"HIDDEN"+shape(`type="title"`, para("", "Secret")),
		shape(`idx="1"`, para("", "one")+para(`lvl="1"`, "two")+para("", " "))+shape("none", para("", "a box"))+
			`<p:sp><p:nvSpPr><p:cNvPr id="3" name="y" hidden="1"/><p:nvPr><p:ph/></p:nvPr></p:nvSpPr><p:txBody>`+para("", "unseen")+`</p:txBody></p:sp>`+
			`<p:pic><p:nvPicPr><p:cNvPr id="4" name="z" descr="A  cat"/></p:nvPicPr><p:blipFill><a:blip r:embed="rId9"/></p:blipFill></p:pic>`+
			`<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="5" name="t"/></p:nvGraphicFramePr><a:graphic><a:graphicData><a:tbl><a:tr>`+cell(`gridSpan="2"`, "head")+cell(`hMerge="1"`, "")+`</a:tr><a:tr>`+cell("", "a|b")+cell("", "c")+`</a:tr></a:tbl></a:graphicData></a:graphic></p:graphicFrame>`+
			`<mc:AlternateContent><mc:Choice>`+shape("none", para("", "new"))+`</mc:Choice><mc:Fallback>`+shape("none", para("", "old"))+`</mc:Fallback></mc:AlternateContent>`,
	)
	const want = "# The <title>\nbelow it\n\nNotes:\nSay hello.\n\n# Slide 3\n- one\n  - two\na box\n![A cat]()\n| head | head |\n| --- | --- |\n| a\\|b | c |\nnew\n"
	got, err := read(data)
	if err != nil || got != (extract.Document{Text: want, Pages: 3}) {
		t.Errorf("got %d pages, partial %t, %v\n%s\nwant\n%s", got.Pages, got.Partial, err, got.Text, want)
	}
}

func TestPresentationsThatAreDamaged(t *testing.T) {
	got, err := read(pack(t, "ppt/presentation.xml", `<p:presentation`+spaces+`><p:sldIdLst><p:sldId id="1" r:id="a"/><p:sldId id="2" r:id="b"/><p:sldId id="3" r:id="c"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", rels("a", "slide", "gone.xml", "b", "slide", "cut.xml", "c", "slide", "/ppt/last.xml"),
		"ppt/cut.xml", slide(shape("none", para("", "before")) + "<p:sp <<")[:400], "ppt/last.xml", slide(shape("none", para("", "last")))))
	if err != nil || !got.Partial || !strings.Contains(got.Text, "# Slide 3\nlast\n") {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"no container":    {[]byte("text"), extract.ErrFormat},
		"cut":             {deck(t, "")[:100], extract.ErrDamaged},
		"a workbook":      {pack(t, "_rels/.rels", rels("a", "officeDocument", "xl/workbook.xml"), "xl/workbook.xml", "<workbook/>"), extract.ErrFormat},
		"another zip":     {pack(t, "a.txt", "text"), extract.ErrFormat},
		"nested deeply":   {deck(t, strings.Repeat("<p:grpSp>", 3000)), extract.ErrTooLarge},
		"a giant of text": {deck(t, slices.Repeat([]string{shape("none", para("", strings.Repeat("x", 10<<20)))}, 7)...), extract.ErrTooLarge},
	} {
		if _, err := read(c.data); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	data := deck(t, "")
	if _, err := (pptx.Reader{}).Read(ctx, bytes.NewReader(data), int64(len(data))); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}

func FuzzSlides(f *testing.F) {
	f.Add(shape(`type="title"`, para("", "a")) + `<a:tbl><a:tr><a:tc gridSpan="3">` + para("", "b") + `</a:tc></a:tr></a:tbl>`)
	f.Add(`</p:spTree></a:t></p:sld><a:tc><a:tbl><mc:Fallback><p:cNvPr hidden="1" descr="x"/><a:blip/>`)
	f.Fuzz(func(t *testing.T, tree string) {
		got, err := read(deck(t, tree))
		if err != nil && !errors.Is(err, extract.ErrTooLarge) {
			t.Error(err)
		}
		if strings.ToValidUTF8(got.Text, "") != got.Text {
			t.Errorf("the text is no UTF-8: %q", got.Text)
		}
	})
}

func FuzzExtract(f *testing.F) {
	f.Add(deck(f, shape("none", para("", "a"))))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := read(data); err != nil && !errors.Is(err, extract.ErrFormat) && !errors.Is(err, extract.ErrDamaged) && !errors.Is(err, extract.ErrTooLarge) && !errors.Is(err, extract.ErrPassword) {
			t.Error(err)
		}
	})
}
