package pdf

import "testing"

// wordsOf extracts the text of a sample, which has to be readable.
func wordsOf(t *testing.T, s sample) string {
	t.Helper()
	got, err := textOf(t, s.bytes())
	if err != nil {
		t.Fatal(err)
	}
	return got.Text
}

func TestContentOperators(t *testing.T) {
	tests := []struct{ name, content, want string }{
		{"one word in pieces", "BT /F 12 Tf 50 700 Td [(Wo)10(rd)] TJ ET", "Word\n\f"},
		{"gap is a space", "BT /F 12 Tf 50 700 Td [(two)-250(words)] TJ ET", "two words\n\f"},
		{"wide gap is a tab", "BT /F 12 Tf 50 700 Td [(a)-4000(b)] TJ ET", "a\tb\n\f"},
		{"lines", "BT /F 12 Tf 14 TL 50 700 Td (one) Tj T* (two) Tj (three) ' ET", "one\ntwo\nthree\n\f"},
		{"word and character spacing", "BT /F 12 Tf 50 700 Td 0 0 (a b) \" ET", "a b\n\f"},
		{"paragraph", "BT /F 12 Tf 50 700 Td (one) Tj 0 -40 Td (two) Tj ET", "one\n\ntwo\n\f"},
		{"hyphen at the end of a line", "BT /F 12 Tf 14 TL 50 700 Td (hyphen-) Tj T* (ated) Tj ET", "hyphenated\n\f"},
		{"hyphen before a capital", "BT /F 12 Tf 14 TL 50 700 Td (anti-) Tj T* (Paris) Tj ET", "anti-\nParis\n\f"},
		{"hyphen before the next page", "BT /F 12 Tf 50 700 Td (hyphen-) Tj ET", "hyphen-\n\f"},
		{"character spacing for a space", "BT /F 12 Tf 50 700 Td 3 Tc (Ag) Tj 0 Tc 17.7 0 Td (o) Tj ET", "A go\n\f"},
		{"tracking", "BT /F 12 Tf 50 700 Td 3 Tc (HEADING) Tj ET", "HEADING\n\f"},
		{"superscript", "BT /F 12 Tf 50 700 Td (x) Tj 4 Ts /F 8 Tf (2) Tj ET", "x2\n\f"},
		{"footnote", "BT /F 7 Tf 50 704 Td (1) Tj /F 10 Tf 4 -4 Td (Note) Tj ET", "1 Note\n\f"},
		{"drawn twice", "BT /F 12 Tf 50 700 Td (bold) Tj ET BT /F 12 Tf 50.3 700 Td (bold) Tj ET", "bold\n\f"},
		{"off the page", "BT /F 12 Tf 50 700 Td (on) Tj 0 900 Td (off) Tj ET", "on\n\f"},
		{"accent over its letter", "BT /F 12 Tf 50 700 Td (caf) Tj [(\\302)333(e)] TJ ET", "café\n\f"},
		{"inline image", "BI /W 1 ID \x00(no)Tj EI BT /F 12 Tf 50 700 Td (yes) Tj ET", "yes\n\f"},
		{"unknown font", "BT /Nope 12 Tf 50 700 Td (text) Tj ET", "text\n\f"},
		{"array left open", "BT /F 12 Tf 50 700 Td [(text) TJ ET", "text\n\f"},
		{"replacement text", "BT /F 12 Tf 50 700 Td /Span<</ActualText(whole)>>BDC (abc) Tj EMC ( end) Tj ET", "whole end\n\f"},
		{"replacement in UTF-16", "BT /F 12 Tf 50 700 Td /Span<</ActualText<FEFF03A9>>>BDC (x) Tj EMC ET", "Ω\n\f"},
		{"turned page", "BT /F 12 Tf 0 1 -1 0 300 100 Tm [(up)-300(wards)] TJ ET", "up wards\n\f"},
		{"saved state", "q BT /F 12 Tf 50 700 Td (a) Tj ET Q Q BT /F 12 Tf 58 700 Td (b) Tj ET", "ab\n\f"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := wordsOf(t, sample{content: test.content}); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestForms(t *testing.T) {
	show := "BT /F 12 Tf 10 10 Td (in the form) Tj ET"
	form := "/Type/XObject/Subtype/Form/BBox[0 0 200 50]/Matrix[1 0 0 1 50 600]"
	tests := []struct {
		name string
		in   sample
		want string
	}{
		{"form XObject", sample{content: "/X Do", extra: []string{stringStream(form, show)}}, "in the form\n\f"},
		{"filters and abbreviations", sample{content: "/X Do", extra: []string{stringStream(form+"/Filter[/AHx/Fl]", hexOf(deflate(show)))}}, "in the form\n\f"},
		{"image", sample{content: "/X Do", extra: []string{stringStream("/Subtype/Image", show)}}, ""},
		{"field with appearance", sample{page: "/Annots[5 0 R]", extra: []string{
			"<</Subtype/Widget/Rect[50 600 250 650]/AP<</N 6 0 R>>>>", stringStream("/BBox[0 0 200 50]", show)}}, "in the form\n\f"},
		{"scrolled field", sample{page: "/Annots[5 0 R]", extra: []string{
			"<</Subtype/Widget/Rect[50 600 250 650]/AP<</N 6 0 R>>>>",
			stringStream("/BBox[0 0 200 50]", show+" BT /F 12 Tf 10 -300 Td (unseen) Tj ET")}}, "in the form\n\f"},
		{"field without appearance", sample{page: "/Annots[5 0 R]", extra: []string{
			"<</Subtype/Widget/Parent 6 0 R>>", "<</FT/Tx/V(typed\\rtwice)>>"}}, "typed\ntwice\n\f"},
		{"check box state", sample{page: "/Annots[5 0 R]", extra: []string{
			"<</Subtype/Widget/Rect[50 600 250 650]/AS/On/AP<</N<</On 6 0 R/Off 7 0 R>>>>>>",
			stringStream("/BBox[0 0 200 50]", show), stringStream("/BBox[0 0 9 9]", "BT /F 12 Tf (no) Tj ET")}}, "in the form\n\f"},
		{"free text", sample{page: "/Annots[5 0 R]", extra: []string{"<</Subtype/FreeText/Contents(a note)>>"}}, "a note\n\f"},
		{"hidden note", sample{page: "/Annots[5 0 R]", extra: []string{"<</Subtype/FreeText/F 2/Contents(a note)>>"}}, ""},
		{"link", sample{page: "/Annots[5 0 R]", extra: []string{"<</Subtype/Link/Contents(a note)>>"}}, ""},
		{"hidden layer", sample{content: "/OC/P BDC BT /F 12 Tf 50 700 Td (unseen) Tj ET EMC BT /F 12 Tf 50 600 Td (seen) Tj ET",
			catalog: "/OCProperties<</OCGs[6 0 R]/D<</OFF[6 0 R]>>>>",
			extra:   []string{"null", "<</Type/OCG/Name(layer)>>"}}, "seen\n\f"},
		{"layer off by default", sample{content: "/OC/P BDC BT /F 12 Tf 50 700 Td (unseen) Tj ET EMC BT /F 12 Tf 50 600 Td (seen) Tj ET",
			catalog: "/OCProperties<</OCGs[6 0 R]/D<</BaseState/OFF>>>>",
			extra:   []string{"null", "<</Type/OCG/Name(layer)>>"}}, "seen\n\f"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := wordsOf(t, test.in); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func hexOf(s string) string {
	const digits = "0123456789abcdef"
	out := ""
	for i := range len(s) {
		out += string(digits[s[i]>>4]) + string(digits[s[i]&15])
	}
	return out + ">"
}

func TestFonts(t *testing.T) {
	toUnicode := stringStream("", "1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfchar <61> <00660066> endbfchar 1 beginbfrange <62> <64> <0041> endbfrange")
	cid := func(encoding, ordering string) string {
		return "<</Type/Font/Subtype/Type0/Encoding/" + encoding + "/DescendantFonts[<</Subtype/CIDFontType0/CIDSystemInfo<</Registry(Adobe)/Ordering(" + ordering + ")>>>>]>>"
	}
	tests := []struct {
		name, font, shown, want string
		extra                   []string
	}{
		{"standard encoding", "<</Subtype/Type1/BaseFont/X>>", "('\\256)", "’fi", nil},
		{"WinAnsi", "<</Subtype/TrueType/BaseFont/X/Encoding/WinAnsiEncoding>>", "(\\344\\200)", "ä€", nil},
		{"MacRoman", "<</Subtype/Type1/BaseFont/X/Encoding/MacRomanEncoding>>", "(\\212)", "ä", nil},
		{"Symbol", "<</Subtype/Type1/BaseFont/Symbol>>", "(abG)", "αβΓ", nil},
		{"Differences", "<</Subtype/Type1/BaseFont/X/Encoding<</Differences[65/eacute/uni0416/f_f_i 70/a.sc/c71]>>>>", "(ABCFG)", "éЖffiaG", nil},
		{"names that are the codes", "<</Subtype/Type3/FontMatrix[.001 0 0 .001 0 0]/Encoding<</Differences[65/a65/a66 192/a192]>>>>", "(AB\\300)", "ABÀ", nil},
		{"names that are hexadecimal codes", "<</Subtype/Type3/FontMatrix[.001 0 0 .001 0 0]/Encoding<</Differences[65/C41/C42 111/C6F]>>>>", "(ABo)", "ABo", nil},
		{"names of other codes", "<</Subtype/Type3/FontMatrix[.001 0 0 .001 0 0]/Encoding<</Differences[1/C72/C105]>>>>", "(\\001\\002)", "Hi", nil},
		{"names of other hexadecimal codes", "<</Subtype/Type3/FontMatrix[.001 0 0 .001 0 0]/Encoding<</Differences[1/C48/C6f]>>>>", "(\\001\\002)", "Ho", nil},
		{"line ends in strings", "<</Subtype/Type1/BaseFont/Helvetica>>", "(a\\nb)", "a b", nil},
		{"CIDs that are Unicode", "<</Subtype/Type0/Encoding/Identity-H/ToUnicode 5 0 R/DescendantFonts[<</Subtype/CIDFontType2/CIDSystemInfo<</Ordering(Identity)>>>>]>>", "<00540068>", "Th",
			[]string{stringStream("", "begincmap endcmap")}},
		{"Latin of Chinese CIDs", cid("Identity-H", "GB1"), "<00220023>", "AB", nil},
		{"Latin of Taiwan's CIDs", cid("Identity-H", "CNS1"), "<00220023>", "AB", nil},
		{"notdef at space", "<</Subtype/Type1/BaseFont/X/Encoding<</Differences[32/.notdef]>>>>", "(a b)", "a b", nil},
		{"ToUnicode", "<</Subtype/Type1/BaseFont/X/ToUnicode 5 0 R>>", "(abcd)", "ffABC", []string{toUnicode}},
		{"Identity ToUnicode", "<</Subtype/Type0/Encoding/Identity-H/ToUnicode/Identity-H/DescendantFonts[<<>>]>>", "<00410416>", "AЖ", nil},
		{"Japanese CIDs", cid("Identity-H", "Japan1"), "<034B04650021>", "あ亜@", nil},
		{"Shift-JIS", cid("90ms-RKSJ-H", "Japan1"), "<93fa967b41>", "日本A", nil},
		{"JIS rows", cid("H", "Japan1"), "<467c4b5c>", "日本", nil},
		{"GBK", cid("GBK-EUC-H", "GB1"), "<d6d0cec4>", "中文", nil},
		{"Big5", cid("ETen-B5-H", "CNS1"), "<a4a4a4e5>", "中文", nil},
		{"Korean", cid("KSCms-UHC-H", "Korea1"), "<c7d1b1db>", "한글", nil},
		{"UCS-2", cid("UniGB-UCS2-H", "GB1"), "<4e2d6587>", "中文", nil},
		{"UTF-16 pair", cid("UniJIS-UTF16-H", "Japan1"), "<d83dde00>", "😀", nil},
		{"Windows font not embedded", "<</Subtype/Type0/Encoding/Identity-H/DescendantFonts[<</Subtype/CIDFontType2/BaseFont/ArialMT>>]>>", "<00240045>", "Ab", nil},
		{"embedded CMap", "<</Subtype/Type0/Encoding 5 0 R/DescendantFonts[<</CIDSystemInfo<</Ordering(Korea1)>>>>]>>", "<2122>", "AB",
			[]string{stringStream("", "1 begincodespacerange <00> <ff> endcodespacerange 1 begincidrange <21> <7e> 34 endcidrange")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := sample{font: test.font, content: "BT /F 12 Tf 50 700 Td " + test.shown + " Tj ET", extra: test.extra}
			if got := wordsOf(t, s); got != test.want+"\n\f" {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestPresentationForms draws Arabic in the shapes of its letters, as most
// producers do: in visual order, and in the order of reading from right to left.
func TestPresentationForms(t *testing.T) {
	const to = "1 begincodespacerange <00> <ff> endcodespacerange 5 beginbfchar <61> <FEFB> <62> <FEB3> <63> <FEFC> <64> <FEE1> <65> <0020> endbfchar"
	for _, c := range []struct{ name, content, want string }{
		// سلام لا, drawn from left to right
		{"visual order", "BT /F 12 Tf 50 700 Td (aedcb) Tj ET", "سلام لا"},
		// the same, each glyph left of the one before
		{"from right to left", "BT /F 12 Tf 1 0 0 1 80 700 Tm (b) Tj 1 0 0 1 74 700 Tm (c) Tj 1 0 0 1 68 700 Tm (d) Tj ET", "سلام"},
	} {
		s := sample{content: c.content, font: "<</Subtype/Type1/BaseFont/X/ToUnicode 5 0 R>>", extra: []string{stringStream("", to)}}
		if got := wordsOf(t, s); got != c.want+"\n\f" {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
