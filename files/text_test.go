package files

import (
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
)

func TestTextOfEveryEncoding(t *testing.T) {
	notUTF8 := fault.Invalidf("", "The file is not text in UTF-8, nor in UTF-16 with a byte order mark.")
	notUTF16 := fault.Invalidf("", "The file is not valid UTF-16 text.")
	for _, c := range []struct {
		rule, mimeType, data, want string
		err                        error
	}{
		{"UTF-8", "text/plain", "Zürich\r\n", "Zürich\r\n", nil},
		{"an empty file", "text/plain", "", "", nil},
		{"a byte order mark is not text", "text/plain", "\xef\xbb\xbfé", "é", nil},
		{"UTF-16 little-endian by its mark", "text/csv", "\xff\xfeA\x00=\xd8\x00\xde", "A😀", nil},
		{"UTF-16 big-endian by its mark", "text/csv", "\xfe\xff\x00A\xd8=\xde\x00", "A😀", nil},
		{"a mark outweighs the charset", "text/csv; charset=utf-8", "\xfe\xff\x00A", "A", nil},
		{"UTF-16 little-endian by charset", "text/plain; charset=UTF-16LE", "A\x00", "A", nil},
		{"UTF-16 big-endian by charset", `text/plain;charset="utf-16be"`, "\x00A", "A", nil},
		{"UTF-16 without an order is big-endian", "text/plain; charset=utf-16", "\x00A", "A", nil},
		{"broken parameters do not count", "text/plain; charset", "é", "é", nil},
		{"Latin-1 is refused", "text/plain", "Z\xfcrich", "", notUTF8},
		{"UTF-16 that does not say so is refused", "text/plain", "A\x00", "", notUTF8},
		{"half a unit", "text/plain", "\xff\xfeA", "", notUTF16},
		{"a lone high surrogate at the end", "text/plain", "\xff\xfe=\xd8", "", notUTF16},
		{"a high surrogate before a letter", "text/plain", "\xff\xfe=\xd8A\x00", "", notUTF16},
		{"a lone low surrogate", "text/plain", "\xff\xfe\x00\xdeA\x00", "", notUTF16},
	} {
		got, err := Text(c.mimeType, []byte(c.data))
		if got != c.want || !reflect.DeepEqual(err, c.err) {
			t.Errorf("%s:\ngot  %q, %v\nwant %q, %v", c.rule, got, err, c.want, c.err)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("text/plain; charset=utf-16", []byte("\xd8=\xde\x00"))
	f.Add("", []byte("\xff\xfe\x00"))
	f.Fuzz(func(t *testing.T, mimeType string, data []byte) {
		text, err := Text(mimeType, data)
		if !utf8.ValidString(text) {
			t.Errorf("text %q is not UTF-8", text)
		}
		if err != nil && text != "" {
			t.Errorf("both text %q and error %v", text, err)
		}
	})
}

func unsupported(message string) error {
	e := fault.Invalidf("", "%s", message)
	e.Code = CodeUnsupported
	return e
}

func TestFormatOfIgnoresCaseAndParameters(t *testing.T) {
	for mimeType, want := range map[string]Format{
		"text/plain":                       Plain,
		"Text/Markdown; charset=utf-8":     Plain,
		" application/json ;x":             Plain,
		"application/x-ndjson":             Plain,
		"application/xml":                  Plain,
		"application/pdf":                  PDF,
		"application/msword":               Word,
		TypeByName("Annual Report.2.DOCX"): Word,
		TypeByName("page.htm"):             HTML,
		TypeByName("deck.pptx"):            Slides,
		TypeByName("book.XLSM"):            Sheets,
	} {
		got, err := FormatOf(mimeType)
		if got != want || err != nil {
			t.Errorf("%q: got %v, %v, want %v", mimeType, got, err, want)
		}
	}
	for _, mimeType := range []string{"application/octet-stream", "image/png", "text/x-python", "text", ""} {
		_, err := FormatOf(mimeType)
		is.New(t).Equal(err, unsupported("Files of the type \""+mimeType+"\" are not supported; "+
			"plain text, Markdown, CSV, TSV, JSON, JSONL, XML, PDF and Word documents are."))
	}
}

func TestTypesByName(t *testing.T) {
	const word = "application/vnd.openxmlformats-officedocument.wordprocessingml."
	for name, want := range map[string]string{
		"a.txt": "text/plain", "a.MD": "text/markdown", "a.csv": "text/csv", "a.tsv": "text/tab-separated-values",
		"a.json": "application/json", "a.jsonl": "application/jsonl", "a.xml": "application/xml", "b/a.pdf": "application/pdf",
		"a.doc": "application/msword", "a.dot": "application/msword", "a.docx": word + "document", "a.dotx": word + "template",
		"a.docm": "application/vnd.ms-word.document.macroenabled.12", "a.dotm": "application/vnd.ms-word.template.macroenabled.12",
		"a.png": "", "doc": "", "": "", ".": "",
	} {
		got := TypeByName(name)
		if got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
		if _, err := FormatOf(got); got != "" && err != nil {
			t.Errorf("%q: %v", got, err)
		}
	}
}
