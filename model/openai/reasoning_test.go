package openai

import (
	"net/http"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model"
)

// TestReasoningGoesBack to the server that it came from, under its own name for
// it, in the message with the calls.
func TestReasoningGoesBack(t *testing.T) {
	for name, whole := range map[string]bool{"reasoning_content": false, "reasoning": true, "think": false} {
		is := is.New(t)
		d := (&double{reasoning: "Let me think.", thoughts: name, whole: whole}).serve(t)
		b := d.backend(t)
		req := ask("x")
		req.Reasoning = true
		var thought string
		for event, err := range b.Generate(t.Context(), req) {
			is.NoErr(err)
			switch e := event.(type) {
			case model.Reasoning:
				thought += e.Text
			case model.TextDelta:
				is.Equal(thought, "Let me think.") // it is in front of what it led to
			}
		}
		back := called(thought)
		is.NoErr(fold(t.Context(), b, back).err)
		field, want := name, "Let me think."
		if name == "think" { // it came in the text, and goes back there
			field, want = "content", "<think>Let me think.</think>"
		}
		is.Equal(d.requests[1].Get("messages.1."+field).Str, want)
		is.True(d.requests[1].Get("messages.1.tool_calls").Exists())
	}
}

func called(thought string) *model.Request {
	req := ask("x")
	req.Messages = append(req.Messages,
		model.Message{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}, Reasoning: thought},
		model.Message{Role: model.ToolRole, ToolCallID: "1", Parts: []model.Part{model.Text("y")}})
	return req
}

// TestAServerThatRefusesReasoning is asked without it, then and from then on.
func TestAServerThatRefusesReasoning(t *testing.T) {
	is := is.New(t)
	d := (&double{intercept: func(w http.ResponseWriter, r *doubleRequest) bool {
		if !r.body.Get("messages.1.reasoning_content").Exists() {
			return false
		}
		refuse(w, http.StatusBadRequest, "messages.1.reasoning_content: extra fields are not permitted")
		return true
	}}).serve(t)
	b := d.backend(t)
	is.NoErr(fold(t.Context(), b, called("Hm.")).err)
	is.Equal(len(d.requests), 2)
	is.NoErr(fold(t.Context(), b, called("Hm.")).err)
	is.Equal(len(d.requests), 3)
}
