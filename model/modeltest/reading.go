package modeltest

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/model"
)

// readingRules hold for backends that follow their requests.
var readingRules = []rule{
	{name: "an answer counts its prompt and itself", reads: true, check: func(t *testing.T, s subject) {
		a := s.ask(t, s.request(question))
		if a.usage.InputTokens <= 0 || a.usage.OutputTokens <= 0 {
			t.Errorf("got %+v, want tokens in and out", a.usage)
		}
	}},
	{name: "tool choice required calls a tool", reads: true, check: func(t *testing.T, s subject) {
		req := toolRequest(s, model.ToolChoice{Mode: model.ToolRequired})
		if a := s.ask(t, req); len(a.calls) == 0 {
			t.Errorf("the answer has no call: %q", a.text)
		}
	}},
	{name: "tool choice named calls that tool", reads: true, check: func(t *testing.T, s subject) {
		for _, tool := range tools {
			a := s.ask(t, toolRequest(s, model.ToolChoice{Mode: model.ToolNamed, Name: tool.Name}))
			if len(a.calls) == 0 || a.calls[0].Name != tool.Name {
				t.Errorf("named %s: got the calls %v", tool.Name, a.calls)
			}
		}
	}},
	{name: "tool choice none calls no tool", reads: true, check: func(t *testing.T, s subject) {
		a := s.ask(t, toolRequest(s, model.ToolChoice{Mode: model.ToolNone}))
		if len(a.calls) != 0 || a.text == "" {
			t.Errorf("got the calls %v and the text %q", a.calls, a.text)
		}
	}},
	{name: "a single tool call is at most one", reads: true, check: func(t *testing.T, s subject) {
		req := toolRequest(s, model.ToolChoice{Mode: model.ToolRequired})
		req.SingleToolCall = true
		if a := s.ask(t, req); len(a.calls) != 1 {
			t.Errorf("got the calls %v", a.calls)
		}
	}},
	{name: "the object format is a JSON object", reads: true, check: func(t *testing.T, s subject) {
		req := s.request("Give the name and the age of Ada, who is 36, as JSON.")
		req.Format = model.Format{Type: model.FormatObject}
		a := s.ask(t, req)
		var object map[string]any
		if err := json.Unmarshal([]byte(a.text), &object); err != nil || object == nil {
			t.Errorf("%q is no JSON object: %v", a.text, err)
		}
	}},
	{name: "the schema format satisfies the schema", reads: true, check: checkSchema},
	{name: "the token limit ends an answer with length", reads: true, check: func(t *testing.T, s subject) {
		req := s.request(question)
		req.MaxTokens = 1
		a := s.ask(t, req)
		if a.reason != model.Length || a.usage.OutputTokens > req.MaxTokens {
			t.Errorf("got %q after %d tokens", a.reason, a.usage.OutputTokens)
		}
	}},
	{name: "a stop sequence ends an answer and is not part of it", reads: true, check: checkStop},
}

var tools = []model.Tool{weatherTool, {
	Name:        "set_alarm",
	Description: "Set an alarm clock to a time of day.",
	Parameters:  json.RawMessage(`{"type":"object","properties":{"time":{"type":"string"}},"required":["time"],"additionalProperties":false}`),
}}

func toolRequest(s subject, choice model.ToolChoice) *model.Request {
	req := s.request("What is the weather in Paris? And set an alarm for 7:30.")
	req.Tools = tools
	req.ToolChoice = choice
	return req
}

func checkSchema(t *testing.T, s subject) {
	req := s.request("Ada is 36 years old.")
	req.Format = model.Format{
		Type:   model.FormatSchema,
		Name:   "person",
		Strict: true,
		Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},
			"required":["name","age"],"additionalProperties":false}`),
	}
	a := s.ask(t, req)
	var person struct {
		Name *string `json:"name"`
		Age  *int    `json:"age"`
	}
	d := json.NewDecoder(bytes.NewReader([]byte(a.text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&person); err != nil || person.Name == nil || person.Age == nil {
		t.Errorf("%q does not satisfy the schema: %v", a.text, err)
	}
}

func checkStop(t *testing.T, s subject) {
	words := strings.Fields(s.ask(t, s.request(question)).text)
	if len(words) == 0 {
		t.Fatal("the answer has no text")
	}
	req := s.request(question)
	req.Stop = []string{words[len(words)/2]}
	a := s.ask(t, req)
	if strings.Contains(a.text, req.Stop[0]) {
		t.Errorf("%q contains the stop sequence %q", a.text, req.Stop[0])
	}
}
