package responses

import (
	"context"
	"errors"
	"maps"
	"slices"

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
	if err := t.readInline(ctx); err != nil {
		return err
	}
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

// readInline puts the text of the input's inline files into their place.
func (t *turn) readInline(ctx context.Context) error {
	bytes := 0
	for i, item := range t.input {
		content := contentOf(item)
		if !slices.ContainsFunc(content, isUnread) {
			continue
		}
		content = slices.Clone(content)
		for k := range content {
			p := &content[k]
			if !isUnread(*p) {
				continue
			}
			if bytes += len(p.Inline.Data); bytes > MaxInlineBytes {
				return &fault.Error{Kind: fault.TooLarge, Code: fault.CodeTooLarge, Param: "input",
					Message: "The inline files of a request may have at most 10 MiB together; upload larger ones and send their file_id."}
			}
			read, err := t.readOne(ctx, p.Inline)
			if err != nil {
				return err
			}
			p.Inline = read
		}
		t.input[i] = withContent(item, content)
	}
	return nil
}

func isUnread(p conversations.Part) bool { return p.Inline != nil && p.Inline.Data != nil }

func (t *turn) readOne(ctx context.Context, f *conversations.InlineFile) (*conversations.InlineFile, error) {
	if t.o.Documents == nil {
		return nil, fault.Invalidf("input", "This server reads no files.")
	}
	document, err := t.o.Documents.Inline(ctx, f.Name, f.MIMEType, f.Data)
	if err != nil {
		if e, ok := errors.AsType[*fault.Error](err); ok && e.Param == "" {
			at := *e
			at.Param = "input"
			return nil, &at
		}
		return nil, err
	}
	return &conversations.InlineFile{Name: f.Name, Digest: f.Digest, Text: document.Text, Note: document.Note}, nil
}

// withContent returns a copy of an item with another content.
func withContent(item conversations.Item, content []conversations.Part) conversations.Item {
	switch item := item.(type) {
	case *conversations.Message:
		message := *item
		message.Content = content
		return &message
	case *conversations.FunctionCallOutput:
		output := *item
		output.Content = content
		return &output
	}
	return item
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
		if p.Inline != nil {
			if err := t.documents.Count(inlineDocument(p.Inline)); err != nil {
				return err
			}
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
