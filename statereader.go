package svc

import (
	"context"
	"strings"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
)

// stateReader reads what the state of a decision refers to.
type stateReader struct {
	conversations *conversations.Service
	files         *files.Service
}

// File implements decisions.States.
func (s stateReader) File(ctx context.Context, caller Caller, id string) (string, error) {
	document, err := s.files.Stored(ctx, caller, id)
	if err != nil || document.Note == "" {
		return document.Text, err
	}
	return strings.TrimSpace("(" + document.Note + ")\n" + document.Text), nil
}

// Conversation implements decisions.States: a list of what was said and done, in
// the words of the interface, without IDs.
func (s stateReader) Conversation(ctx context.Context, caller Caller, id string) (string, error) {
	point, err := s.conversations.Continue(ctx, caller, "", id)
	if err != nil {
		return "", err
	}
	var w jsonout.Writer
	w.Array()
	for _, entry := range point.Entries {
		if err := s.writeItem(ctx, caller, &w, entry.Item); err != nil {
			return "", err
		}
	}
	w.EndArray()
	return string(w.Buf), nil
}

func (s stateReader) writeItem(ctx context.Context, caller Caller, w *jsonout.Writer, item conversations.Item) error {
	switch item := item.(type) {
	case *conversations.Message:
		w.Object()
		w.Name("role").String(string(item.Role))
		w.Name("content").Array()
		for _, part := range item.Content {
			if err := s.writePart(ctx, caller, w, part); err != nil {
				return err
			}
		}
		w.EndArray()
		w.EndObject()
	case *conversations.FunctionCall:
		w.Object()
		w.Name("type").String("function_call")
		w.Name("name").String(item.Name)
		w.Name("arguments").String(item.Arguments)
		w.EndObject()
	case *conversations.FunctionCallOutput:
		w.Object()
		w.Name("type").String("function_call_output")
		w.Name("output").String(item.Output)
		w.EndObject()
	case *conversations.MCPCall:
		w.Object()
		w.Name("type").String("mcp_call")
		w.Name("name").String(item.Name)
		w.Name("arguments").String(item.Arguments)
		w.Name("output").String(item.Output)
		w.EndObject()
	case *conversations.FileSearch:
		w.Object()
		w.Name("type").String("file_search_call")
		w.Name("results").Array()
		for _, p := range item.Passages {
			w.String(p.Text)
		}
		w.EndArray()
		w.EndObject()
	case *conversations.WebSearch:
		w.Object()
		w.Name("type").String("web_search_call")
		w.Name("results").String(item.Results)
		w.EndObject()
	}
	return nil
}

func (s stateReader) writePart(ctx context.Context, caller Caller, w *jsonout.Writer, part conversations.Part) error {
	var document model.Document
	switch f := part.Inline; {
	case f != nil:
		document = model.Document{Name: f.Name, Text: f.Text, Note: f.Note}
	case part.FileID == "":
		w.String(part.Text)
		return nil
	default:
		var err error
		if document, err = s.files.Stored(ctx, caller, part.FileID); err != nil {
			return err
		}
	}
	w.Object()
	w.Name("file").String(document.Name)
	w.StringMember("note", document.Note)
	w.Name("text").String(document.Text)
	w.EndObject()
	return nil
}
