package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

var weather = model.ToolCall{ID: "call_a", Name: "weather", Arguments: `{"city":"Zürich"}`}

func TestCompletionOfText(t *testing.T) {
	e := newEnv(t, modeltest.Text("Hel", "lo"))
	req := ask("Hi")
	req.Metadata = map[string]string{"k": "v"}
	equal(t, e.complete(req), &chat.Completion{
		ID: "chatcmpl_01", Created: now.Unix(), Model: model.DefaultGenerator,
		Choice: chat.Choice{Content: ptr("Hello"), FinishReason: model.Stop},
		Usage:  modeltest.DefaultUsage, Metadata: map[string]string{"k": "v"},
	})
}

func TestContentIsNilWhereTheAnswerOnlyCallsTools(t *testing.T) {
	e := newEnv(t, modeltest.Calls(weather, model.ToolCall{ID: "call_b", Name: "time"}))
	equal(t, e.complete(ask("Hi")), &chat.Completion{
		ID: "chatcmpl_01", Created: now.Unix(), Model: model.DefaultGenerator,
		Choice: chat.Choice{ToolCalls: []model.ToolCall{weather, {ID: "call_b", Name: "time"}}, FinishReason: model.ToolCalls},
		Usage:  modeltest.DefaultUsage, Metadata: map[string]string{},
	})
}

func TestContentIsEmptyWhereTheAllowanceWasUsedUpBefore(t *testing.T) {
	e := newEnv(t, modeltest.Text().WithFinish(model.Length))
	equal(t, e.complete(ask("Hi")), &chat.Completion{
		ID: "chatcmpl_01", Created: now.Unix(), Model: model.DefaultGenerator,
		Choice: chat.Choice{Content: ptr(""), FinishReason: model.Length}, Usage: modeltest.DefaultUsage, Metadata: map[string]string{},
	})
	equal(t, e.uses(e.caller), []accounts.Use{generated("chatcmpl_01")}) // and is billed
}

func TestChunks(t *testing.T) {
	e := newEnv(t, modeltest.Events(
		model.Started{},
		model.TextDelta{Text: "One "}, model.Usage{InputTokens: 11}, model.TextDelta{Text: "moment."},
		model.ToolCallStart{ID: "call_a", Name: "weather"}, model.ToolCallDelta{Arguments: `{"x"`}, model.ToolCallDelta{Arguments: `:1}`},
		model.ToolCallStart{ID: "call_b", Name: "time"}, model.ToolCallDelta{Arguments: `{}`},
		modeltest.DefaultUsage, model.Finish{Reason: model.ToolCalls},
	))
	want := []chat.Chunk{
		{First: true},
		{Text: "One "},
		{Text: "moment."},
		{ToolCall: &chat.CallDelta{Index: 0, ID: "call_a", Name: "weather"}},
		{ToolCall: &chat.CallDelta{Index: 0, Arguments: `{"x"`}},
		{ToolCall: &chat.CallDelta{Index: 0, Arguments: `:1}`}},
		{ToolCall: &chat.CallDelta{Index: 1, ID: "call_b", Name: "time"}},
		{ToolCall: &chat.CallDelta{Index: 1, Arguments: `{}`}},
		{FinishReason: model.ToolCalls, Usage: modeltest.DefaultUsage},
	}
	for i := range want {
		want[i].ID, want[i].Created, want[i].Model = "chatcmpl_01", now.Unix(), model.DefaultGenerator
	}
	equal(t, e.stream(ask("Hi")), want)
}

func TestTheFirstChunkIsMarkedWhateverItHas(t *testing.T) {
	for _, answer := range []modeltest.Answer{
		modeltest.Text("x"), modeltest.Calls(weather), modeltest.Text(), modeltest.Events(model.Started{}, modeltest.DefaultUsage, model.Finish{Reason: model.Stop}),
	} {
		e := newEnv(t, answer)
		for i, c := range e.stream(ask("Hi")) {
			equal(t, c.First, i == 0)
		}
	}
}

// folded puts the chunks of a stream together.
func folded(chunks []chat.Chunk) *chat.Completion {
	var text strings.Builder
	last := chunks[len(chunks)-1]
	c := &chat.Completion{
		ID: last.ID, Created: last.Created, Model: last.Model,
		Choice: chat.Choice{FinishReason: last.FinishReason}, Usage: last.Usage, Metadata: map[string]string{},
	}
	for _, chunk := range chunks {
		text.WriteString(chunk.Text)
		if d := chunk.ToolCall; d != nil {
			if d.Index == len(c.ToolCalls) {
				c.ToolCalls = append(c.ToolCalls, model.ToolCall{ID: d.ID, Name: d.Name})
			}
			c.ToolCalls[d.Index].Arguments += d.Arguments
		}
	}
	if text.Len() > 0 || c.ToolCalls == nil {
		c.Content = ptr(text.String())
	}
	return c
}

func TestTheChunksPutTogetherAreTheCompletion(t *testing.T) {
	text := model.TextDelta{Text: "a"}
	for name, answer := range map[string]modeltest.Answer{
		"text":          modeltest.Text("Hel", "lo"),
		"nothing":       modeltest.Text(),
		"cut":           modeltest.Text("Hel").WithFinish(model.Length),
		"calls":         modeltest.Calls(weather, model.ToolCall{ID: "call_b", Name: "time"}),
		"text and call": modeltest.Events(text, model.ToolCallStart{ID: "1", Name: "f"}, text, modeltest.DefaultUsage, model.Finish{Reason: model.ToolCalls}),
	} {
		t.Run(name, func(t *testing.T) {
			equal(t, folded(newEnv(t, answer).stream(ask("Hi"))), newEnv(t, answer).complete(ask("Hi")))
		})
	}
}

func TestTheModelGetsWhatWasAsked(t *testing.T) {
	e := newEnv(t, modeltest.Text(`{"n":1}`))
	format := model.Format{Type: model.FormatSchema, Name: "answer", Description: "d", Schema: json.RawMessage(`{"type":"object"}`), Strict: true}
	tools := []model.Tool{{Name: "weather", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`), Strict: true}, {Name: "time"}}
	e.complete(&chat.Request{
		Model: model.DefaultGenerator,
		Messages: []chat.Message{
			message(model.System, "s"), message(chat.Developer, "d"),
			{Role: model.User, Content: []chat.Part{chat.Text("u"), chat.File{Name: "a.md", MIMEType: "text/markdown", Data: []byte("\xef\xbb\xbf# A")}}},
			calling(weather), result("call_a", "rain"), message(model.Assistant, "It rains."), user("And now?"),
		},
		Temperature: ptr(0.0), TopP: ptr(1.0), MaxTokens: ptr(5), Stop: []string{"x", "y"}, ReasoningEffort: "none",
		Format: format, Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolNamed, Name: "time"}, ParallelToolCalls: ptr(false),
		Metadata: map[string]string{"never": "shown"},
	})
	equal(t, e.script.Requests(), []*model.Request{{
		Model: model.DefaultGenerator, Tenant: e.caller.Organization, Whole: true,
		Messages: []model.Message{
			model.TextMessage(model.System, "s"), model.TextMessage(model.System, "d"),
			{Role: model.User, Parts: []model.Part{model.Text("u"), model.Document{Name: "a.md", Text: "# A"}}},
			{Role: model.Assistant, Parts: []model.Part{}, ToolCalls: []model.ToolCall{weather}},
			{Role: model.ToolRole, Parts: []model.Part{model.Text("rain")}, ToolCallID: "call_a"},
			model.TextMessage(model.Assistant, "It rains."), model.TextMessage(model.User, "And now?"),
		},
		Temperature: ptr(0.0), TopP: ptr(1.0), MaxTokens: 5, Stop: []string{"x", "y"}, ReasoningEffort: "none",
		Format: format, Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolNamed, Name: "time"}, SingleToolCall: true,
	}})
}

func TestStructuredAnswersSatisfyTheirSchema(t *testing.T) {
	e := newEnv(t, modeltest.Text(`{"n":"one"}`), modeltest.Text(` {"n":1} `))
	req := ask("Hi")
	req.Format = model.Format{Type: model.FormatSchema, Name: "answer", Schema: json.RawMessage(`{"properties":{"n":{"type":"integer"}}}`)}
	c := e.complete(req)
	equal(t, *c.Content, `{"n":1}`)
	equal(t, c.Usage, model.Usage{InputTokens: 22, OutputTokens: 14}) // both attempts are billed
}

func TestBillingCountsCachedAndReasoningTokens(t *testing.T) {
	u := model.Usage{InputTokens: 100, CachedTokens: 40, OutputTokens: 50, ReasoningTokens: 30}
	e := newEnv(t, modeltest.Text("x").WithUsage(u))
	e.complete(ask("Hi"))
	equal(t, e.uses(e.caller), []accounts.Use{{
		Endpoint: "chat.completions", Model: model.DefaultGenerator, Object: "chatcmpl_01", Kind: accounts.Generation,
		InputTokens: 100, CachedTokens: 40, OutputTokens: 50, ReasoningTokens: 30,
	}})
	balance, err := e.accounts.Balance(t.Context(), e.caller.Organization)
	e.ok(err)
	equal(t, balance, accounts.Dollar-54) // 60 × 0.2 + 40 × 0.05 + 50 × 0.8
}

func TestTheCompletionIsStoredAndChargedBeforeTheLastChunk(t *testing.T) {
	e := newEnv(t, modeltest.Text("Hel", "lo"))
	chunks, err := e.Stream(t.Context(), e.caller, ask("Hi"))
	e.ok(err)
	for c, err := range chunks {
		e.ok(err)
		if c.FinishReason == "" {
			equal(t, e.kept(e.caller), nil)
			equal(t, e.uses(e.caller), nil)
			continue
		}
		equal(t, e.script.UnderWay(), 0) // no transaction while the model runs
		equal(t, e.kept(e.caller), []string{"c/m/chatcmpl_01", "c/o/chatcmpl_01"})
		equal(t, e.uses(e.caller), []accounts.Use{generated("chatcmpl_01")})
	}
}

func TestAFailedCompletionCostsWhatTheModelReported(t *testing.T) {
	failure := &fault.Error{Kind: fault.Upstream, Code: fault.CodeUpstream, Message: "The model failed."}
	estimated := generated("")
	estimated.InputTokens, estimated.OutputTokens = 1, 1
	for name, c := range map[string]struct {
		answer modeltest.Answer
		want   []accounts.Use
	}{
		"usage reported": {modeltest.Fail(failure, model.TextDelta{Text: "x"}, modeltest.DefaultUsage), []accounts.Use{generated("")}},
		"no usage":       {modeltest.Fail(failure, model.TextDelta{Text: "x"}), []accounts.Use{estimated}},
		"refused":        {modeltest.Fail(failure), nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, c.answer)
			got, err := e.Complete(t.Context(), e.caller, ask("Hi"))
			equal(t, got, nil)
			equal(t, err, error(failure))
			equal(t, e.uses(e.caller), c.want)
			equal(t, e.kept(e.caller), nil)
		})
	}
}

func TestAnAnswerWithoutAFinishFails(t *testing.T) {
	e := newEnv(t, modeltest.Events(model.TextDelta{Text: "x"}))
	_, err := e.Complete(t.Context(), e.caller, ask("Hi"))
	equal(t, err, error(fault.Upstreamf(errors.New("the answer has no finish"), "The model's answer broke off.")))
	equal(t, e.kept(e.caller), nil)
}

func TestCancellationStopsTheModelAndChargesWhatItReported(t *testing.T) {
	e := newEnv(t, modeltest.Block(modeltest.DefaultUsage, model.TextDelta{Text: "x"}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	chunks, err := e.Stream(ctx, e.caller, ask("Hi"))
	e.ok(err)
	var failure error
	for c, err := range chunks {
		if c.Text == "x" {
			cancel()
		}
		failure = err
	}
	equal(t, failure, context.Canceled)
	equal(t, e.script.UnderWay(), 0)
	equal(t, e.uses(e.caller), []accounts.Use{generated("")})
	equal(t, e.kept(e.caller), nil)
}

func TestAConsumerThatStopsStopsTheModelAndPaysWhatItReported(t *testing.T) {
	e := newEnv(t, modeltest.Events(modeltest.DefaultUsage, model.TextDelta{Text: "x"}, model.TextDelta{Text: "y"}))
	chunks, err := e.Stream(t.Context(), e.caller, ask("Hi"))
	e.ok(err)
	for range chunks {
		break
	}
	equal(t, e.script.UnderWay(), 0)
	equal(t, e.uses(e.caller), []accounts.Use{generated("")})
	equal(t, e.kept(e.caller), nil)
}

func TestAConsumerThatPanicsPaysWhatItSaw(t *testing.T) {
	e := newEnv(t, modeltest.Text("x", "y"))
	chunks, err := e.Stream(t.Context(), e.caller, ask("Hi"))
	e.ok(err)
	func() {
		defer func() { _ = recover() }()
		for range chunks {
			panic("consumer")
		}
	}()
	equal(t, len(e.uses(e.caller)), 1)
}

func TestAnAnswerThatEndedIsPaidThoughTheCallerLeft(t *testing.T) {
	e := newEnv(t, modeltest.Text("x"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	service, err := chat.New(chat.Options{
		Accounts: e.accounts, Backend: leaver{e.script, cancel}, Store: e.store, Documents: inline{},
		NewID: func(prefix string) string { return prefix + "_01" },
	})
	e.ok(err)
	_, err = service.Complete(ctx, e.caller, ask("Hi"))
	e.ok(err)
	equal(t, e.uses(e.caller), []accounts.Use{generated("chatcmpl_01")})
	equal(t, e.kept(e.caller), []string{"c/m/chatcmpl_01", "c/o/chatcmpl_01"})
}

func TestACompletionThatCannotBeStoredFailsBeforeItsLastChunk(t *testing.T) {
	e := newEnv(t, modeltest.Text("x"))
	chunks, err := e.Stream(t.Context(), e.caller, ask("Hi"))
	e.ok(err)
	var got []string
	var failure error
	for c, err := range chunks {
		e.store.broken = true
		got = append(got, c.Text+string(c.FinishReason))
		failure = err
	}
	equal(t, got, []string{"x", ""})
	equal(t, fault.From(failure).Kind, fault.Unavailable)
	equal(t, e.kept(e.caller), nil)
	equal(t, e.uses(e.caller), nil)
}

func TestAChargeThatFailsUnseenIsLogged(t *testing.T) {
	e := newEnv(t, modeltest.Events(modeltest.DefaultUsage, model.TextDelta{Text: "x"}))
	chunks, err := e.Stream(t.Context(), e.caller, ask("Hi"))
	e.ok(err)
	for range chunks {
		e.store.broken = true
		break
	}
	logged, _, _ := strings.Cut(e.log.String(), "\n")
	equal(t, logged, `level=ERROR msg="accounts: usage of a failed call was not charged" organization=org_01 `+
		`use="{Endpoint:chat.completions Model:svc-preview Object: Kind:0 InputTokens:11 CachedTokens:0 OutputTokens:7 ReasoningTokens:0}" `+
		`err="The service is busy. Try again.: storage: too many conflicting writes"`)
}

// leaver is a model whose caller leaves when it has finished.
type leaver struct {
	*modeltest.Script
	leave func()
}

func (l leaver) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		for event, err := range l.Script.Generate(ctx, req) {
			if _, ok := event.(model.Finish); ok {
				l.leave()
			}
			if !yield(event, err) {
				return
			}
		}
	}
}
