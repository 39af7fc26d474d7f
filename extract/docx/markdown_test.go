package docx_test

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParts reads a body beside a chart, a diagram and a part in another format.
func FuzzParts(f *testing.F) {
	f.Add(`<c:chart r:id="c"/><dgm:relIds r:dm="d"/><w:altChunk r:id="h"/>`, "<c:chartSpace><c:chart><c:plotArea><c:x><c:ser><c:tx><c:v>a</c:v></c:tx></c:ser></c:x>",
		"<dgm:dataModel><dgm:ptLst><dgm:pt>", "<p>a<br>b<td>c</html>")
	f.Add(`<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="99"/><w:vMerge/></w:tcPr><w:p><w:hyperlink r:id="h"><w:tbl>`, "", "", "PK\x03\x04")
	f.Fuzz(func(t *testing.T, markup, chart, diagram, other string) {
		got, _ := textOf(t, pack(t, "word/document.xml", body(markup), "word/c.xml", chart, "word/d.xml", diagram, "word/h.html", other,
			"word/_rels/document.xml.rels", relationships("c", "chart", "c.xml", "d", "diagramData", "d.xml", "h", "aFChunk", "h.html")))
		if !utf8.ValidString(got.Text) {
			t.Errorf("not UTF-8: %q", got.Text)
		}
	})
}

func styled(style, text string) string {
	return `<w:p><w:pPr><w:pStyle w:val="` + style + `"/></w:pPr><w:r><w:t>` + text + `</w:t></w:r></w:p>`
}

func outlined(level, text string) string {
	return `<w:p><w:pPr><w:outlineLvl w:val="` + level + `"/></w:pPr><w:r><w:t>` + text + `</w:t></w:r></w:p>`
}

// TestMarkdown has a body beside parts that most documents have.
func TestMarkdown(t *testing.T) {
	const sheet = `<w:styles ` + wordNS + `><w:style w:styleId="H"><w:name w:val="heading 2"/></w:style>` +
		`<w:style w:styleId="O"><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>` +
		`<w:style w:styleId="B"><w:basedOn w:val="H"/></w:style><w:style w:styleId="T"><w:name w:val="Title"/></w:style></w:styles>`
	const chart = `<c:chartSpace xmlns:c="c" xmlns:a="a"><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Catch</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea><c:layout/><c:barChart>` +
		`<c:ser><c:tx><c:strRef><c:strCache><c:pt idx="0"><c:v>Cod</c:v></c:pt></c:strCache></c:strRef></c:tx>` +
		`<c:cat><c:strRef><c:strCache><c:pt idx="0"><c:v>May</c:v></c:pt><c:pt idx="1"><c:v>June</c:v></c:pt></c:strCache></c:strRef></c:cat>` +
		`<c:val><c:numRef><c:numCache><c:pt idx="0"><c:v>3</c:v></c:pt><c:pt idx="1"><c:v>4.5</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser>` +
		`</c:barChart></c:plotArea></c:chart></c:chartSpace>`
	const diagram = `<dgm:dataModel xmlns:dgm="d" xmlns:a="a"><dgm:ptLst><dgm:pt><dgm:t><a:p><a:r><a:t>Plan</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt/>` +
		`<dgm:pt><dgm:t><a:p><a:r><a:t>Do</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>`
	rels := relationships("s", "styles", "styles.xml", "c", "chart", "chart.xml", "d", "diagramData", "data.xml",
		"h", "aFChunk", "in.html", "w", "aFChunk", "in.docx", "t", "aFChunk", "in.txt", "m", "comments", "comments.xml")
	rels = rels[:len(rels)-len("</Relationships>")] +
		`<Relationship Id="l" Type="x/hyperlink" Target="https://example.org/a" TargetMode="External"/>` +
		`<Relationship Id="f" Type="x/hyperlink" Target="file:///C:/secret.doc" TargetMode="External"/></Relationships>`
	link := func(attrs, text string) string {
		return `<w:p><w:r><w:t>See </w:t></w:r><w:hyperlink ` + attrs + `><w:r><w:t>` + text + `</w:t></w:r></w:hyperlink><w:r><w:t>.</w:t></w:r></w:p>`
	}
	field := func(code string) string {
		return `<w:p>` + fieldChar("begin") + instr(code) + fieldChar("separate") + run("<w:t>here</w:t>") + fieldChar("end") + `</w:p>`
	}
	drawing := func(markup string) string { return `<w:p><w:r><w:drawing>` + markup + `</w:drawing></w:r></w:p>` }
	merged := func(properties, text string) string {
		return `<w:tc><w:tcPr>` + properties + `</w:tcPr>` + paragraph(text) + `</w:tc>`
	}
	for _, c := range []struct{ name, markup, want string }{
		{"a heading by the name of its style", styled("H", "Ropes") + paragraph("text"), "## Ropes\ntext"},
		{"by its style's outline", styled("O", "Ropes"), "### Ropes"},
		{"by the style that its style is based on", styled("B", "Ropes"), "## Ropes"},
		{"the title", styled("T", "Ropes"), "# Ropes"},
		{"by its own outline", outlined("0", "Ropes") + outlined("8", "deep") + outlined("9", "text"), "# Ropes\n###### deep\ntext"},
		{"text in the style of a heading", `<w:p><w:pPr><w:pStyle w:val="H"/><w:outlineLvl w:val="9"/></w:pPr><w:r><w:t>text</w:t></w:r></w:p>`, "text"},
		{"an empty heading", styled("H", "") + paragraph("text"), "text"},
		{"a heading of two lines", `<w:p><w:pPr><w:pStyle w:val="H"/></w:pPr><w:r><w:t>one</w:t><w:br/><w:t>two</w:t></w:r></w:p>`, "## one two"},
		{"a heading in a cell", "<w:tbl>" + row(cell(styled("H", "a")), cell(paragraph("b"))) + "</w:tbl>", "| a | b |\n| --- | --- |"},
		{"a link", link(`r:id="l"`, "the page"), "See [the page](https://example.org/a)."},
		{"a link that shows its address", link(`r:id="l"`, "example.org/a"), "See example.org/a."},
		{"a link within the document", link(`w:anchor="there"`, "there"), "See there."},
		{"a link to a file", link(`r:id="f"`, "a file"), "See a file."},
		{"a link without text", link(`r:id="l"`, ""), "See ."},
		{"a field that is a link", field(` HYPERLINK "https://example.org/b (1)" \o "tip"`), "[here](<https://example.org/b (1)>)"},
		{"a field that is a link in the document", field(` HYPERLINK \l "there"`), "here"},
		{"another field", field(" REF there "), "here"},
		{"a picture", drawing(`<wp:docPr id="1" name="Picture 1" descr="A cod  on ice."/>`), "![A cod on ice.]()"},
		{"a picture of old", `<w:p><w:r><w:pict><v:shape alt="A cod."/></w:pict></w:r></w:p>`, "![A cod.]()"},
		{"a chart", paragraph("before") + drawing(`<c:chart r:id="c"/>`) + paragraph("after"),
			"before\n\nChart: Catch\n\n| | Cod |\n| --- | --- |\n| May | 3 |\n| June | 4.5 |\n\nafter"},
		{"a chart that is not there", drawing(`<c:chart r:id="x"/>`) + paragraph("after"), "after"},
		{"a diagram", drawing(`<dgm:relIds r:dm="d"/>`), "- Plan\n- Do"},
		{"HTML", `<w:altChunk r:id="h"/>` + paragraph("after"), "Hello & welcome\nto it\nafter"},
		{"a document in the document", `<w:altChunk r:id="w"/>`, "inner"},
		{"text", `<w:altChunk r:id="t"/>`, "plain"},
		{"a comment at its place", `<w:p><w:r><w:t>word</w:t></w:r><w:r><w:commentReference w:id="7"/></w:r><w:r><w:t> on</w:t></w:r></w:p>`, "word [Comment (Ann): why] on"},
		{"a page break", `<w:p><w:r><w:t>one</w:t><w:br w:type="page"/><w:t>two</w:t></w:r></w:p>`, "one\n\n---\n\ntwo"},
		{"a paragraph that begins a page", paragraph("one") + `<w:p><w:pPr><w:pageBreakBefore/></w:pPr><w:r><w:t>two</w:t></w:r></w:p>`, "one\n\n---\n\ntwo"},
		{"merged cells", "<w:tbl>" + row(merged(`<w:gridSpan w:val="2"/>`, "wide"), merged("", "c")) +
			row(merged(`<w:vMerge w:val="restart"/>`, "tall"), merged("", "b"), merged("", "c")) +
			row(merged(`<w:vMerge/>`, ""), merged("", "e"), merged("", "f")) + "</w:tbl>",
			"| wide | wide | c |\n| --- | --- | --- |\n| tall | b | c |\n| tall | e | f |"},
	} {
		t.Run(c.name, func(t *testing.T) {
			comments := `<w:comments ` + wordNS + `><w:comment w:id="7" w:author="Ann">` + paragraph("why") + `</w:comment></w:comments>`
			got, err := textOf(t, pack(t, "word/document.xml", body(c.markup), "word/_rels/document.xml.rels", rels, "word/styles.xml", sheet,
				"word/chart.xml", chart, "word/data.xml", diagram, "word/comments.xml", comments,
				"word/in.html", "<html><head><title>no</title></head><body><p>Hello &amp; <b>welcome</b></p><p>to it", "word/in.txt", "plain\n",
				"word/in.docx", string(pack(t, "word/document.xml", body(paragraph("inner"))))))
			if want := c.want + "\n"; err != nil || got.Partial ||
				got.Text != want && got.Text != want+"\nComment (Ann): why\n" {
				t.Errorf("got %+v, %v, want %q", got, err, want)
			}
		})
	}
}

// TestLinksOfSideParts has links, and a chart, of parts that have relationships of
// their own.
func TestLinksOfSideParts(t *testing.T) {
	rels := func(id, target string) string {
		return relsHead + `<Relationship Id="` + id + `" Type="` + officeNS + `hyperlink" Target="` + target + `" TargetMode="External"/>` +
			`<Relationship Id="c" Type="` + officeNS + `chart" Target="chart.xml"/></Relationships>`
	}
	link := func(text string) string {
		return `<w:p><w:hyperlink r:id="l"><w:r><w:t>` + text + `</w:t></w:r></w:hyperlink></w:p>`
	}
	got, err := textOf(t, pack(t,
		"word/document.xml", body(link("body")+`<w:p><w:r><w:footnoteReference w:id="2"/></w:r></w:p><w:sectPr><w:headerReference r:id="h"/></w:sectPr>`),
		"word/_rels/document.xml.rels", relsHead+`<Relationship Id="l" Type="`+officeNS+`hyperlink" Target="https://example.org/body" TargetMode="External"/>`+
			strings.TrimPrefix(relationships("h", "header", "header1.xml", "n", "footnotes", "footnotes.xml"), relsHead),
		"word/header1.xml", `<w:hdr `+wordNS+`>`+link("header")+`<w:p><w:r><w:drawing><c:chart r:id="c"/></w:drawing></w:r></w:p></w:hdr>`,
		"word/_rels/header1.xml.rels", rels("l", "https://example.org/header"),
		"word/footnotes.xml", `<w:footnotes `+wordNS+`><w:footnote w:id="2">`+link("note")+`</w:footnote></w:footnotes>`,
		"word/_rels/footnotes.xml.rels", rels("l", "https://example.org/note"),
		"word/chart.xml", `<c:chartSpace xmlns:c="c" xmlns:a="a"><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Catch</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea/></c:chart></c:chartSpace>`))
	want := "[body](https://example.org/body)\n[^1]\n\n[^1]: [note](https://example.org/note)\n\n[header](https://example.org/header)\n\nChart: Catch\n"
	if err != nil || got.Text != want {
		t.Errorf("got %q, %v, want %q", got.Text, err, want)
	}
}

// TestChunkOfRichText takes in a part that is RTF, whole and cut short.
func TestChunkOfRichText(t *testing.T) {
	for _, c := range []struct {
		part    string
		partial bool
	}{{`{\rtf1\ansi Hello\par}`, false}, {`{\rtf1\ansi Hello`, true}} {
		got, err := textOf(t, pack(t, "word/document.xml", body(paragraph("before")+`<w:altChunk r:id="r"/>`+paragraph("after")),
			"word/_rels/document.xml.rels", relationships("r", "aFChunk", "in.rtf"), "word/in.rtf", c.part))
		if err != nil || got.Partial != c.partial || got.Text != "before\nHello\nafter\n" {
			t.Errorf("%s: got %+v, %v", c.part, got, err)
		}
	}
}
