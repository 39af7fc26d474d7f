package httpapi

import (
	"testing"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/responses"
)

// FuzzDecodeResponse holds the decoder to what the service relies on: without
// an error there is input, and every item of it is whole.
func FuzzDecodeResponse(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","input":"Hi","stream":true,"metadata":{"a":1}}`,
		`{"input":[{"type":"input_text","text":"a"},{"role":"user","content":[{"type":"input_file","file_id":"f"}]}]}`,
		`{"input":[{"type":"function_call","call_id":"a","name":"b","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"b"}]}`,
		`{"input":[{"type":"web_search_call","id":"a"},{"type":"item_reference","id":"b"},{"type":"reasoning"},{"role":"assistant","phase":"commentary","content":""}]}`,
		`{"input":"","tools":[{"type":"web_search"},{"type":"function","name":"f","parameters":{}}],"tool_choice":{"type":"function","name":"f"}}`,
		`{"input":"","conversation":{"id":"c"},"text":{"format":{"type":"json_schema","name":"n","schema":{}}},"reasoning":{"effort":"low"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		root, err := jsonin.Parse(body, jsonin.Dots)
		if err != nil {
			return
		}
		sent := &wire.ResponseRequest{}
		wire.Decode(root, sent)
		err = root.Err()
		var req *responses.Request
		if err == nil {
			req, err = convert.FromResponseRequest(sent)
		}
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatalf("%v is not Invalid", err)
			}
			return
		}
		if len(req.Input) == 0 {
			t.Fatal("there is no input")
		}
		for _, item := range req.Input {
			checkDecoded(t, item)
		}
	})
}

func checkDecoded(t *testing.T, item conversations.Item) {
	t.Helper()
	switch item := item.(type) {
	case *conversations.Message:
		if item.Role == "" || item.ID != "" || item.Status != "" {
			t.Fatalf("decoded %+v", item)
		}
		for _, p := range item.Content {
			if (p.Type == conversations.InputFile) != (p.FileID != "") {
				t.Fatalf("decoded %+v", item)
			}
		}
	case *conversations.FunctionCall:
		if item.ID != "" || item.Status != "" || item.CallID == "" || item.Name == "" {
			t.Fatalf("decoded %+v", item)
		}
	case *conversations.FunctionCallOutput:
		if item.ID != "" || item.Call != "" || item.CallID == "" {
			t.Fatalf("decoded %+v", item)
		}
	case *conversations.WebSearch:
		if item.Results != "" {
			t.Fatalf("decoded %+v", item)
		}
	case conversations.Reference, *conversations.Compaction, *conversations.Reasoning:
	default:
		t.Fatalf("decoded %T", item)
	}
}

func FuzzDecodeConversationItems(f *testing.F) {
	f.Add([]byte(`{"items":[{"role":"user","content":"x"},{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		root, err := jsonin.Parse(body, jsonin.Dots)
		if err != nil {
			return
		}
		sent := &wire.UserItemsRequest{}
		wire.Decode(root, sent)
		if root.Err() != nil {
			return
		}
		for _, item := range convert.FromInputItems(wire.InputItems(sent.Items)) {
			m := item.(*conversations.Message)
			for _, p := range m.Content {
				if m.Role != "user" || p.Type != conversations.InputText {
					t.Fatalf("decoded %+v", m)
				}
			}
		}
	})
}
