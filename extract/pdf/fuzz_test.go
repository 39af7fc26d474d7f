package pdf

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzExtract looks for panics, which Extract turns into extract.ErrDamaged, for hangs
// and for text that is not UTF-8.
func FuzzExtract(f *testing.F) {
	files, err := filepath.Glob("testdata/*.pdf")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 20_000 { // larger ones are slow to change
			f.Add(data)
		}
	}
	for name, data := range hostileFiles() {
		if !strings.Contains(name, "flate") && len(data) < 20_000 {
			f.Add(data)
		}
	}
	limits := Limits{Stream: 1 << 20, Total: 4 << 20, Operators: 20_000, Forms: 100}
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		res, err := Extract(ctx, bytes.NewReader(data), int64(len(data)), limits)
		if errors.Is(err, context.DeadlineExceeded) || err != nil && strings.Contains(err.Error(), "runtime error") {
			t.Fatal(err)
		}
		if !utf8.ValidString(res.Text) {
			t.Errorf("not UTF-8: %q", res.Text)
		}
	})
}

// FuzzContent interprets content streams and CMaps, which files keep compressed
// where FuzzExtract cannot change them.
func FuzzContent(f *testing.F) {
	f.Add("BT /F 12 Tf 50 700 Td [(Wo)10(rd)] TJ ET", "1 beginbfchar <41> <0042> endbfchar")
	f.Add("/X Do /OC/P BDC BI /W 1 ID x EI EMC", "1 begincodespacerange <00> <ffff> endcodespacerange 1 begincidrange <20> <ff> 1 endcidrange")
	f.Add("q 1 0 0 1 5 5 cm BT /F 1 Tf 3 Tc 4 Tw 50 Tz 14 TL 2 Ts (a) ' 1 2 (b) \" T* ET Q", "/Identity-H usecmap")
	f.Fuzz(func(t *testing.T, content, cmap string) {
		data := sample{
			content: content,
			font:    "<</Subtype/Type0/Encoding 5 0 R/ToUnicode 5 0 R/DescendantFonts[<</CIDSystemInfo<</Ordering(Japan1)>>>>]>>",
			extra:   []string{flateStream("", cmap), "<</Type/OCG>>"},
		}.bytes()
		res, err := Extract(t.Context(), bytes.NewReader(data), int64(len(data)), Limits{Total: 32 << 20, Operators: 1_000_000})
		if err != nil && strings.Contains(err.Error(), "runtime error") {
			t.Fatal(err)
		}
		if !utf8.ValidString(res.Text) {
			t.Errorf("not UTF-8: %q", res.Text)
		}
	})
}

// FuzzPage lays out a page with rules and annotations: what is found as tables, put
// into lines and linked.
func FuzzPage(f *testing.F) {
	f.Add(ruled([]float64{50, 150, 250}, []float64{720, 700, 680})+rows(706, 20, []float64{55, 155}, []string{"a", "b"}, []string{"c", "d"}),
		"<</Subtype/Widget/FT/Tx/V(x)/Rect[155 702 200 716]>><</Subtype/Link/Rect[50 700 90 712]/A<</URI(https://a.b/c)>>>>")
	f.Add(rows(700, 14, []float64{50, 200, 300}, []string{"a", "b", "c"}, []string{"d", "e", "f"}, []string{"g", "h", "i"}),
		"<</Subtype/Highlight/Contents(c)/T(Ann)/Rect[50 695 88 710]/QuadPoints[71 710 88 710 71 697 88 697]>><</Subtype/Widget/FT/Btn/AS/On/Rect[40 700 49 709]>>")
	f.Add(at(50, 700, 10, "a list"), "<</Subtype/Widget/FT/Ch/V[(b)]/Opt[(a)[(b)(c)]]/Rect[50 600 99 690]>><</Subtype/FreeText/Contents(a\\rb)/Rect[0 0 9 9]>><</Subtype/Stamp/AP<</N 5 0 R>>/Rect[9 9 20 20]>>")
	f.Fuzz(func(t *testing.T, content, annots string) {
		data := sample{content: content, page: "/Annots[" + annots + "]", extra: []string{stringStream("/Subtype/Form/BBox[0 0 9 9]", at(1, 1, 5, "x"))}}.bytes()
		res, err := Extract(t.Context(), bytes.NewReader(data), int64(len(data)), Limits{Total: 32 << 20, Operators: 1_000_000})
		if err != nil && strings.Contains(err.Error(), "runtime error") {
			t.Fatal(err)
		}
		if !utf8.ValidString(res.Text) {
			t.Errorf("not UTF-8: %q", res.Text)
		}
	})
}

// FuzzFontProgram reads font programs of every kind.
func FuzzFontProgram(f *testing.F) {
	for file, key := range map[string]string{"groff.pdf": "FontFile3", "weasyprint.pdf": "FontFile2", "pdftex.pdf": "FontFile"} {
		for _, program := range programs(f, file, key) {
			f.Add(program)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		parseCFF(data).builtinEncoding()
		parseCFF(data).glyphTexts()
		parseSFNT(data).builtinEncoding()
		type1Encoding(data)
	})
}

// FuzzFilters decodes with every filter and predictor.
func FuzzFilters(f *testing.F) {
	f.Add([]byte(deflate("hello")), uint8(12), uint8(3))
	f.Add([]byte("\x80\x0b\x60\x50\x22\x0c\x0c\x85\x01"), uint8(2), uint8(1))
	f.Add([]byte("<~87cURD]i~>"), uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, predictor, columns uint8) {
		const limit = 1 << 20
		parms := dictOf(nameOf("Predictor"), numberOf(int(predictor)), nameOf("Columns"), numberOf(int(columns)))
		for _, name := range []string{"FlateDecode", "LZWDecode", "ASCIIHexDecode", "ASCII85Decode", "RunLengthDecode"} {
			if out, _, _ := (filter{name, parms}).apply(bytes.Clone(data), limit); len(out) > max(limit, len(data)) {
				t.Errorf("%s: %d bytes", name, len(out))
			}
		}
	})
}
