package docx_test

import "testing"

// TestTextHiddenByAStyle has the text "gone" in a paragraph and a run with
// properties.
func TestTextHiddenByAStyle(t *testing.T) {
	const sheet = `<w:styles ` + wordNS + `>` +
		`<w:style w:type="paragraph" w:default="1" w:styleId="Normal"/>` +
		`<w:style w:type="paragraph" w:styleId="Secret"><w:basedOn w:val="Normal"/><w:rPr><w:vanish/></w:rPr></w:style>` +
		`<w:style w:type="paragraph" w:styleId="Child"><w:basedOn w:val="Secret"/></w:style>` +
		`<w:style w:type="paragraph" w:styleId="Open"><w:basedOn w:val="Secret"/><w:rPr><w:vanish w:val="false"/></w:rPr></w:style>` +
		`<w:style w:type="character" w:styleId="Hush"><w:rPr><w:vanish/></w:rPr></w:style>` +
		`<w:style w:type="paragraph" w:styleId="Loop"><w:basedOn w:val="Loop"/></w:style></w:styles>`
	hiding := func(in, by string) string { return in[:len(in)-len("</w:styles>")] + by + "</w:styles>" }
	for _, c := range []struct{ name, sheet, paragraph, run, want string }{
		{"no styles", sheet, ``, ``, "gone"},
		{"paragraph style", sheet, `<w:pStyle w:val="Secret"/>`, ``, ""},
		{"of its parent", sheet, `<w:pStyle w:val="Child"/>`, ``, ""},
		{"against its parent", sheet, `<w:pStyle w:val="Open"/>`, ``, "gone"},
		{"a run that shows", sheet, `<w:pStyle w:val="Secret"/>`, `<w:vanish w:val="0"/>`, "gone"},
		{"character style", sheet, ``, `<w:rStyle w:val="Hush"/>`, ""},
		{"a run that shows in spite of it", sheet, ``, `<w:rStyle w:val="Hush"/><w:vanish w:val="0"/>`, "gone"},
		{"both styles", sheet, `<w:pStyle w:val="Secret"/>`, `<w:rStyle w:val="Hush"/>`, "gone"},
		{"styles in a circle", sheet, `<w:pStyle w:val="Loop"/>`, ``, "gone"},
		{"a style that is not there", sheet, `<w:pStyle w:val="X"/>`, `<w:rStyle w:val="X"/>`, "gone"},
		{"the defaults", hiding(sheet, `<w:docDefaults><w:rPrDefault><w:rPr><w:vanish/></w:rPr></w:rPrDefault></w:docDefaults>`), ``, ``, ""},
		{"the usual style", hiding(sheet, `<w:style w:type="paragraph" w:default="1" w:styleId="Dark"><w:rPr><w:vanish/></w:rPr></w:style>`), ``, ``, ""},
	} {
		markup := `<w:p><w:pPr>` + c.paragraph + `</w:pPr><w:r><w:rPr>` + c.run + `</w:rPr><w:t>gone</w:t></w:r>` +
			`<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>.</w:t></w:r></w:p>`
		got, err := textOf(t, pack(t, "word/document.xml", body(markup), "word/styles.xml", c.sheet,
			"word/_rels/document.xml.rels", relationships("r1", "styles", "styles.xml")))
		if err != nil || got.Text != c.want+".\n" {
			t.Errorf("%s: got %q, %v, want %q", c.name, got.Text, err, c.want+".\n")
		}
	}
}
