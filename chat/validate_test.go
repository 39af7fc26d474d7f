package chat_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

func tools(n int) []model.Tool {
	var list []model.Tool
	for i := range n {
		list = append(list, model.Tool{Name: fmt.Sprintf("f%d", i)})
	}
	return list
}

func calls(n int) []model.ToolCall {
	var list []model.ToolCall
	for i := range n {
		list = append(list, model.ToolCall{ID: fmt.Sprint(i), Name: "f"})
	}
	return list
}

func schemaFormat(name, schema string) model.Format {
	return model.Format{Type: model.FormatSchema, Name: name, Schema: json.RawMessage(schema)}
}

func textFile(n int) chat.File {
	return chat.File{Name: "a.txt", Data: []byte(strings.Repeat("x", n))}
}

func part(p chat.Part) func(*chat.Request) {
	return func(r *chat.Request) { r.Messages[0].Content = []chat.Part{p} }
}

func messages(list ...chat.Message) func(*chat.Request) {
	return func(r *chat.Request) { r.Messages = list }
}

func TestInvalidRequests(t *testing.T) {
	const name = "must be 1 to 64 letters, digits, underscores or hyphens."
	for _, c := range []struct {
		rule, param, message string
		change               func(*chat.Request)
	}{
		{"model is required", "model", "model is required.", func(r *chat.Request) { r.Model = "" }},
		{"temperature is at least 0", "temperature", "temperature must be between 0 and 2.", func(r *chat.Request) { r.Temperature = ptr(-0.1) }},
		{"temperature is at most 2", "temperature", "temperature must be between 0 and 2.", func(r *chat.Request) { r.Temperature = ptr(2.1) }},
		{"temperature is a number", "temperature", "temperature must be between 0 and 2.", func(r *chat.Request) { r.Temperature = ptr(math.NaN()) }},
		{"top_p is at least 0", "top_p", "top_p must be between 0 and 1.", func(r *chat.Request) { r.TopP = ptr(-0.1) }},
		{"top_p is at most 1", "top_p", "top_p must be between 0 and 1.", func(r *chat.Request) { r.TopP = ptr(1.1) }},
		{"max_tokens is at least 1", "max_tokens", "max_tokens must be at least 1.", func(r *chat.Request) { r.MaxTokens = ptr(0) }},
		{"stop has few sequences", "stop", "stop must have at most 16 sequences.", func(r *chat.Request) { r.Stop = strings.Split(strings.Repeat("x,", 16)+"x", ",") }},
		{"stop sequences are not empty", "stop", "A stop sequence must not be empty.", func(r *chat.Request) { r.Stop = []string{"a", ""} }},
		{"an effort is known", "reasoning_effort", `reasoning_effort must be one that the model "svc-preview" takes: none, minimal, low, medium, high, xhigh, max.`,
			func(r *chat.Request) { r.ReasoningEffort = "extreme" }},
		{"metadata has few keys", "metadata", "metadata must have at most 16 keys; it has 17.", func(r *chat.Request) {
			r.Metadata = map[string]string{}
			for i := range 17 {
				r.Metadata[fmt.Sprint(i)] = ""
			}
		}},

		{"a format is known", "response_format.type", "response_format.type must be text, json_object or json_schema.",
			func(r *chat.Request) { r.Format.Type = "xml" }},
		{"a schema has a name", "response_format.json_schema.name", "response_format.json_schema.name " + name,
			func(r *chat.Request) { r.Format = schemaFormat("", `{}`) }},
		{"a schema's name has a pattern", "response_format.json_schema.name", "response_format.json_schema.name " + name,
			func(r *chat.Request) { r.Format = schemaFormat("a b", `{}`) }},
		{"a schema is required", "response_format.json_schema.schema", "response_format.json_schema.schema is required.",
			func(r *chat.Request) { r.Format = model.Format{Type: model.FormatSchema, Name: "n"} }},
		{"a schema compiles", "response_format.json_schema.schema", "response_format.json_schema.schema is not a valid JSON Schema: at /minimum: got string, want number.",
			func(r *chat.Request) { r.Format = schemaFormat("n", `{"minimum":"1"}`) }},

		{"tools are few", "tools", "tools must have at most 1024 functions.", func(r *chat.Request) { r.Tools = tools(1025) }},
		{"a function has a name", "tools[0].function.name", "tools[0].function.name " + name, func(r *chat.Request) { r.Tools = []model.Tool{{}} }},
		{"a function's name has a pattern", "tools[1].function.name", "tools[1].function.name " + name,
			func(r *chat.Request) { r.Tools = append(tools(1), model.Tool{Name: strings.Repeat("x", 65)}) }},
		{"functions' names are unique", "tools[2].function.name", `tools[2].function.name is "f0", which another tool is called, too.`,
			func(r *chat.Request) { r.Tools = append(tools(2), tools(1)...) }},
		{"parameters compile", "tools[0].function.parameters", "tools[0].function.parameters must be a JSON Schema object.",
			func(r *chat.Request) { r.Tools = []model.Tool{{Name: "f", Parameters: json.RawMessage(`[]`)}} }},
		{"a tool choice is known", "tool_choice", "tool_choice must be auto, required, none, or a function.",
			func(r *chat.Request) { r.ToolChoice.Mode = "any" }},
		{"a required call needs tools", "tool_choice", "tool_choice is required, but there are no tools.",
			func(r *chat.Request) { r.ToolChoice.Mode = model.ToolRequired }},
		{"a chosen function is among the tools", "tool_choice", `tool_choice names the function "f1", which is not among the tools.`,
			func(r *chat.Request) {
				r.Tools, r.ToolChoice = tools(1), model.ToolChoice{Mode: model.ToolNamed, Name: "f1"}
			}},

		{"there is a message", "messages", "messages must have at least one message.", messages()},
		{"messages are bounded", "messages", "messages must have at most 10000 messages.", messages(slices.Repeat([]chat.Message{user("x")}, 10_001)...)},
		{"a role is required", "messages[1].role", "messages[1].role is required.", messages(user("a"), message("", "b"))},
		{"a role is known", "messages[0].role", `messages[0].role must be system, developer, user, assistant or tool, not "function".`, messages(message("function", "b"))},
		{"content is required", "messages[0].content", "messages[0].content is required.", messages(chat.Message{Role: model.User})},
		{"content is required without tool calls", "messages[0].content", "messages[0].content is required.", messages(calling())},
		{"parts are bounded", "messages[0].content", "messages[0].content must have at most 1000 parts.",
			func(r *chat.Request) { r.Messages[0].Content = slices.Repeat(r.Messages[0].Content, 1001) }},
		{"a part is something", "messages[0].content[0]", "messages[0].content[0] must be a text or file part.", part(nil)},
		{"a file part has a file", "messages[0].content[0]", "messages[0].content[0] needs a file_id or file_data.", part(chat.File{Name: "a.txt"})},
		{"a file part has one file", "messages[0].content[0]", "messages[0].content[0] has both a file_id and file_data; it must have one of them.",
			part(chat.File{ID: "file_1", Data: []byte{}})},
		{"an inline file is text", "messages[0].content[0]", "The file is not text in UTF-8, nor in UTF-16 with a byte order mark.",
			part(chat.File{Name: "a.txt", Data: []byte("\xff")})},

		{"calls stand in assistant messages", "messages[0].tool_calls", "messages[0].tool_calls may only stand in an assistant message.",
			messages(chat.Message{Role: model.User, ToolCalls: calls(1)})},
		{"a call ID stands in tool messages", "messages[0].tool_call_id", "messages[0].tool_call_id may only stand in a tool message.",
			messages(chat.Message{Role: model.User, Content: user("").Content, ToolCallID: "0"})},
		{"a tool message has a call ID", "messages[0].tool_call_id", "messages[0].tool_call_id is required in a tool message.", messages(message(model.ToolRole, "x"))},
		{"calls are bounded", "messages[0].tool_calls", "messages[0].tool_calls must have at most 128 elements.", messages(calling(calls(129)...))},
		{"a call has an ID", "messages[0].tool_calls[0].id", "messages[0].tool_calls[0].id is required.", messages(calling(model.ToolCall{Name: "f"}))},
		{"a call has a name", "messages[0].tool_calls[0].function.name", "messages[0].tool_calls[0].function.name is required.", messages(calling(model.ToolCall{ID: "0"}))},
		{"calls of a message have different IDs", "messages[0].tool_calls[1].id", `messages[0].tool_calls[1].id is "0", which another call of the message has, too.`,
			messages(calling(append(calls(1), calls(1)...)...))},
		{"a tool message answers a call", "messages[1].tool_call_id", `messages[1].tool_call_id is "0", which is no call of the assistant message before it.`,
			messages(user("x"), result("0", "x"))},
		{"a tool message answers a call that came before", "messages[1].tool_call_id", `messages[1].tool_call_id is "1", which is no call of the assistant message before it.`,
			messages(calling(calls(1)...), result("1", "x"), calling(calls(2)...))},
		{"a tool message answers the last calls", "messages[3].tool_call_id", `messages[3].tool_call_id is "0", which is no call of the assistant message before it.`,
			messages(calling(calls(1)...), result("0", "x"), user("x"), result("0", "x"))},
		{"a call is answered once", "messages[2].tool_call_id", `messages[2].tool_call_id is "0", a call that was answered before.`,
			messages(calling(calls(1)...), result("0", "x"), result("0", "x"))},
		{"every call is answered before the next message", "messages[0].tool_calls[1]", `messages[0].tool_calls[1] is the call "1", which no tool message directly after it answers.`,
			messages(calling(calls(2)...), result("0", "x"), user("x"), result("1", "x"))},
		{"every call is answered in the end", "messages[1].tool_calls[0]", `messages[1].tool_calls[0] is the call "0", which no tool message directly after it answers.`,
			messages(user("x"), calling(calls(1)...))},
	} {
		t.Run(c.rule, func(t *testing.T) {
			e := newEnv(t)
			req := ask("Hi")
			c.change(req)
			_, err := e.Complete(t.Context(), e.caller, req)
			equal(t, err, error(fault.Invalidf(c.param, "%s", c.message)))
			equal(t, e.script.Requests(), nil)
			equal(t, e.uses(e.caller), nil)
		})
	}
}

func TestBoundsAreInclusive(t *testing.T) {
	for rule, change := range map[string]func(*chat.Request){
		"temperature 0":      func(r *chat.Request) { r.Temperature = ptr(0.0) },
		"temperature 2":      func(r *chat.Request) { r.Temperature = ptr(2.0) },
		"top_p 0":            func(r *chat.Request) { r.TopP = ptr(0.0) },
		"top_p 1":            func(r *chat.Request) { r.TopP = ptr(1.0) },
		"max_tokens 1":       func(r *chat.Request) { r.MaxTokens = ptr(1) },
		"16 stop sequences":  func(r *chat.Request) { r.Stop = slices.Repeat([]string{"x"}, 16) },
		"128 tools":          func(r *chat.Request) { r.Tools = tools(128) },
		"1000 parts":         func(r *chat.Request) { r.Messages[0].Content = slices.Repeat(r.Messages[0].Content, 1000) },
		"empty content":      messages(user("")),
		"128 calls":          messages(append([]chat.Message{calling(calls(128)...)}, results(128)...)...),
		"calls out of order": messages(calling(calls(2)...), result("1", "x"), result("0", "x")),
		"call IDs again":     messages(calling(calls(1)...), result("0", "x"), calling(calls(1)...), result("0", "x")),
		"text and calls":     messages(chat.Message{Role: model.Assistant, Content: user("x").Content, ToolCalls: calls(1)}, result("0", "x")),
		"a last assistant":   messages(user("x"), message(model.Assistant, "So")),
		"only a system":      messages(message(model.System, "x")),
		"an empty file":      part(chat.File{Name: "a.txt", Data: []byte{}}),
		"tool_choice none":   func(r *chat.Request) { r.ToolChoice.Mode = model.ToolNone },
		"tool_choice auto":   func(r *chat.Request) { r.ToolChoice.Mode = model.ToolAuto },
		"a required call":    func(r *chat.Request) { r.Tools, r.ToolChoice.Mode = tools(1), model.ToolRequired },
		"format text":        func(r *chat.Request) { r.Format.Type = model.FormatText },
		"a long name":        func(r *chat.Request) { r.Format = schemaFormat(strings.Repeat("n", 64), `{}`) },
		"effort max":         func(r *chat.Request) { r.ReasoningEffort = "max" },
	} {
		t.Run(rule, func(t *testing.T) {
			e := newEnv(t, modeltest.Text(`{}`))
			req := ask("Hi")
			change(req)
			e.complete(req)
		})
	}
}

func results(n int) []chat.Message {
	var list []chat.Message
	for i := range n {
		list = append(list, result(fmt.Sprint(i), "x"))
	}
	return list
}

func TestAnEffortTheModelDoesNotTakeIsInvalid(t *testing.T) {
	for _, c := range []struct {
		efforts []string
		message string
	}{
		{[]string{"none", "high"}, `reasoning_effort must be one that the model "m" takes: none, high.`},
		{[]string{}, `The model "m" does not take a reasoning_effort.`},
	} {
		e := newEnvOver(t, &modeltest.Script{Infos: []model.Info{{ID: "m", Generates: true, ReasoningEfforts: c.efforts}}}, inline{})
		req := ask("Hi")
		req.Model, req.ReasoningEffort = "m", "low"
		_, err := e.Stream(t.Context(), e.caller, req)
		equal(t, err, error(fault.Invalidf("reasoning_effort", "%s", c.message)))
	}
}

func TestInlineDocumentsAreBounded(t *testing.T) {
	e := newEnv(t)
	req := ask("Hi")
	req.Messages = []chat.Message{{Role: model.User, Content: []chat.Part{textFile(chat.MaxInlineBytes / 2), textFile(chat.MaxInlineBytes/2 + 1)}}}
	_, err := e.Complete(t.Context(), e.caller, req)
	equal(t, err, error(&fault.Error{Kind: fault.TooLarge, Code: "request_too_large", Param: "messages",
		Message: "Inline documents must have at most 10485760 bytes together; send larger ones by file_id."}))
}

func TestWhatRefusesARequest(t *testing.T) {
	for _, c := range []struct {
		rule string
		want *fault.Error
		call func(e *env, req *chat.Request)
	}{
		{"the model exists", &fault.Error{Kind: fault.NotFound, Code: "model_not_found", Param: "model", Message: `No generation model found with id "gpt". Available: svc-preview.`},
			func(e *env, req *chat.Request) { req.Model = "gpt" }},
		{"the model generates", &fault.Error{Kind: fault.NotFound, Code: "model_not_found", Param: "model", Message: `No generation model found with id "svc-snap-preview". Available: svc-preview.`},
			func(e *env, req *chat.Request) { req.Model = model.DefaultDecider }},
		{"models of other keys are not named", &fault.Error{Kind: fault.NotFound, Code: "model_not_found", Param: "model", Message: `No generation model found with id "gpt". There is none that this key may use.`},
			func(e *env, req *chat.Request) { req.Model, e.caller.Models = "gpt", []string{"other"} }},
		{"the key may use the model", &fault.Error{Kind: fault.Denied, Code: "model_access_denied", Param: "model", Message: `This API key may not use the model "svc-preview".`},
			func(e *env, req *chat.Request) { e.caller.Models = []string{"other"} }},
		{"there are credits", &fault.Error{Kind: fault.NoCredits, Code: "insufficient_credits", Message: "The organization has no credits left."},
			func(e *env, req *chat.Request) { e.caller = e.organization(accounts.NewOrganization{Name: "poor"}) }},
		{"a file exists", &fault.Error{Kind: fault.NotFound, Code: "file_not_found", Param: "messages[0].content[1]", Message: `No file found with id "file_1".`},
			func(e *env, req *chat.Request) {
				req.Messages[0].Content = append(req.Messages[0].Content, chat.File{ID: "file_1"})
			}},
		{"an inline file has a supported type", &fault.Error{Kind: fault.Invalid, Code: "unsupported_file_type", Param: "messages[0].content[0]",
			Message: `Files of the type "image/png" are not supported; plain text, Markdown, CSV, TSV, JSON, JSONL, XML, PDF and Word documents are.`},
			func(e *env, req *chat.Request) { part(chat.File{MIMEType: "image/png", Data: []byte("x")})(req) }},
		{"prompt and max_tokens fit the window", &fault.Error{Kind: fault.Rejected, Code: "context_length_exceeded",
			Message: "The prompt has 9 tokens and asks for up to 393208 more, but the model's context window is 393216 tokens.",
			Err:     &model.OverWindow{Prompt: 9, Answer: model.DefaultContextWindow - 8, Window: model.DefaultContextWindow}},
			func(e *env, req *chat.Request) { req.MaxTokens = ptr(model.DefaultContextWindow - 8) }},
	} {
		t.Run(c.rule, func(t *testing.T) {
			e := newEnv(t)
			req := ask("Hi")
			c.call(e, req)
			chunks, err := e.Stream(t.Context(), e.caller, req)
			equal(t, chunks == nil, true)
			equal(t, err, error(c.want))
			equal(t, e.script.Requests(), nil)
			equal(t, e.uses(e.caller), nil)
		})
	}
}
