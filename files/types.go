package files

import (
	"mime"
	"path"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files/pdftext"
	"github.com/seed-506d8e5d/svc/files/reading"
	"github.com/seed-506d8e5d/svc/files/wordtext"
)

// Format is how the text of a document is found in its bytes: [Plain], or the
// name of one of the readers.
type Format string

// The formats of the supported types.
const (
	Plain Format = "plain" // the bytes are the text
	PDF   Format = "pdf"
	Word  Format = "word"
)

// readers find the text of the documents that are not plain text. Another format
// is a package of its own and a line here.
var readers = []reading.Reader{
	pdftext.Reader{},
	wordtext.Reader{},
}

// plainTypes are the types of plain text; the first type of a name is the one
// that it stands for.
var plainTypes = []reading.Type{
	{MIME: "text/plain", Names: []string{".txt"}},
	{MIME: "text/markdown", Names: []string{".md"}},
	{MIME: "text/x-markdown"},
	{MIME: "text/csv", Names: []string{".csv"}},
	{MIME: "application/csv"},
	{MIME: "text/tab-separated-values", Names: []string{".tsv"}},
	{MIME: "text/tsv"},
	{MIME: "text/json"},
	{MIME: "application/json", Names: []string{".json"}},
	{MIME: "application/jsonl", Names: []string{".jsonl"}},
	{MIME: "application/x-jsonlines"},
	{MIME: "application/ndjson"},
	{MIME: "application/x-ndjson"},
	{MIME: "text/xml"},
	{MIME: "application/xml", Names: []string{".xml"}},
}

// supported are all types, by format.
func supported(yield func(Format, reading.Type) bool) {
	for _, t := range plainTypes {
		if !yield(Plain, t) {
			return
		}
	}
	for _, r := range readers {
		for _, t := range r.Types() {
			if !yield(Format(r.Name()), t) {
				return
			}
		}
	}
}

// FormatOf returns the format of a MIME type, in any case and with or without
// parameters, or an Invalid error with the code unsupported_file_type.
func FormatOf(mimeType string) (Format, error) {
	wanted := essence(mimeType)
	for format, t := range supported {
		if t.MIME == wanted {
			return format, nil
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
	for _, t := range supported {
		if end != "" && slices.Contains(t.Names, end) {
			return t.MIME
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
