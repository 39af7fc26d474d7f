package files

import (
	"mime"
	"path"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/doc"
	"github.com/seed-506d8e5d/svc/extract/docx"
	"github.com/seed-506d8e5d/svc/extract/pdf"
	"github.com/seed-506d8e5d/svc/extract/rtf"
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
)

// readers find the text of documents that are not plain text. A file under the name
// of another kind of Word document is read as what its bytes are, and so is RTF,
// which Word opens under any of their names.
var readers = map[Format]extract.Reader{
	PDF:  pdf.Reader{},
	Word: extract.Any(doc.Reader{}, rtf.Reader{}, docx.Reader{}),
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
}

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
// parameters, or an Invalid error with the code unsupported_file_type.
func FormatOf(mimeType string) (Format, error) {
	wanted := essence(mimeType)
	for _, f := range types {
		for _, t := range f.types {
			if t.MIME == wanted {
				return f.Format, nil
			}
		}
	}
	e := fault.Invalidf("", "Files of the type %.100q are not supported; plain text, Markdown, CSV, TSV, JSON, JSONL, XML, PDF and Word documents are.", mimeType)
	e.Code = CodeUnsupported
	return "", e
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
