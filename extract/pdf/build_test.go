package pdf

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
)

// sample describes a small PDF for a test; zero fields have defaults.
type sample struct {
	content string   // of the only page, or
	pages   []string // of several
	font    string   // the object behind /F
	extra   []string // objects from number 5 on; page contents follow them
	catalog string   // more entries
	page    string   // more entries of each page
	trailer string   // more entries
}

// bytes writes the catalog as object 1, the page tree as 2, the font as 3 and
// its descendant as 4.
func (d sample) bytes() []byte {
	font := d.font
	if font == "" {
		font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
	}
	pages := d.pages
	if pages == nil {
		pages = []string{d.content}
	}
	objects := append([]string{"<</Type/Catalog/Pages 2 0 R" + d.catalog + ">>", "", font, "null"}, d.extra...)
	var kids strings.Builder
	for _, content := range pages {
		n := len(objects) + 1
		fmt.Fprintf(&kids, "%d 0 R ", n)
		objects = append(objects,
			fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>/XObject<</X 5 0 R>>/Properties<</P 6 0 R>>>>/Contents %d 0 R%s>>", n+1, d.page),
			stringStream("", content))
	}
	objects[1] = fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d>>", kids.String(), len(pages))
	return writePDF(objects, d.trailer)
}

// writePDF numbers the objects from 1 on; the first is the root.
func writePDF(objects []string, trailer string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	offsets := make([]int, len(objects))
	for i, o := range objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, trailer, start)
	return b.Bytes()
}

// stringStream is a stream object with more entries in its dictionary.
func stringStream(entries, data string) string {
	return fmt.Sprintf("<</Length %d%s>>\nstream\n%s\nendstream", len(data), entries, data)
}

func deflate(s string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write([]byte(s))
	w.Close()
	return b.String()
}

func flateStream(entries, data string) string {
	return stringStream("/Filter/FlateDecode"+entries, deflate(data))
}

// hostileFiles are small relatives of what has brought readers down.
func hostileFiles() map[string][]byte {
	show := "BT /F 12 Tf 50 700 Td (hi) Tj ET"
	plain := sample{content: show}.bytes()
	kids := func(tree string) []byte { return writePDF([]string{"<</Type/Catalog/Pages 2 0 R>>", tree}, "") }
	xref := bytes.Index(plain, []byte("xref\n0"))
	form := func(content string) string {
		return flateStream("/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 5 0 R/Y 6 0 R>>>>", content)
	}
	many := strings.Repeat
	return map[string][]byte{
		"flate bomb":          sample{extra: []string{flateStream("/Type/XObject/Subtype/Form", many(" ", 40<<20))}, content: "/X Do"}.bytes(),
		"flate in flate":      sample{extra: []string{stringStream("/Filter[/FlateDecode/FlateDecode]/Subtype/Form", deflate(deflate(many(" ", 40<<20))))}, content: "/X Do"}.bytes(),
		"operators":           sample{content: many("q Q ", 400_000)}.bytes(),
		"open arrays":         sample{content: many("[", 1<<20)}.bytes(),
		"open dictionaries":   []byte("%PDF-1.7\n1 0 obj\n" + many("<</A", 1<<18)),
		"form in itself":      sample{extra: []string{form("/X Do /X Do")}, content: "/X Do"}.bytes(),
		"forms in each other": sample{extra: []string{form(many("/Y Do ", 100)), form(many("/X Do ", 100))}, content: many("/X Do /Y Do ", 100)}.bytes(),
		"kids in themselves":  kids("<</Type/Pages/Kids[2 0 R 2 0 R]/Count 2000000000>>"),
		"parent is child":     kids("<</Type/Page/Parent 2 0 R/Contents 2 0 R/Resources 2 0 R>>"),
		"many kids":           kids("<</Type/Pages/Kids[" + many("3 0 R ", 100_000) + "]>>"),
		"prev is itself":      bytes.Replace(plain, []byte("/Root"), fmt.Appendf(nil, "/Prev %d/Root", xref), 1),
		"huge size":           bytes.Replace(plain, []byte("/Size 7"), []byte("/Size 4611686018427387904"), 1),
		"huge subsection":     bytes.Replace(plain, []byte("xref\n0 7"), []byte("xref\n0 99999999999"), 1),
		"high subsection":     bytes.Replace(plain, []byte("xref\n0 7"), []byte("xref\n4294967290 7"), 1),
		"length in itself":    []byte("%PDF-1.7\n9 0 obj<</Type/ObjStm/N 1/First 5/Length 10 0 R>>stream\n10 0 20\nendstream endobj trailer<</Root 10 0 R>>"),
		"many catalogs":       []byte("%PDF-1.7\n" + many("1 0 obj<</Type/Catalog\n", 20_000)),
		"many trailers":       []byte("%PDF-1.7\n1 0 obj" + many("trailer<<\n", 50_000)),
		"streams in streams":  []byte("%PDF-1.7\n" + many("1 0 obj<</Type/Page/Contents 1 0 R>>stream\n", 20_000) + "endstream"),
		"wide ranges": sample{content: show, font: "<</Subtype/Type0/Encoding/Identity-H/DescendantFonts[<</W[" +
			many("0 65535 500 ", 20_000) + "]>>]>>"}.bytes(),
		"same annotation": sample{page: "/Annots[" + many("5 0 R ", 100_000) + "]",
			extra: []string{"<</Subtype/FreeText/Contents(" + many("x", 10_000) + ")>>"}}.bytes(),
		"annotations in a circle": sample{page: "/Annots[5 0 R 6 0 R]", extra: []string{"<</Subtype/Text/Contents(c)/Popup 6 0 R/IRT 6 0 R/Parent 5 0 R>>",
			"<</Subtype/Widget/FT/Ch/Opt 5 0 R/V 6 0 R/Parent 6 0 R/Popup 5 0 R/IRT 5 0 R/AP<</N 6 0 R>>>>"}}.bytes(),
		"huge page":          bytes.Replace(plain, []byte("[0 0 600 800]"), []byte("[-1e300 0 1e300 99999999999999999999999]"), 1),
		"length of a length": lengthChain(5000),
		"encryption loop":    sample{trailer: "/Encrypt 5 0 R", extra: []string{"<</Filter 5 0 R/V 5 0 R/CF 5 0 R>>"}}.bytes(),
	}
}

// lengthChain is streams whose Length is the number of the next stream, so that
// each can only be read after all the others.
func lengthChain(n int) []byte {
	objects := []string{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]>>", "<</Type/Page/Contents 4 0 R>>"}
	for i := range n {
		objects = append(objects, fmt.Sprintf("<</Length %d 0 R>>\nstream\nx\nendstream", i+5))
	}
	return writePDF(objects, "")
}
