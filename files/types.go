package files

import (
	"bytes"
	"mime"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/doc"
	"github.com/seed-506d8e5d/svc/extract/docx"
	"github.com/seed-506d8e5d/svc/extract/html"
	"github.com/seed-506d8e5d/svc/extract/pdf"
	"github.com/seed-506d8e5d/svc/extract/pptx"
	"github.com/seed-506d8e5d/svc/extract/rtf"
	"github.com/seed-506d8e5d/svc/extract/xlsx"
	"github.com/seed-506d8e5d/svc/fault"
)

// Format says how the text of a document is found in its bytes: [Plain], or the
// name of a reader.
type Format string

// The formats of the supported types.
const (
	Plain Format = "plain" // the bytes are the text
	PDF   Format = "pdf"
	Word  Format = "word"

	// The formats that only a service with [Options].Open takes.
	HTML   Format = "html"
	Slides Format = "slides" // PowerPoint
	Sheets Format = "sheets" // Excel
)

// readers find the text of documents that are not plain text. A file under the name
// of another kind of Word document is read as what its bytes are, and so is RTF,
// which Word opens under any of their names.
var readers = map[Format]extract.Reader{
	PDF:  pdf.Reader{},
	Word: extract.Any(doc.Reader{}, rtf.Reader{}, docx.Reader{}),

	HTML:   html.Reader{},
	Slides: pptx.Reader{},
	Sheets: xlsx.Reader{},
}

// types are the supported MIME types. The first type with an extension stands for
// the extension.
var types = []struct {
	Format
	types []extract.Type
}{
	{Plain, plainTypes},
	{PDF, pdf.Reader{}.Types()},
	{Word, docx.Reader{}.Types()},
	{Word, doc.Reader{}.Types()},
	{HTML, html.Reader{}.Types()},
	{Slides, pptx.Reader{}.Types()},
	{Sheets, xlsx.Reader{}.Types()},
}

// isOpen reports whether only a service with [Options].Open takes files of the format.
func (f Format) isOpen() bool { return f == HTML || f == Slides || f == Sheets }

var plainTypes = []extract.Type{
	{MIME: "text/plain", Extensions: []string{".txt"}},
	{MIME: "text/markdown", Extensions: []string{".md"}},
	{MIME: "text/x-markdown"},
	{MIME: "text/csv", Extensions: []string{".csv"}},
	{MIME: "application/csv"},
	{MIME: "text/tab-separated-values", Extensions: []string{".tsv"}},
	{MIME: "text/tsv"},
	{MIME: "text/json"},
	{MIME: "application/json", Extensions: []string{".json"}},
	{MIME: "application/jsonl", Extensions: []string{".jsonl"}},
	{MIME: "application/x-jsonlines"},
	{MIME: "application/ndjson"},
	{MIME: "application/x-ndjson"},
	{MIME: "text/xml"},
	{MIME: "application/xml", Extensions: []string{".xml"}},
}

// linesType is the type of JSON Lines.
const linesType = "application/jsonl"

// isLines reports whether a MIME type is one of JSON Lines.
func isLines(mimeType string) bool {
	switch essence(mimeType) {
	case linesType, "application/x-jsonlines", "application/ndjson", "application/x-ndjson":
		return true
	}
	return false
}

// FormatOf returns the format of a MIME type, in any case and with or without
// parameters, or an Invalid error with the code unsupported_file_type. Some formats
// are taken by services with [Options].Open alone.
func FormatOf(mimeType string) (Format, error) {
	wanted := essence(mimeType)
	for _, f := range types {
		for _, t := range f.types {
			if t.MIME == wanted {
				return f.Format, nil
			}
		}
	}
	return "", errUnsupported(mimeType)
}

func errUnsupported(mimeType string) error {
	e := fault.Invalidf("", "Files of the type %.100q are not supported; plain text, Markdown, CSV, TSV, JSON, JSONL, XML, PDF and Word documents are.", mimeType)
	e.Code = CodeUnsupported
	return e
}

// formatOf is [FormatOf] for what the service takes.
func (s *Service) formatOf(mimeType string) (Format, error) {
	format, err := FormatOf(mimeType)
	if err == nil && format.isOpen() && !s.open {
		return "", errUnsupported(mimeType)
	}
	return format, err
}

// headBytes is how much of a file tells its type.
const headBytes = 4 << 10

// typeOf returns the type of a file with a name that begins with head. A type that is
// supported is believed; with [Options].Open another one, or none, is found from the
// content and then from the name.
func (s *Service) typeOf(name, mimeType string, head []byte) string {
	if _, err := FormatOf(mimeType); err == nil || !s.open {
		return mimeType
	}
	byName := TypeByName(name)
	named, _ := FormatOf(byName) // none, where the name tells nothing
	lower := bytes.ToLower(head)
	switch {
	case bytes.Contains(head[:min(len(head), 1024)], []byte("%PDF-")):
		return typeFor(PDF)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return zipType(head, byName, named)
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0")), bytes.HasPrefix(head, []byte(rtf.Magic)):
		return doc.Reader{}.Types()[0].MIME
	case named != "":
		return byName
	case bytes.Contains(lower, []byte("<!doctype html")), bytes.Contains(lower, []byte("<html")):
		return typeFor(HTML)
	case isText(head):
		return plainTypes[0].MIME
	}
	return mimeType
}

// typeFor returns the first type of a format.
func typeFor(format Format) string { return readers[format].Types()[0].MIME }

// zipType returns the type of a container: the parts in it tell, or the name.
func zipType(head []byte, byName string, named Format) string {
	switch {
	case named == Slides || named == Sheets || named == Word:
		return byName
	case bytes.Contains(head, []byte("ppt/")):
		return typeFor(Slides)
	case bytes.Contains(head, []byte("xl/")):
		return typeFor(Sheets)
	}
	return docx.Reader{}.Types()[0].MIME
}

// isText reports whether a file that begins with head may be text.
func isText(head []byte) bool {
	if order, _ := encoding("", head); order != nil {
		return true // a byte order mark
	}
	for n := 1; n < utf8.UTFMax && n <= len(head); n++ {
		if last := head[len(head)-n:]; utf8.RuneStart(last[0]) && !utf8.FullRune(last) {
			head = head[:len(head)-n] // the last character goes on behind the head
		}
	}
	return isUTF8(head)
}

// TypeByName returns the MIME type that the end of a file's name stands for, or
// "" where it stands for none of the supported ones.
func TypeByName(name string) string {
	end := strings.ToLower(path.Ext(name))
	for _, f := range types {
		for _, t := range f.types {
			if end != "" && slices.Contains(t.Extensions, end) {
				return t.MIME
			}
		}
	}
	return ""
}

// essence returns a MIME type without its parameters, in lower case.
func essence(mimeType string) string {
	name, _, _ := strings.Cut(mimeType, ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// canonicalType returns a supported type as it is kept: in lower case, with the
// charset that says how to read the bytes and no other parameter.
func canonicalType(mimeType string) string {
	params := map[string]string{}
	if c := charset(mimeType); c != "" {
		params["charset"] = c
	}
	if t := mime.FormatMediaType(essence(mimeType), params); t != "" {
		return t
	}
	return essence(mimeType)
}
