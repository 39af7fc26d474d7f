package responses_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/accounts"
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

// TestCompactionOfALongChain makes a chain of 500 turns, whose history is
// compacted whenever it has grown over the threshold.
func TestCompactionOfALongChain(t *testing.T) {
	is := is.New(t)
	script := small(t, func(req *model.Request) modeltest.Answer {
		last := fmt.Sprint(req.Messages[len(req.Messages)-1].Parts[0])
		if strings.HasPrefix(last, "Summarize everything") {
			return modeltest.Text("The secret is 4711.")
		}
		return modeltest.Text(strings.Repeat("answer ", 60))
	})
	f := newFixture(t, responses.Options{Backend: script})
	previous, compactions := "", 0
	for n := range 500 {
		req := ask(fmt.Sprint("question ", n, strings.Repeat(" and", 40)))
		req.Compact, req.CompactThreshold, req.PreviousResponseID = true, 5000, previous
		r, err := f.Create(t.Context(), f.caller, req)
		must(t, err)
		asked := script.Requests()
		if c, ok := r.Output[0].(*conversations.Compaction); ok {
			compactions++
			is.True(c.Sealed != "" && !strings.Contains(c.Sealed, "4711"))
			messages := asked[len(asked)-1].Messages
			is.Equal(len(messages), 2) // the summary, and the question
			is.True(strings.Contains(fmt.Sprint(messages[0].Parts[0]), "The secret is 4711."))
			stored, err := f.Get(t.Context(), f.caller, r.ID)
			must(t, err)
			is.Equal(stored.Output[0], r.Output[0])
		}
		previous = r.ID
	}
	is.True(compactions > 5 && compactions < 60)
	is.True(len(script.Requests()) == 500+compactions)
}

// TestCompact compacts a history for a caller who keeps it.
func TestCompact(t *testing.T) {
	is := is.New(t)
	script := modeltest.New(modeltest.Text("Hello."), modeltest.Text("They met."), modeltest.Text("More."))
	f := newFixture(t, responses.Options{Backend: script})
	r, err := f.Create(t.Context(), f.caller, ask("Hi"))
	must(t, err)
	c, err := f.Compact(t.Context(), f.caller, &responses.Request{Model: model.DefaultGenerator, PreviousResponseID: r.ID})
	must(t, err)
	is.Equal(len(c.Output), 2)
	is.Equal(c.Output[0].(*conversations.Message).Content[0].Text, "Hi")
	is.Equal(len(f.charges(t)), 2)
	sealed := c.Output[1].(*conversations.Compaction).Sealed
	next := ask("And now?")
	next.Input = append([]conversations.Item{c.Output[0], &conversations.Compaction{Sealed: sealed}}, next.Input...)
	_, err = f.Create(t.Context(), f.caller, next)
	must(t, err)
	asked := script.Requests()[2].Messages
	is.Equal(len(asked), 2)
	is.Equal(fmt.Sprint(asked[0].Parts[0]), "What was said before, in summary:\n\nThey met.\n\nWhat the user said last, word for word:\n\nHi")

	other, err := f.books.CreateOrganization(t.Context(), accounts.NewOrganization{Name: "other", Credits: accounts.Dollar})
	must(t, err)
	stranger, err := f.books.CallerFor(t.Context(), other.ID)
	must(t, err)
	_, err = f.Compact(t.Context(), stranger, ask("make a key"))
	is.True(fault.Is(err, fault.Internal)) // the script has no answer left
	forged := []byte(sealed)
	if forged[len(forged)/2] = 'A'; string(forged) == sealed {
		forged[len(forged)/2] = 'B'
	}
	for _, c := range []struct {
		caller accounts.Caller
		sealed string
	}{{stranger, sealed}, {f.caller, string(forged)}, {f.caller, "x"}, {f.caller, ""}} {
		next.Input[1] = &conversations.Compaction{Sealed: c.sealed}
		_, err = f.Create(t.Context(), c.caller, next)
		is.True(fault.Is(err, fault.Invalid))
	}
}
