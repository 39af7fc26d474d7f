package responses

import (
	"context"
	"maps"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// readDocuments reads the files of the input, which must all be there, and then
// those of the history, where a file that has been deleted since is said to be.
func (t *turn) readDocuments(ctx context.Context) error {
	t.documents = map[string]model.Document{}
	for _, item := range t.input {
		if err := t.readFiles(ctx, item, false); err != nil {
			return err
		}
	}
	for _, id := range t.past.quotes {
		if err := t.readFile(ctx, id, true); err != nil {
			return err
		}
	}
	for _, e := range t.recent() {
		if err := t.readFiles(ctx, e.Item, true); err != nil {
			return err
		}
	}
	if !maps.Equal(t.past.documents, t.documentsOf(t.past.quotes)) {
		t.past = newTranscript(t.req.Instructions)
	}
	return nil
}

// documentsOf returns the files with IDs, as far as they have been read.
func (t *turn) documentsOf(ids []string) map[string]model.Document {
	documents := map[string]model.Document{}
	for _, id := range ids {
		documents[id] = t.documents[id]
	}
	return documents
}

func (t *turn) readFiles(ctx context.Context, item conversations.Item, mayBeGone bool) error {
	for _, p := range contentOf(item) {
		if p.Type != conversations.InputFile {
			continue
		}
		if err := t.readFile(ctx, p.FileID, mayBeGone); err != nil {
			return err
		}
	}
	return nil
}

func (t *turn) readFile(ctx context.Context, id string, mayBeGone bool) error {
	d, err := t.document(ctx, id)
	if mayBeGone && fault.Is(err, fault.NotFound) {
		d, err = model.Document{Name: id, Text: "[This file has been deleted.]"}, nil
	}
	if err != nil {
		return err
	}
	if t.read += len(d.Text); t.read > maxDocuments {
		return fault.ContextLength("The files are longer than any model's context window: they have more than %d MiB.", maxDocuments>>20)
	}
	t.documents[id] = d
	return nil
}

// maxDocuments is how many bytes the files of a prompt may have. It is more than
// any context window holds: what is longer need not be counted to know that it
// does not fit.
const maxDocuments = 64 << 20

func (t *turn) document(ctx context.Context, id string) (model.Document, error) {
	if d, ok := t.documents[id]; ok {
		return d, nil
	}
	if t.o.Documents == nil {
		return model.Document{}, errNoDocuments(id)
	}
	return t.o.Documents.Stored(ctx, t.caller, id)
}
