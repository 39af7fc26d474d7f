package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"sync"
	"testing"

	"github.com/seed-506d8e5d/svc/model"
)

// question is asked where any answer will do.
const question = "Name the first ten whole numbers, one sentence for each."

// generateRules hold for every backend.
var generateRules = []rule{
	{name: "an answer is events, a usage and one finish", check: func(t *testing.T, s subject) {
		s.ask(t, s.request(question))
	}},
	{name: "a message of any role is taken", check: func(t *testing.T, s subject) {
		s.ask(t, everyRole(s))
	}},
	{name: "the request is not changed", check: func(t *testing.T, s subject) {
		req := everyRole(s)
		want := cloneRequest(req)
		s.ask(t, req)
		if !reflect.DeepEqual(req, want) {
			t.Errorf("got  %+v\nwant %+v", req, want)
		}
	}},
	{name: "a request may be used again", check: func(t *testing.T, s subject) {
		req := s.request(question)
		s.ask(t, req)
		s.ask(t, req)
	}},
	{name: "a sequence is single use", check: checkSingleUse},
	{name: "the consumer may stop at any event", check: checkEarlyStop},
	{name: "a context that has ended yields its error alone", check: checkEndedContext},
	{name: "a context that ends meanwhile ends the answer with its error", check: checkCancel},
	{name: "an answer that its context ends says what it has used, which is no more than the whole uses", check: checkCutUsage},
	{name: "requests may run at the same time", check: func(t *testing.T, s subject) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := s.tryAsk(t.Context(), t, s.request(question)); err != nil {
					t.Errorf("Generate: %v", err)
				}
			})
		}
		wg.Wait()
	}},
}

// everyRole returns a request with each role, kind of part and option.
func everyRole(s subject) *model.Request {
	temperature, topP := 0.5, 0.9
	return &model.Request{
		Model: s.generator,
		Messages: []model.Message{
			model.TextMessage(model.System, "Answer in one sentence."),
			{Role: model.User, Parts: []model.Part{
				model.Text("What is the weather in Oslo? The file says which unit to use."),
				model.Document{Name: "units.txt", Text: "Temperatures are in degrees Celsius."},
			}},
			{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "call_1", Name: "get_weather", Arguments: `{"city":"Oslo"}`}}},
			{Role: model.ToolRole, ToolCallID: "call_1", Parts: []model.Part{model.Text(`{"temperature":4}`)}},
			model.TextMessage(model.Assistant, "It is 4 degrees Celsius in Oslo."),
			model.TextMessage(model.User, "Thank you. Which unit was that?"),
		},
		Tools:       []model.Tool{weatherTool},
		ToolChoice:  model.ToolChoice{Mode: model.ToolNone},
		Temperature: &temperature,
		TopP:        &topP,
		Stop:        []string{"\n\n\n"},
	}
}

var weatherTool = model.Tool{
	Name:        "get_weather",
	Description: "Get the current weather in a city.",
	Parameters:  json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`),
}

func checkSingleUse(t *testing.T, s subject) {
	seq := s.Generate(t.Context(), s.request(question))
	for _, err := range seq {
		if err != nil {
			t.Fatalf("Generate: %v", err)
		}
	}
	pairs := 0
	for event, err := range seq {
		pairs++
		if err == nil {
			t.Errorf("the second use yields %#v without an error", event)
		}
	}
	if pairs != 1 {
		t.Errorf("the second use yields %d pairs, want one error", pairs)
	}
}

func checkEarlyStop(t *testing.T, s subject) {
	const most = 8
	total := len(s.ask(t, s.request(question)).events)
	for stop := range min(total, most) {
		seen := 0
		for _, err := range s.Generate(t.Context(), s.request(question)) {
			if err != nil {
				t.Fatalf("Generate: %v", err)
			}
			if seen == stop {
				break // the runtime panics if the sequence yields again
			}
			seen++
		}
	}
}

func checkEndedContext(t *testing.T, s subject) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if a, err := s.tryAsk(ctx, t, s.request(question)); !errors.Is(err, context.Canceled) || len(a.events) > 0 {
		t.Errorf("cancelled: got %v, %v", a.events, err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), -1)
	defer cancel()
	if a, err := s.tryAsk(ctx, t, s.request(question)); !errors.Is(err, context.DeadlineExceeded) || len(a.events) > 0 {
		t.Errorf("past the deadline: got %v, %v", a.events, err)
	}
}

func checkCancel(t *testing.T, s subject) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range s.Generate(ctx, s.request(question)) {
		if last != nil {
			t.Errorf("something follows the error %v", last)
		}
		last = err
		cancel()
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("the answer ends with %v, want the context's error", last)
	}
}

func checkCutUsage(t *testing.T, s subject) {
	const most = 8
	whole := s.ask(t, s.request(question))
	for stop := range min(len(whole.events), most) {
		if _, counted := whole.events[stop].(model.Usage); counted {
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var used model.Usage
		seen, generated := 0, false
		for event := range s.Generate(ctx, s.request(question)) {
			switch e := event.(type) {
			case model.TextDelta, model.ToolCallStart:
				generated = true
			case model.Usage:
				used = e
			}
			if seen == stop {
				cancel()
			}
			seen++
		}
		if used.InputTokens <= 0 || generated && used.OutputTokens <= 0 {
			t.Errorf("ended at event %d the answer has used %+v", stop, used)
		}
		if used.InputTokens > whole.usage.InputTokens || used.OutputTokens > whole.usage.OutputTokens {
			t.Errorf("ended at event %d the answer has used %+v, the whole %+v", stop, used, whole.usage)
		}
	}
}
