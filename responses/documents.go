package responses

import (
	"context"
	"maps"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/model"
)

// readDocuments reads the files of the input, which must all be there, and then
// those of the history, where a file that has been deleted since is said to be.
func (t *turn) readDocuments(ctx context.Context) error {
	t.documents = generation.NewDocuments(func(ctx context.Context, id string) (model.Document, error) {
		if t.o.Documents == nil {
			return model.Document{}, errNoDocuments(id)
		}
		return t.o.Documents.Stored(ctx, t.caller, id)
	})
	for _, item := range t.input {
		if err := t.readFiles(ctx, item, false); err != nil {
			return err
		}
	}
	for _, id := range t.plan.begins.quotes {
		if err := t.readFile(ctx, id, true); err != nil {
			return err
		}
	}
	for _, e := range t.recent() {
		if err := t.readFiles(ctx, e.Item, true); err != nil {
			return err
		}
	}
	if !maps.Equal(t.plan.begins.documents, t.documentsOf(t.plan.begins.quotes)) {
		t.plan.begins = newTranscript(t.req.Instructions)
	}
	return nil
}

// documentsOf returns the files with IDs, as far as they have been read.
func (t *turn) documentsOf(ids []string) map[string]model.Document {
	documents := map[string]model.Document{}
	for _, id := range ids {
		documents[id] = t.documents.Get(id)
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
	_, err := t.documents.Stored(ctx, id)
	if mayBeGone && fault.Is(err, fault.NotFound) {
		return t.documents.Set(id, model.Document{Name: id, Text: "[This file has been deleted.]"})
	}
	return err
}
