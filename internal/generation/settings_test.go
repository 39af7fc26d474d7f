package generation

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// flat are names as an interface has them whose functions are not nested.
var flat = Names{MaxTokens: "most", Effort: "how.hard", FormatType: "text.kind", Format: "text.format"}

func ptr[T any](v T) *T { return &v }

func TestErrorsNameTheInterfacesFields(t *testing.T) {
	const name = " must be 1 to 64 letters, digits, underscores or hyphens."
	for _, c := range []struct {
		settings       Settings
		param, message string
	}{
		{Settings{Temperature: ptr(2.5)}, "temperature", "temperature must be between 0 and 2."},
		{Settings{TopP: ptr(-0.5)}, "top_p", "top_p must be between 0 and 1."},
		{Settings{MaxTokens: ptr(0)}, "most", "most must be at least 1."},
		{Settings{Tools: make([]model.Tool, MaxOffered+1)}, "tools", "tools must have at most 1024 functions."},
		{Settings{Tools: []model.Tool{{Name: "a b"}}}, "tools[0].name", "tools[0].name" + name},
		{Settings{Tools: []model.Tool{{Name: "a"}, {Name: "a"}}}, "tools[1].name", `tools[1].name is "a", which another tool is called, too.`},
		{Settings{Tools: []model.Tool{{Name: "a", Parameters: json.RawMessage(`1`)}}}, "tools[0].parameters", "tools[0].parameters must be a JSON Schema object."},
		{Settings{ToolChoice: model.ToolChoice{Mode: "any"}}, "tool_choice", "tool_choice must be auto, required, none, or a function."},
		{Settings{ToolChoice: model.ToolChoice{Mode: model.ToolRequired}}, "tool_choice", "tool_choice is required, but there are no tools."},
		{Settings{ToolChoice: model.ToolChoice{Mode: model.ToolNamed, Name: "f"}}, "tool_choice", `tool_choice names the function "f", which is not among the tools.`},
		{Settings{Format: model.Format{Type: "xml"}}, "text.kind", "text.kind must be text, json_object or json_schema."},
		{Settings{Format: model.Format{Type: model.FormatSchema}}, "text.format.name", "text.format.name" + name},
		{Settings{Format: model.Format{Type: model.FormatSchema, Name: "n"}}, "text.format.schema", "text.format.schema is required."},
		{Settings{Format: model.Format{Type: model.FormatSchema, Name: "n", Schema: json.RawMessage(`[]`)}}, "text.format.schema", "text.format.schema must be a JSON Schema object."},
	} {
		_, err := c.settings.Check(flat)
		if want := fault.Invalidf(c.param, "%s", c.message); !reflect.DeepEqual(err, error(want)) {
			t.Errorf("\ngot  %v\nwant %v", err, want)
		}
	}
}

func TestCheckCompilesTheSchemaOfTheFormat(t *testing.T) {
	s := Settings{Format: model.Format{Type: model.FormatSchema, Name: strings.Repeat("n", 64), Schema: json.RawMessage(numberSchema)}}
	compiled, err := s.Check(flat)
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(t.Context(), `{"n":1}`); err != nil {
		t.Error(err)
	}
	if err := compiled.Validate(t.Context(), `{}`); err == nil {
		t.Error("{} satisfies a schema that requires n")
	}
	for _, kind := range []model.FormatType{"", model.FormatText, model.FormatObject} {
		s := Settings{Format: model.Format{Type: kind}}
		if compiled, err := s.Check(flat); compiled != nil || err != nil {
			t.Errorf("format %q: got %v, %v, want nil, nil", kind, compiled, err)
		}
	}
}

func TestCheckEffort(t *testing.T) {
	for _, c := range []struct {
		effort string
		takes  []string
		want   string // empty: accepted
	}{
		{"", []string{}, ""},
		{"max", nil, ""},
		{"low", []string{"none", "low"}, ""},
		{"high", []string{"none", "low"}, `how.hard must be one that the model "m" takes: none, low.`},
		{"extreme", nil, `how.hard must be one that the model "m" takes: none, minimal, low, medium, high, xhigh, max.`},
		{"low", []string{}, `The model "m" does not take a how.hard.`},
	} {
		s := Settings{ReasoningEffort: c.effort}
		var want error
		if c.want != "" {
			want = fault.Invalidf("how.hard", "%s", c.want)
		}
		if err := s.CheckEffort(flat, model.Info{ID: "m", ReasoningEfforts: c.takes}); !reflect.DeepEqual(err, want) {
			t.Errorf("\ngot  %v\nwant %v", err, want)
		}
	}
}

func TestRequestCarriesEverySetting(t *testing.T) {
	messages := []model.Message{model.TextMessage(model.User, "Hi")}
	tools := []model.Tool{{Name: "f"}}
	format := model.Format{Type: model.FormatObject}
	choice := model.ToolChoice{Mode: model.ToolNamed, Name: "f"}
	s := Settings{
		Model: "m", Temperature: ptr(1.5), TopP: ptr(0.5), MaxTokens: ptr(9), ReasoningEffort: "low",
		Format: format, Tools: tools, ToolChoice: choice, ParallelToolCalls: ptr(false),
	}
	want := &model.Request{
		Model: "m", Messages: messages, Temperature: ptr(1.5), TopP: ptr(0.5), MaxTokens: 9, ReasoningEffort: "low",
		Format: format, Tools: tools, ToolChoice: choice, SingleToolCall: true,
	}
	if got := s.Request(messages); !reflect.DeepEqual(got, want) {
		t.Errorf("\ngot  %+v\nwant %+v", got, want)
	}
	s = Settings{Model: "m", ParallelToolCalls: ptr(true)}
	if got, want := s.Request(messages), (&model.Request{Model: "m", Messages: messages}); !reflect.DeepEqual(got, want) {
		t.Errorf("\ngot  %+v\nwant %+v", got, want)
	}
}
