package builtin

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

func TestConformance(t *testing.T) {
	modeltest.Run(t, func(*testing.T) model.Backend { return New() }, modeltest.Options{})
}

// result is the whole answer to a request.
type result struct {
	Text   string
	Calls  []model.ToolCall
	Usage  model.Usage
	Reason model.FinishReason
}

func generate(t testing.TB, req *model.Request) result {
	t.Helper()
	r, err := tryGenerate(t.Context(), req)
	if err != nil {
		t.Fatalf("Generate: %v", err)
	}
	return r
}

func tryGenerate(ctx context.Context, req *model.Request) (result, error) {
	var r result
	for event, err := range New().Generate(ctx, req) {
		if err != nil {
			return r, err
		}
		switch e := event.(type) {
		case model.TextDelta:
			r.Text += e.Text
		case model.ToolCallStart:
			r.Calls = append(r.Calls, model.ToolCall{ID: e.ID, Name: e.Name})
		case model.ToolCallDelta:
			r.Calls[len(r.Calls)-1].Arguments += e.Arguments
		case model.Usage:
			r.Usage = e
		case model.Finish:
			r.Reason = e.Reason
		}
	}
	return r, nil
}

func ask(messages ...model.Message) *model.Request {
	return &model.Request{Model: model.DefaultGenerator, Messages: messages}
}

func user(text string) model.Message { return model.TextMessage(model.User, text) }

func assistant(text string) model.Message { return model.TextMessage(model.Assistant, text) }

const refundPolicy = `Refund policy

Thank you for shopping with us. Items can be returned within 30 days of delivery.
To be eligible, an item must be unused and in its original packaging. Sale items
cannot be exchanged.

Refunds are paid to the original payment method within 5 business days.
Contact support@example.com for help with a return.`

func TestAnswersWithTheSentenceThatMatches(t *testing.T) {
	policy := func(question string) model.Message {
		return model.Message{Role: model.User, Parts: []model.Part{model.Document{Name: "policy.txt", Text: refundPolicy}, model.Text(question)}}
	}
	tests := []struct {
		name     string
		messages []model.Message
		want     string
	}{
		{"a document", []model.Message{policy("How many days do I have to return an item?")},
			"Items can be returned within 30 days of delivery."},
		{"another place in it", []model.Message{policy("What must an item be to be eligible?")},
			"To be eligible, an item must be unused and in its original packaging."},
		{"the conversation", []model.Message{user("My name is Ada."), assistant("Nice to meet you."), user("What is my name?")},
			"My name is Ada."},
		{"the message itself", []model.Message{user("I live in Oslo. I have a cat called Tom. What is my cat called?")},
			"I have a cat called Tom."},
		{"the system message", []model.Message{model.TextMessage(model.System, "The office opens at 9:00. Parking is free."), user("When does the office open?")},
			"The office opens at 9:00."},
		{"a summary", []model.Message{policy("Summarize the file.")},
			"Refund policy Thank you for shopping with us."},
		{"a number", []model.Message{user("Our delivery takes a while. The delivery takes 3 days. How long does the delivery take?")},
			"The delivery takes 3 days."},
		{"a file without a question", []model.Message{{Role: model.User, Parts: []model.Part{model.Document{Name: "a.txt", Text: "One. Two. Three."}}}},
			"One. Two."},
		{"nothing", []model.Message{user("Tell me a joke.")}, nothingFound},
		{"nothing again", []model.Message{user("Tell me a joke."), assistant(nothingFound), user("Tell me a joke.")}, nothingFound},
		{"no message", nil, nothingFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			is.New(t).Equal(generate(t, ask(tt.messages...)).Text, tt.want)
		})
	}
}

func TestUsageIsCounted(t *testing.T) {
	is := is.New(t)
	req := ask(user("My name is Ada."), user("What is my name?"))
	r := generate(t, req)
	input, err := New().CountTokens(t.Context(), req)
	is.NoErr(err)
	is.Equal(r.Usage, model.Usage{InputTokens: input, OutputTokens: 4}) // My| name| is| Ada.
	is.Equal(r.Reason, model.Stop)
}

func TestMaxTokensCuts(t *testing.T) {
	is := is.New(t)
	req := ask(user("My name is Ada."), user("What is my name?"))
	req.MaxTokens = 2
	r := generate(t, req)
	is.Equal(r.Text, "My name")
	is.Equal(r.Reason, model.Length)
	is.Equal(r.Usage.OutputTokens, 2)
	req.MaxTokens = 4
	is.Equal(generate(t, req).Reason, model.Stop)
}

func TestStopCuts(t *testing.T) {
	is := is.New(t)
	req := ask(user("My name is Ada."), user("What is my name?"))
	req.Stop = []string{" Ada", " is"}
	r := generate(t, req)
	is.Equal(r.Text, "My name")
	is.Equal(r.Reason, model.Stop)
}

func TestSamplingHasNoEffect(t *testing.T) {
	is := is.New(t)
	req := ask(user("My name is Ada."), user("What is my name?"))
	want := generate(t, req)
	temperature := 2.0
	req.Temperature, req.TopP, req.ReasoningEffort = &temperature, &temperature, "max"
	is.Equal(generate(t, req), want)
}

func TestPromptOverTheWindowIsRejected(t *testing.T) {
	is := is.New(t)
	_, err := tryGenerate(t.Context(), ask(user(strings.Repeat("a ", model.DefaultContextWindow))))
	is.True(fault.Is(err, fault.Rejected))
	is.Equal(fault.From(err).Code, fault.CodeContextLength)
}

func TestModels(t *testing.T) {
	is := is.New(t)
	is.Equal(model.Use(New()).List(), []model.Info{
		{ID: "svc-preview", OwnedBy: "built-in", Created: released, Generates: true, Embeds: true, ContextWindow: 393216},
		{ID: "svc-snap-preview", OwnedBy: "built-in", Created: released, Decides: true, ContextWindow: 393216},
	})
	_, ok := model.Use(New()).Find("other")
	is.True(!ok)
}

func tool(name, description, schema string) model.Tool {
	return model.Tool{Name: name, Description: description, Parameters: json.RawMessage(schema)}
}

var (
	weather = tool("get_weather", "Get the current weather in a city.",
		`{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string","enum":["celsius","fahrenheit"]}},"required":["city"],"additionalProperties":false}`)
	alarm = tool("set_alarm", "Set an alarm clock to a time of day.",
		`{"type":"object","properties":{"time":{"type":"string"}},"required":["time"],"additionalProperties":false}`)
	mail = tool("send_email", "Send an email to somebody.",
		`{"type":"object","properties":{"to_email":{"type":"string","format":"email"},"subject":{"type":"string"},"body":{"type":"string"}},"required":["to_email","body"]}`)
	flight = tool("book_flight", "Book a flight from one city to another.",
		`{"type":"object","properties":{"origin":{"type":"string"},"destination":{"type":"string"},"date":{"type":"string","format":"date"},"passengers":{"type":"integer","minimum":1}},
		"required":["origin","destination","date","passengers"]}`)
	calculator = tool("calculate", "Evaluate a mathematical expression.",
		`{"type":"object","properties":{"expression":{"type":"string"}},"required":["expression"]}`)
	web = model.Tool{Name: "web_search", Search: true, Parameters: json.RawMessage(`{"type":"object","properties":{"queries":{"type":"array"}}}`)}
)

func TestToolCalls(t *testing.T) {
	all := []model.Tool{weather, alarm, mail, flight, calculator}
	tests := []struct {
		name    string
		message string
		tools   []model.Tool
		choice  model.ToolChoice
		single  bool
		want    []model.ToolCall
	}{
		{name: "a tool that matches", message: "What's the weather in Paris?", tools: all,
			want: []model.ToolCall{{ID: "call_1", Name: "get_weather", Arguments: `{"city":"Paris"}`}}},
		{name: "a city in small letters", message: "how is the weather today in san francisco?", tools: all,
			want: []model.ToolCall{{ID: "call_1", Name: "get_weather", Arguments: `{"city":"san francisco"}`}}},
		{name: "an enum that is mentioned", message: "Weather in New York in fahrenheit please", tools: all,
			want: []model.ToolCall{{ID: "call_1", Name: "get_weather", Arguments: `{"city":"New York","unit":"fahrenheit"}`}}},
		{name: "none matches", message: "Tell me a joke", tools: all},
		{name: "none may be called", message: "What's the weather in Paris?", tools: all, choice: model.ToolChoice{Mode: model.ToolNone}},
		{name: "two match", message: "What is the weather in Rome? And set an alarm for 7:30.", tools: all,
			want: []model.ToolCall{
				{ID: "call_1", Name: "get_weather", Arguments: `{"city":"Rome"}`},
				{ID: "call_2", Name: "set_alarm", Arguments: `{"time":"7:30"}`},
			}},
		{name: "two match and one is allowed", message: "What is the weather in Rome? And set an alarm for 7:30.", tools: all, single: true,
			want: []model.ToolCall{{ID: "call_1", Name: "get_weather", Arguments: `{"city":"Rome"}`}}},
		{name: "one is named", message: "Tell me a joke", tools: all, choice: model.ToolChoice{Mode: model.ToolNamed, Name: "get_weather"},
			want: []model.ToolCall{{ID: "call_1", Name: "get_weather", Arguments: `{"city":"unknown"}`}}},
		{name: "one is required", message: "Wake me at 6 am", tools: []model.Tool{alarm}, choice: model.ToolChoice{Mode: model.ToolRequired},
			want: []model.ToolCall{{ID: "call_1", Name: "set_alarm", Arguments: `{"time":"6 am"}`}}},
		{name: "several fields", message: "Book a flight from Oslo to Rome on 2026-03-04 for 2 passengers.", tools: all,
			want: []model.ToolCall{{ID: "call_1", Name: "book_flight",
				Arguments: `{"date":"2026-03-04","destination":"Rome","origin":"Oslo","passengers":2}`}}},
		{name: "an email", message: `Send an email to ada@example.com saying "See you at noon".`, tools: all,
			want: []model.ToolCall{{ID: "call_1", Name: "send_email", Arguments: `{"body":"See you at noon","subject":"See you at noon","to_email":"ada@example.com"}`}}},
		{name: "an expression", message: "Calculate 12 * (3 + 4) for me", tools: all,
			want: []model.ToolCall{{ID: "call_1", Name: "calculate", Arguments: `{"expression":"12 * (3 + 4)"}`}}},
		{name: "a function without parameters", message: "Restart the server", tools: []model.Tool{{Name: "restart_server"}},
			want: []model.ToolCall{{ID: "call_1", Name: "restart_server", Arguments: `{}`}}},
		{name: "the web search", message: "Who won the cup in 2025?", tools: []model.Tool{weather, web},
			want: []model.ToolCall{{ID: "call_1", Name: "web_search", Arguments: `{"queries":["Who won the cup in 2025?"]}`}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			req := ask(user(tt.message))
			req.Tools, req.ToolChoice, req.SingleToolCall = tt.tools, tt.choice, tt.single
			r := generate(t, req)
			is.Equal(r.Calls, tt.want)
			is.Equal(r.Reason == model.ToolCalls, len(tt.want) > 0)
		})
	}
}

func TestAnswersFromOutputs(t *testing.T) {
	is := is.New(t)
	req := ask(user("What's the weather in Paris?"),
		model.Message{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "a", Name: "get_weather", Arguments: `{"city":"Paris"}`}}},
		model.Message{Role: model.ToolRole, ToolCallID: "a", Parts: []model.Part{model.Text(`{"temperature": 18}`)}})
	req.Tools = []model.Tool{weather}
	r := generate(t, req)
	is.Equal(r.Calls, nil)
	is.Equal(r.Text, `get_weather returned: {"temperature": 18}`)

	req.Messages = append(req.Messages, assistant(r.Text), user("And the weather in Rome?"))
	is.Equal(generate(t, req).Calls, []model.ToolCall{{ID: "call_2", Name: "get_weather", Arguments: `{"city":"Rome"}`}})

	req.ToolChoice.Mode = model.ToolRequired
	req.Messages = req.Messages[:3]
	is.Equal(len(generate(t, req).Calls), 1) // required holds with the output there, too
}

func TestAnswersFromSearchResults(t *testing.T) {
	results := "Cup final 2025\nThe cup of 2025 was won by Rovers after extra time. The match drew 40,000 people.\nTickets are sold out."
	for _, offered := range [][]model.Tool{{web}, nil} {
		is := is.New(t)
		req := ask(user("Who won the cup in 2025?"),
			model.Message{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "a", Name: "web_search", Arguments: `{"queries":["cup 2025"]}`}}},
			model.Message{Role: model.ToolRole, ToolCallID: "a", Parts: []model.Part{model.Text(results)}})
		req.Tools = offered
		r := generate(t, req)
		is.Equal(r.Calls, nil)
		is.Equal(r.Text, "The cup of 2025 was won by Rovers after extra time.")
	}
}

// TestTheFirstAnswerIsAnnounced has the program told once that a stand-in answers.
func TestTheFirstAnswerIsAnnounced(t *testing.T) {
	calls := 0
	b := &Backend{First: func() { calls++ }}
	for range 3 {
		if _, err := b.Score(t.Context(), decision("The door is open.", "Is the door open?", "yes", "no")); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Embed(t.Context(), &model.EmbedRequest{Texts: []string{"door"}}); err != nil {
			t.Fatal(err)
		}
		for range b.Generate(t.Context(), &model.Request{Messages: []model.Message{model.TextMessage(model.User, "Hello?")}}) {
		}
	}
	if calls != 1 {
		t.Errorf("announced %d times", calls)
	}
}
