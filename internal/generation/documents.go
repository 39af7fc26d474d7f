package generation

import (
	"context"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// MaxDocuments bounds the bytes of text that the documents of one prompt have
// together, counted as often as the prompt refers to each. It is more than any
// context window holds, so a longer prompt need not be built to know that it does
// not fit.
const MaxDocuments = 64 << 20

// Documents reads the documents of one prompt: each stored file once, and no more
// than [MaxDocuments] of text. It is not safe for concurrent use.
type Documents struct {
	read  func(ctx context.Context, id string) (model.Document, error)
	found map[string]model.Document // by file ID
	bytes int
}

// NewDocuments returns a reader of documents. read returns the text of a stored file.
func NewDocuments(read func(ctx context.Context, id string) (model.Document, error)) *Documents {
	return &Documents{read: read, found: map[string]model.Document{}}
}

// Stored returns a stored file for one reference in the prompt. The error is that
// of reading the file, or [Documents.Count]'s.
func (d *Documents) Stored(ctx context.Context, id string) (model.Document, error) {
	if found, ok := d.found[id]; ok {
		return found, d.Count(found)
	}
	found, err := d.read(ctx, id)
	if err != nil {
		return model.Document{}, err
	}
	return found, d.Set(id, found)
}

// Set makes a document stand for a file from now on and counts one reference to it.
func (d *Documents) Set(id string, document model.Document) error {
	d.found[id] = document
	return d.Count(document)
}

// Get returns a file that was read before, and an empty document for any other ID.
func (d *Documents) Get(id string) model.Document { return d.found[id] }

// Count counts one reference to a document. The error is Rejected with the code
// context_length_exceeded once the prompt has more than [MaxDocuments] of text.
func (d *Documents) Count(document model.Document) error {
	if d.bytes += len(document.Text); d.bytes > MaxDocuments {
		return fault.ContextLength("The files are longer than any model's context window: they have more than %d MiB.", MaxDocuments>>20)
	}
	return nil
}
