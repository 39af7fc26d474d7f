package files

import (
	"context"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// CodeNotFound is the code of the error for a request that refers to a file
// that the caller's organization does not have.
const CodeNotFound = "file_not_found"

// Inline reads the documents of requests for a service that keeps no uploads.
type Inline struct{}

// Stored returns the document of an uploaded file: here always a NotFound error
// with the code file_not_found.
func (Inline) Stored(_ context.Context, _ accounts.Caller, id string) (model.Document, error) {
	return model.Document{}, fault.Missing(CodeNotFound, "file", id)
}

// Inline returns the document in bytes that came with a request. An empty
// mimeType is guessed from the name. An unsupported type is an Invalid error with
// the code unsupported_file_type; bytes that are not of the type are an Invalid
// error.
func (Inline) Inline(_ context.Context, name, mimeType string, data []byte) (model.Document, error) {
	if mimeType == "" {
		mimeType = TypeByName(name)
	}
	format, err := FormatOf(mimeType)
	if err != nil {
		return model.Document{}, err
	}
	if format != Plain {
		e := fault.Invalidf("", "PDF and Word documents cannot be sent inline; send their text instead.")
		e.Code = CodeUnsupported
		return model.Document{}, e
	}
	text, err := Text(mimeType, data)
	if err != nil {
		return model.Document{}, err
	}
	return model.Document{Name: name, Text: text}, nil
}
