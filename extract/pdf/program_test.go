package pdf

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// programs returns the embedded font programs of a file of testdata that stand
// under a key of their descriptors.
func programs(t testing.TB, file, key string) (out [][]byte) {
	t.Helper()
	f, err := openFile(t.Context(), readTestdata(t, file), Limits{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range slices.Sorted(maps.Keys(f.entries)) {
		l, _ := f.load(id)
		program := l.value.get(key)
		if program.kind != ref {
			continue
		}
		stream, _ := f.load(program.int())
		data, ok := f.decode(stream)
		if !ok {
			t.Fatalf("%s: object %d cannot be decoded", file, program.int())
		}
		out = append(out, data)
	}
	return out
}

// summary joins the characters that a program gives, in order.
func summary[K comparable](texts map[K]string) string {
	return strings.Join(slices.Sorted(maps.Values(texts)), "")
}

// The fonts are subsets: each has just the characters that its document shows
// with it.
func TestFontPrograms(t *testing.T) {
	tests := []struct {
		name, file, key string
		read            func([]byte) string
		want            []string
	}{
		{"CFF", "groff.pdf", "FontFile3", func(b []byte) string { return summary(parseCFF(b).glyphTexts()) },
			[]string{" .1AIcdefgimnortu", " ATehortu", " ,.FSTabcdefghilnoprstuwy•"}},
		{"TrueType with a Unicode cmap", "weasyprint.pdf", "FontFile2", func(b []byte) string { return summary(parseSFNT(b).glyphTexts()) },
			[]string{" PSWabeinrsty", " ,.:CGLTabcdefghiklmnoprstuvwyéïóŁźάθινοπρωВадежилорстюя•ﬁﬂﬃ"}},
		{"Type 1", "pdftex.pdf", "FontFile", func(b []byte) string { return summary(type1Encoding(b)) },
			[]string{"123FLQacdegilmnorstu", "Ecem", "iπ", "+,-.012;=ACDEITabcdefghiklmnopqrstuvwxyz¨´¸ßıˇ˚–—‘’“”ﬁﬂﬃﬄ", ".024MSTaerty", "Tclmnosuw", "1", "12", ".Tabdefhlnostw", "eiprtwy"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, program := range programs(t, test.file, test.key) {
				got = append(got, test.read(program))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestCFFEncoding(t *testing.T) {
	index := func(items ...string) string {
		out, offset := string([]byte{0, byte(len(items)), 1, 1}), 1
		for _, item := range items {
			offset += len(item)
			out += string([]byte{byte(offset)})
		}
		return out + strings.Join(items, "")
	}
	head := "\x01\x00\x04\x01" + index("Test")
	// Operands of one byte are 139 more than their value.
	dict := func(charset, encoding, charStrings int) string {
		return string([]byte{byte(charset + 139), 15, byte(encoding + 139), 16, byte(charStrings + 139), 17})
	}
	body := len(head) + len(index(dict(0, 0, 0))) + len(index("eacute.alt")) + 2
	charset := "\x00\x00\x22\x01\x87" // A, and the first string of the font
	encoding := "\x00\x02\x30\x31"    // codes 48 and 49
	at := body + len(charset)
	data := head + index(dict(body, at, at+len(encoding))) + index("eacute.alt") + "\x00\x00" +
		charset + encoding + index("a", "b", "c")
	got := parseCFF([]byte(data)).builtinEncoding()
	if want := map[int]string{48: "A", 49: "é"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSymbolicTrueTypeEncoding(t *testing.T) {
	record := func(platform, encoding, offset byte) string {
		return string([]byte{0, platform, 0, encoding, 0, 0, 0, offset})
	}
	trimmed := func(first, glyph byte) string { // format 6, one character
		return string([]byte{0, 6, 0, 12, 0, 0, 0, first, 0, 1, 0, glyph})
	}
	cmapTable := "\x00\x00\x00\x02" + record(1, 0, 20) + record(3, 1, 32) + trimmed(33, 7) + trimmed(65, 7)
	font := "\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00" +
		"cmap\x00\x00\x00\x00\x00\x00\x00\x1c\x00\x00\x00" + string([]byte{byte(len(cmapTable))}) + cmapTable
	got := parseSFNT([]byte(font)).builtinEncoding()
	if want := map[int]string{33: "A"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestGlyphText(t *testing.T) {
	for glyph, want := range map[string]string{
		"A": "A", "eacute": "é", "afii10017": "А", "f_f_i": "ffi", "ffi": "ﬃ", "A.swash": "A", "uni0416": "Ж",
		"uni00410042": "AB", "u1F600": "😀", "Asmall": "a", "oneoldstyle": "1", "dotlessj": "ȷ", "noteheads.s2": " ",
		".notdef": "", "": "", "g123": "", "uniXYZW": "", "uD800": "", "dalethatafpatah": "דֲ",
	} {
		if got := glyphText(glyph); got != want {
			t.Errorf("%q: got %q, want %q", glyph, got, want)
		}
	}
}

func TestCollectionsReadTheirOwnTable(t *testing.T) {
	for ordering, want := range map[string]string{"Japan1": "亜", "GB1": "啊", "CNS1": "一", "Korea1": "가"} {
		c := collections()[ordering]
		cid := c.cidOfText(want)
		if got := c.text(cid); cid == 0 || got != want {
			t.Errorf("%s: CID %d of %s is %q", ordering, cid, want, got)
		}
	}
}
