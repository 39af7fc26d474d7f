package messages

import (
	"testing"

	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
)

// FuzzDecode holds what is decoded to what package chat wants: parts that are there,
// and errors that are about the request.
func FuzzDecode(f *testing.F) {
	f.Add(`{"model":"m","max_tokens":1,"system":[{"type":"text","text":"a"}],"messages":[{"role":"user","content":"Hi"}],"tool_choice":{"type":"any"},"thinking":{"type":"adaptive"},"output_config":{"effort":"max"}}`)
	f.Add(`{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"x"},{"type":"tool_use","id":"a","name":"f","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"document","source":{"type":"content","content":"x"}},{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"x"}]}]}]}]}`)
	f.Add(`{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}},{"type":"document","source":{"type":"file","file_id":"file_1"}},{"type":"search_result","source":{}}]}],"tools":[{}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		root, err := jsonin.Parse([]byte(body), jsonin.Dots)
		if err != nil {
			return
		}
		w := &wire.MessagesRequest{}
		wire.Decode(root, w)
		if root.Err() != nil {
			return
		}
		r, err := Decode(w, model.Info{ID: "m"}, true, func(s string) (string, string, error) { return "m", s, nil })
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Error(err)
			}
			return
		}
		for _, m := range r.Chat.Messages {
			for _, p := range m.Content {
				if file, ok := p.(chat.File); p == nil || ok && file.ID == "" && file.Data == nil {
					t.Errorf("%#v", p)
				}
			}
		}
	})
}
