package files

import (
	"mime"
	"path"
	"strings"

	"github.com/seed-506d8e5d/svc/fault"
)

// Format is how the text of a document is found in its bytes.
type Format uint8

// The formats of the supported types. The zero value is none of them.
const (
	Plain Format = iota + 1 // the bytes are the text
	PDF
	Doc  // Word before 2007
	Docx // Word since 2007
)

// String returns the name of the format: plain, pdf, doc or docx.
func (f Format) String() string {
	switch f {
	case Plain:
		return "plain"
	case PDF:
		return "pdf"
	case Doc:
		return "doc"
	case Docx:
		return "docx"
	}
	return "none"
}

// types are the supported MIME types.
var types = map[string]Format{
	"text/plain":                Plain,
	"text/markdown":             Plain,
	"text/x-markdown":           Plain,
	"text/csv":                  Plain,
	"application/csv":           Plain,
	"text/tab-separated-values": Plain,
	"text/tsv":                  Plain,
	"text/json":                 Plain,
	"application/json":          Plain,
	"application/jsonl":         Plain,
	"application/x-jsonlines":   Plain,
	"application/ndjson":        Plain,
	"application/x-ndjson":      Plain,
	"text/xml":                  Plain,
	"application/xml":           Plain,
	"application/pdf":           PDF,
	"application/msword":        Doc,
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": Docx,
}

// extensions are the types of files by the ends of their names.
var extensions = map[string]string{
	".txt":   "text/plain",
	".md":    "text/markdown",
	".csv":   "text/csv",
	".tsv":   "text/tab-separated-values",
	".json":  "application/json",
	".jsonl": "application/jsonl",
	".xml":   "application/xml",
	".pdf":   "application/pdf",
	".doc":   "application/msword",
	".docx":  "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}

// FormatOf returns the format of a MIME type, in any case and with or without
// parameters, or an Invalid error with the code unsupported_file_type.
func FormatOf(mimeType string) (Format, error) {
	if f, ok := types[essence(mimeType)]; ok {
		return f, nil
	}
	e := fault.Invalidf("", "Files of the type %.100q are not supported; plain text, Markdown, CSV, TSV, JSON, JSONL, XML, PDF and Word documents are.", mimeType)
	e.Code = CodeUnsupported
	return 0, e
}

// TypeByName returns the MIME type that the end of a file's name stands for, or
// "" where it stands for none of the supported ones.
func TypeByName(name string) string {
	return extensions[strings.ToLower(path.Ext(name))]
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
