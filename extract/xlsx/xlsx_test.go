package xlsx_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/xlsx"
)

func read(data []byte) (extract.Document, error) {
	return xlsx.Reader{}.Read(context.Background(), bytes.NewReader(data), int64(len(data)))
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

const styles = `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="&quot;day&quot; [Red]0.00"/><numFmt numFmtId="165" formatCode="[$-409]d\-mmm\-yy;@"/><numFmt numFmtId="166" formatCode="0.0%"/></numFmts>
<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="9"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/><xf numFmtId="21"/></cellXfs></styleSheet>`

// book is a workbook with two sheets that are shown, and one that is hidden. The rows are
// those of the first.
func book(t testing.TB, props, rows string) []byte {
	t.Helper()
	return pack(t, "_rels/.rels", rels("r1", "officeDocument", "xl/workbook.xml"),
		"xl/workbook.xml", `<workbook xmlns:r="r"><workbookPr `+props+`/><sheets><sheet name="Sales  2026" sheetId="1" r:id="r1"/><sheet name="Secret" state="hidden" sheetId="2" r:id="r2"/><sheet name="Rest" sheetId="3" r:id="r3"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", rels("r1", "worksheet", "worksheets/sheet1.xml", "r2", "worksheet", "worksheets/sheet2.xml", "r3", "worksheet", "/xl/worksheets/sheet3.xml", "r4", "sharedStrings", "sharedStrings.xml", "r5", "styles", "styles.xml"),
		"xl/sharedStrings.xml", `<sst><si><t>Name</t></si><si><r><t>rich </t></r><r><t xml:space="preserve">text|x</t></r><rPh><t>reading</t></rPh></si></sst>`,
		"xl/styles.xml", styles,
		"xl/worksheets/sheet1.xml", "<worksheet><sheetData>"+rows+"</sheetData></worksheet>",
		"xl/worksheets/sheet2.xml", `<worksheet><sheetData><row><c t="str"><v>secret</v></c></row></sheetData></worksheet>`,
		"xl/worksheets/sheet3.xml", `<worksheet><sheetData><row><c t="inlineStr"><is><t>rest</t></is></c></row></sheetData></worksheet>`)
}

func TestWorkbooks(t *testing.T) {
	const rest = "\n# Rest\n| rest |\n| --- |\n"
	for name, c := range map[string][3]string{
		"texts":  {"", `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row><row r="2"><c r="B2" t="str"><f>A1&amp;"x"</f><v>Namex</v></c></row>`, "| Name | rich text\\|x |\n| --- | --- |\n| | Namex |\n"},
		"values": {"", `<row><c><v>0.30000000000000004</v></c><c><v>1e3</v></c><c t="b"><v>1</v></c><c t="e"><v>#N/A</v></c><c><v>1.5E+300</v></c></row>`, "| 0.3 | 1000 | TRUE | #N/A | 1.5e+300 |\n| --- | --- | --- | --- | --- |\n"},
		"styles": {"", `<row><c s="1"><v>46349</v></c><c s="2"><v>46349.75</v></c><c s="3"><v>0.25</v></c><c s="4"><v>7</v></c><c s="5"><v>46349</v></c><c s="6"><v>0.125</v></c><c s="7"><v>0.500011574</v></c><c s="1"><v>1</v></c><c s="1"><v>-5</v></c><c s="99"><v>2</v></c></row>`,
			"| 2026-11-23 | 2026-11-23 18:00 | 25% | 7 | 2026-11-23 | 12.5% | 12:00:01 | 1900-01-01 | -5 | 2 |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"},
		"1904":                     {`date1904="1"`, `<row><c s="1"><v>0</v></c><c s="1"><v>44887</v></c></row>`, "| 00:00 | 2026-11-23 |\n| --- | --- |\n"},
		"gaps":                     {"", `<row r="3"/><row r="5"><c r="C5"><v>1</v></c><c r="B5"><v>2</v></c><c r="E5"><v></v></c></row>`, "| | | 1 |\n| --- | --- | --- |\n"},
		"no rows":                  {"", "", ""},
		"nothing of a shared text": {"", `<row><c t="s"><v>99</v></c><c t="s"><v>-1</v></c><c t="s"><v>x</v></c><c><v>y</v></c></row>`, "| | | | y |\n| --- | --- | --- | --- |\n"},
	} {
		want := "# Sales 2026\n" + c[2] + rest
		got, err := read(book(t, c[0], c[1]))
		if err != nil || got != (extract.Document{Text: want}) {
			t.Errorf("%s: got partial %t, %v\n%s\nwant\n%s", name, got.Partial, err, got.Text, want)
		}
	}
}

func TestWorkbooksThatAreDamaged(t *testing.T) {
	got, err := read(book(t, "", `<row><c><v>1</v></c></row><row <<`))
	if err != nil || !got.Partial || !strings.HasPrefix(got.Text, "# Sales 2026\n| 1 |\n") || !strings.HasSuffix(got.Text, "| rest |\n| --- |\n") {
		t.Errorf("got %+v, %v", got, err)
	}
	wide := `<row><c r="XFD1"><v>1</v></c></row>`
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"no container":  {[]byte("text"), extract.ErrFormat},
		"cut":           {book(t, "", "")[:100], extract.ErrDamaged},
		"a document":    {pack(t, "_rels/.rels", rels("a", "officeDocument", "word/document.xml"), "word/document.xml", "<document/>"), extract.ErrFormat},
		"another zip":   {pack(t, "a.txt", "text"), extract.ErrFormat},
		"nested deeply": {book(t, "", strings.Repeat("<row>", 200)), extract.ErrTooLarge},
		"a large grid":  {book(t, "", strings.Repeat(wide, 5000)), extract.ErrTooLarge},
	} {
		if _, err := read(c.data); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	if got, err := read(book(t, "", `<row><c r="ZZZZZZZZZZZZ1"><v>1</v></c></row>`)); err != nil || !strings.Contains(got.Text, "| 1 |") {
		t.Errorf("a column far out: got %+v, %v", got, err)
	}
}

func FuzzSheet(f *testing.F) {
	f.Add(`date1904="1"`, `<row r="1"><c r="A1" t="s" s="3"><v>0</v></c></row>`)
	f.Add("", `<row><c r="XFD1" s="2"><v>-1e308</v></c></c></row></row></sheetData><c><is><rPh><t>x`)
	f.Fuzz(func(t *testing.T, props, rows string) {
		got, err := read(book(t, props, rows))
		if err != nil && !errors.Is(err, extract.ErrTooLarge) && !errors.Is(err, extract.ErrFormat) && !errors.Is(err, extract.ErrDamaged) {
			t.Error(err)
		}
		if strings.ToValidUTF8(got.Text, "") != got.Text {
			t.Errorf("the text is no UTF-8: %q", got.Text)
		}
	})
}

func FuzzExtract(f *testing.F) {
	f.Add(book(f, "", `<row><c><v>1</v></c></row>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := read(data); err != nil && !errors.Is(err, extract.ErrFormat) && !errors.Is(err, extract.ErrDamaged) && !errors.Is(err, extract.ErrTooLarge) && !errors.Is(err, extract.ErrPassword) {
			t.Error(err)
		}
	})
}
