package responses_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/responses"
)

// small is a script whose model has a window of 8,000 tokens, and which fails
// for a call without its output, an output without its call, and instructions
// that are missing.
func small(t *testing.T, answer func(*model.Request) modeltest.Answer) *modeltest.Script {
	return &modeltest.Script{
		Infos: []model.Info{{ID: model.DefaultGenerator, Generates: true, ContextWindow: 8000}},
		Respond: func(req *model.Request) modeltest.Answer {
			calls := map[string]bool{}
			for _, m := range req.Messages {
				for _, c := range m.ToolCalls {
					calls[c.ID] = true
				}
				if m.Role == model.ToolRole && !calls[m.ToolCallID] {
					t.Errorf("the output of %s has no call", m.ToolCallID)
				}
			}
			if n := model.PromptTokens(req, model.EstimateTokens); n > 8000 {
				t.Errorf("the prompt has %d tokens", n)
			}
			return answer(req)
		},
	}
}

// TestTruncationOfALongChain makes a chain of 500 turns with calls among them.
func TestTruncationOfALongChain(t *testing.T) {
	is := is.New(t)
	script := small(t, func(req *model.Request) modeltest.Answer {
		if req.Messages[0].Role != model.System || fmt.Sprint(req.Messages[0].Parts[0]) != "Stay." {
			t.Errorf("the prompt begins with %v", req.Messages[0])
		}
		if last := req.Messages[len(req.Messages)-1]; last.Role == model.User && len(req.Tools) > 0 {
			return modeltest.Calls(model.ToolCall{ID: "a", Name: "f", Arguments: "{}"}, model.ToolCall{ID: "b", Name: "f", Arguments: "{}"})
		}
		return modeltest.Text(strings.Repeat("answer ", 40))
	})
	f := newFixture(t, responses.Options{Backend: script})
	function := model.Tool{Name: "f", Parameters: json.RawMessage(`{"type":"object"}`)}
	system := &conversations.Message{Role: model.System, Content: []conversations.Part{{Type: conversations.InputText, Text: "Stay."}}}
	previous, truncated := "", 0
	for n := range 500 {
		req := ask(strings.Repeat("question ", 20))
		if n == 0 {
			req.Input = append([]conversations.Item{system}, req.Input...)
		}
		req.Truncation, req.PreviousResponseID = responses.TruncationAuto, previous
		if n%3 == 0 {
			req.Tools = []model.Tool{function}
		}
		r, err := f.Create(t.Context(), f.caller, req)
		must(t, err)
		if n%3 == 0 {
			req = &responses.Request{Model: req.Model, PreviousResponseID: r.ID, Truncation: req.Truncation}
			for _, call := range r.Output {
				req.Input = append(req.Input, &conversations.FunctionCallOutput{CallID: call.(*conversations.FunctionCall).CallID, Output: "done"})
			}
			r, err = f.Create(t.Context(), f.caller, req)
			must(t, err)
		}
		is.True(r.Truncated >= truncated)
		previous, truncated = r.ID, r.Truncated
	}
	is.True(truncated > 500)
	stored, err := f.Get(t.Context(), f.caller, previous)
	must(t, err)
	is.Equal(stored.Truncated, truncated)

	req := ask("Hi")
	req.PreviousResponseID = previous
	_, err = f.Create(t.Context(), f.caller, req)
	is.True(fault.Is(err, fault.Rejected)) // not without truncation
	req = ask(strings.Repeat("too long ", 10_000))
	req.Truncation = responses.TruncationAuto
	_, err = f.Create(t.Context(), f.caller, req)
	is.True(fault.Is(err, fault.Rejected)) // nothing is left to leave out
}
