package docx_test

import (
	"strings"
	"testing"
	"unicode/utf16"
)

const textBox = `<w:txbxContent><w:p><w:r><w:t>in the box</w:t></w:r></w:p></w:txbxContent>`

// Each case is the markup of a body and its text.
func TestExtractMarkup(t *testing.T) {
	for _, c := range []struct{ name, markup, want string }{
		{"paragraphs", paragraph("one") + paragraph("two"), "one\ntwo"},
		{"blank lines", paragraph("one") + "<w:p/><w:p/><w:p/>" + paragraph("two"), "one\n\ntwo"},
		{"runs", `<w:p><w:r><w:t>one </w:t></w:r><w:r><w:t>two</w:t></w:r></w:p>`, "one two"},
		{"breaks", `<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:cr/><w:t>d</w:t></w:r></w:p>`, "a\tb\nc\nd"},
		{"hyphens", `<w:p><w:r><w:t>a</w:t><w:noBreakHyphen/><w:t>b</w:t><w:softHyphen/><w:t>c&#xAD;d</w:t></w:r></w:p>`, "a-bcd"},
		{"Arabic forms", paragraph("\uFEB3\uFEFC\uFEE1 \uFDF2"), "سلام الله"},
		{"line ends in text", "<w:p><w:r><w:t>a\r\nb</w:t></w:r></w:p>", "a b"},
		{"tab stops", `<w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t>a</w:t></w:r></w:p>`, "a"},
		{"white space between elements", "<w:p>\n <w:r>\n  <w:t>a</w:t>\n </w:r>\n</w:p>", "a"},
		{"insertion", `<w:p><w:ins><w:r><w:t>in</w:t></w:r></w:ins></w:p>`, "in"},
		{"deletion", `<w:p><w:del><w:r><w:delText>out</w:delText><w:t>out</w:t></w:r></w:del><w:r><w:t>kept</w:t></w:r></w:p>`, "kept"},
		{"move", `<w:p><w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom></w:p><w:p><w:moveTo><w:r><w:t>moved</w:t></w:r></w:moveTo></w:p>`, "moved"},
		{"deleted paragraph mark", `<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>one </w:t></w:r></w:p>` + paragraph("line"), "one line"},
		{"deleted row", `<w:tbl><w:tr><w:trPr><w:del/></w:trPr><w:tc>` + paragraph("gone") + `</w:tc></w:tr><w:tr><w:tc>` + paragraph("kept") + `</w:tc></w:tr></w:tbl>`, "kept"},
		{"hidden", `<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:t>shown</w:t></w:r></w:p>`, "shown"},
		{"hidden is off", `<w:p><w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>shown</w:t></w:r></w:p>`, "shown"},
		{"hidden before a change", `<w:p><w:r><w:rPr><w:rPrChange><w:rPr><w:vanish/></w:rPr></w:rPrChange></w:rPr><w:t>shown</w:t></w:r></w:p>`, "shown"},
		{"hidden paragraph mark", `<w:p><w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr><w:r><w:t>shown</w:t></w:r></w:p>`, "shown"},
		{"hyperlink", `<w:p><w:hyperlink><w:r><w:t>link</w:t></w:r></w:hyperlink></w:p>`, "link"},
		{"smart tag", `<w:p><w:smartTag><w:r><w:t>tag</w:t></w:r></w:smartTag></w:p>`, "tag"},
		{"content control", `<w:sdt><w:sdtPr><w:text/><w:t>no</w:t></w:sdtPr><w:sdtContent>` + paragraph("yes") + `</w:sdtContent></w:sdt>`, "yes"},
		{"ruby", `<w:p><w:r><w:ruby><w:rt><w:r><w:t>kan</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢</w:t></w:r></w:rubyBase></w:ruby></w:r></w:p>`, "漢"},
		{"simple field", `<w:p><w:fldSimple w:instr="PAGE"><w:r><w:t>7</w:t></w:r></w:fldSimple></w:p>`, "7"},
		{"form fields", `<w:p><w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox></w:ffData></w:fldChar></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r><w:r><w:t> </w:t></w:r>` +
			`<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox/></w:ffData></w:fldChar></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r><w:r><w:t> </w:t></w:r>` +
			`<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="red"/><w:listEntry w:val="blue"/></w:ddList></w:ffData></w:fldChar></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`, "☒ ☐ blue"},
		{"symbols", `<w:p><w:r><w:sym w:font="Symbol" w:char="F061"/><w:sym w:font="Wingdings" w:char="F0FC"/><w:sym w:font="Webdings" w:char="F0FC"/><w:sym w:font="Arial" w:char="00E9"/><w:sym w:char="zz"/></w:r></w:p>`, "α✓•é"},
		{"text in a symbol font", "<w:p><w:r><w:rPr><w:rFonts w:ascii=\"Symbol\"/></w:rPr><w:t>\uF061</w:t></w:r><w:r><w:t>\uF061</w:t></w:r></w:p>", "α•"},
		{"text box", `<w:p><w:r><w:t>be</w:t></w:r><w:r><w:pict>` + textBox + `</w:pict></w:r><w:r><w:t>fore</w:t></w:r></w:p>` + paragraph("after"), "before\nin the box\nafter"},
		{"text box twice", `<w:p><w:r><mc:AlternateContent><mc:Choice Requires="wps">` + textBox + `</mc:Choice><mc:Fallback>` + textBox + `</mc:Fallback></mc:AlternateContent></w:r></w:p>`, "in the box"},
		{"text for older readers", `<w:p><w:r><mc:AlternateContent><mc:Choice Requires="x"/><mc:Fallback>` + textBox + `</mc:Fallback></mc:AlternateContent></w:r></w:p>`, "in the box"},
		{"text in a shape", `<w:p><w:r><w:drawing><a:p><a:r><a:t>one</a:t></a:r></a:p><a:p><a:r><a:t>two</a:t></a:r></a:p></w:drawing></w:r></w:p>`, "one\ntwo"},
		{"formula", `<w:p><m:oMath><m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub><m:r><m:t>1</m:t></m:r></m:sub><m:sup><m:r><m:t>n</m:t></m:r></m:sup><m:e><m:d><m:dPr/><m:e><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f></m:e></m:d></m:e></m:nary></m:oMath></w:p>`, "∑_1^n(a/b)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := textOf(t, pack(t, "word/document.xml", body(c.markup)))
			if err != nil || got.Text != c.want+"\n" || got.Partial {
				t.Errorf("got %+v and %v, want %q", got, err, c.want+"\n")
			}
		})
	}
}

func run(markup string) string     { return "<w:r>" + markup + "</w:r>" }
func fieldChar(kind string) string { return run(`<w:fldChar w:fldCharType="` + kind + `"/>`) }
func instr(code string) string     { return run(`<w:instrText>` + code + `</w:instrText>`) }

func TestExtractFields(t *testing.T) {
	inner := fieldChar("begin") + instr("DATE") + fieldChar("separate") + run("<w:t>1 May</w:t>") + fieldChar("end")
	for _, c := range []struct{ name, markup, want string }{
		{"result", fieldChar("begin") + instr("PAGE") + fieldChar("separate") + run("<w:t>7</w:t>") + fieldChar("end"), "7"},
		{"no result", run("<w:t>a</w:t>") + fieldChar("begin") + instr("XE") + fieldChar("end") + run("<w:t>b</w:t>"), "ab"},
		{"field in the code", fieldChar("begin") + instr("IF ") + inner + fieldChar("separate") + run("<w:t>yes</w:t>") + fieldChar("end"), "yes"},
		{"field in the result", fieldChar("begin") + instr("REF") + fieldChar("separate") + run("<w:t>on </w:t>") + inner + fieldChar("end"), "on 1 May"},
		{"an equation", run("<w:t>a</w:t>") + fieldChar("begin") + instr(` eq \o\ac(○,`) + instr("印)") + fieldChar("end") + run("<w:t>b</w:t>"), "a○印b"},
		{"an equation with a result", fieldChar("begin") + instr(` EQ \f(1,2)`) + fieldChar("separate") + run("<w:t>½</w:t>") + fieldChar("end"), "½"},
		{"no end", fieldChar("begin") + instr("PAGE") + "</w:p><w:p>" + run("<w:t>more</w:t>"), "more"},
		{"no beginning", fieldChar("end") + run("<w:t>text</w:t>") + fieldChar("separate"), "text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := textOf(t, pack(t, "word/document.xml", body("<w:p>"+c.markup+"</w:p>")))
			if err != nil || got.Text != c.want+"\n" {
				t.Errorf("got %q and %v, want %q", got.Text, err, c.want+"\n")
			}
		})
	}
}

func cell(markup string) string { return "<w:tc>" + markup + "</w:tc>" }
func row(cells ...string) string {
	return "<w:tr>" + strings.Join(cells, "") + "</w:tr>"
}

func TestExtractTables(t *testing.T) {
	inner := "<w:tbl>" + row(cell(paragraph("1")), cell(paragraph("2"))) + row(cell(paragraph("3")), cell(paragraph("4"))) + "</w:tbl>"
	for _, c := range []struct{ name, markup, want string }{
		{"rows and cells", row(cell(paragraph("a")), cell(paragraph("b"))) + row(cell(paragraph("c")), cell(paragraph("d"))), "| a | b |\n| --- | --- |\n| c | d |"},
		{"empty cells", row(cell("<w:p/>"), cell(paragraph("b"))) + row(cell(paragraph("c")), cell("<w:p/>")), "| | b |\n| --- | --- |\n| c | |"},
		{"lines in a cell", row(cell(paragraph("a")+paragraph("b")), cell(paragraph("c"))), "| a<br>b | c |\n| --- | --- |"},
		{"a table in a cell", row(cell(paragraph("a")+inner+"<w:p/>"), cell(paragraph("b"))), "| a<br>1; 2<br>3; 4 | b |\n| --- | --- |"},
		{"a table in the first cell", row(cell(inner+"<w:p/>"), cell(paragraph("b"))), "| 1; 2<br>3; 4 | b |\n| --- | --- |"},
	} {
		t.Run(c.name, func(t *testing.T) {
			markup := paragraph("before") + "<w:tbl>" + c.markup + "</w:tbl>" + paragraph("after")
			got, err := textOf(t, pack(t, "word/document.xml", body(markup)))
			want := "before\n\n" + c.want + "\n\nafter\n"
			if err != nil || got.Text != want {
				t.Errorf("got %q and %v, want %q", got.Text, err, want)
			}
		})
	}
}

// Other programs write other prefixes, namespaces and encodings.
func TestExtractEncodings(t *testing.T) {
	const uri, strict = "http://schemas.openxmlformats.org/wordprocessingml/2006/main", "http://purl.oclc.org/ooxml/wordprocessingml/main"
	wide := func(order func(u uint16) [2]byte) string {
		var b strings.Builder
		for _, u := range utf16.Encode([]rune("\uFEFF" + strings.Replace(body(paragraph("ünï")), "UTF-8", "UTF-16", 1))) {
			bytes := order(u)
			b.Write(bytes[:])
		}
		return b.String()
	}
	for _, c := range []struct{ name, part string }{
		{"default namespace", `<document xmlns="` + uri + `"><body><p><r><t>ünï</t></r></p></body></document>`},
		{"inner default namespace", `<document xmlns="` + uri + `"><body><p><r><x xmlns="urn:other"><t>no</t></x><t>ünï</t></r></p></body></document>`},
		{"another prefix", `<ns0:document xmlns:ns0="` + uri + `"><ns0:body><ns0:p><ns0:r><ns0:t>ünï</ns0:t></ns0:r></ns0:p></ns0:body></ns0:document>`},
		{"strict", strings.Replace(body(paragraph("ünï")), uri, strict, 1)},
		{"no declaration", "<w:document><w:body>" + paragraph("ünï") + "</w:body></w:document>"},
		{"byte order mark", "\uFEFF" + body(paragraph("ünï"))},
		{"little-endian", wide(func(u uint16) [2]byte { return [2]byte{byte(u), byte(u >> 8)} })},
		{"big-endian", wide(func(u uint16) [2]byte { return [2]byte{byte(u >> 8), byte(u)} })},
		{"Latin-1", strings.Replace(body(paragraph("\xFCn\xEF")), "UTF-8", "iso-8859-1", 1)},
		{"wrong declaration", strings.Replace(body(paragraph("ünï")), "UTF-8", "iso-8859-1", 1)},
		{"document type", `<!DOCTYPE x [<!ENTITY e "no">]>` + strings.TrimPrefix(body(paragraph("ünï")), `<?xml version="1.0" encoding="UTF-8"?>`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := textOf(t, pack(t, "word/document.xml", c.part))
			if err != nil || got.Text != "ünï\n" || got.Partial {
				t.Errorf("got %+v and %v, want %q", got, err, "ünï\n")
			}
		})
	}
}

func TestExtractBadCharacters(t *testing.T) {
	got, err := textOf(t, pack(t, "word/document.xml", body(paragraph("a\x01b\xFFc"))))
	if err != nil || got.Text != "a b\uFFFDc\n" {
		t.Errorf("got %q and %v, want %q", got.Text, err, "a b\uFFFDc\n")
	}
}
