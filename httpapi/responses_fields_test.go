package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/storage"
)

// plain is the body of a turn with further fields.
func plain(fields string) string { return say("Hi", fields) }

// input is the body of a turn with an input.
func input(input string) string { return `{"model":"svc-preview","input":` + input + `}` }

// message is the body of a turn with one user message of the content parts.
func message(parts string) string { return input(`[{"role":"user","content":[` + parts + `]}]`) }

func repeated(n int, item string) string {
	return strings.TrimSuffix(strings.Repeat(item+",", n), ",")
}

// tags returns n metadata tags.
func tags(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"k%d":"v"`, i)
	}
	return "{" + strings.Join(list, ",") + "}"
}

// TestInvalidTurns walks every field and bound of the request.
func TestInvalidTurns(t *testing.T) {
	a := newTurns(t)
	nul := strings.Repeat("x", 65)
	for _, c := range []struct{ body, param, message string }{
		{`{"model":"svc-preview"}`, "input", "input must be a string or an array."},
		{input(`null`), "input", "input must be a string or an array."},
		{input(`{}`), "input", "input must be a string or an array."},
		{input(`[]`), "input", "input must have at least one element."},
		{input(`[{"type":"reasoning"}]`), "input", "input must have at least one element."},
		{input(`["x"]`), "input[0]", "input[0] must be an object."},
		{input(`[` + repeated(5_001, `{}`) + `]`), "input", "input must have at most 5000 elements."},
		{input(`[{"type":"input_text"}]`), "input[0].text", "input[0].text is required."},
		{input(`[{"type":"output_text","text":"x"}]`), "input[0].type", `input[0].type is "output_text", which is not accepted as input.`},
		{input(`[{"type":"input_audio"}]`), "input[0].type", `input[0].type is "input_audio", which is not accepted as input.`},
		{input(`[{"type":1}]`), "input[0].type", `input[0].type must be a string.`},
		{input(`[{"content":"x"}]`), "input[0].role", "input[0].role is required."},
		{input(`[{"role":"tool","content":"x"}]`), "input[0].role", "input[0].role must be user, assistant, system or developer."},
		{input(`[{"role":"user"}]`), "input[0].content", "input[0].content must be a string or an array of parts."},
		{input(`[{"role":"user","content":{}}]`), "input[0].content", "input[0].content must be a string or an array of parts."},
		{input(`[{"role":"assistant","content":"x","phase":"thought"}]`), "input[0].phase", `input[0].phase must be "commentary" or "final_answer".`},
		{message(`{"type":"input_audio"}`), "input[0].content[0].type", `input[0].content[0].type is "input_audio", which is not accepted as content.`},
		{message(`{"text":"x"}`), "input[0].content[0].type", `input[0].content[0].type is required.`},
		{message(repeated(1001, `{"type":"input_text","text":"x"}`)), "input[0].content", "input[0].content must have at most 1000 elements."},
		{message(`{"type":"input_image","image_url":"x"}`), "input", "input has nothing new that a model can read: images, reasoning and what the history has already are left out."},
		{message(`{"type":"input_file"}`), "input[0].content[0].file_id", "input[0].content[0].file_id is required."},
		{message(`{"type":"input_file","file_id":""}`), "input[0].content[0].file_id", "input[0].content[0].file_id is required."},
		{message(`{"type":"input_file","file_data":"x"}`), "input[0].content[0].file_data", "input[0].content[0].file_data is not accepted: upload the file and send its file_id."},
		{message(`{"type":"input_file","file_id":"file_1","file_data":"x"}`), "input[0].content[0].file_data", "input[0].content[0].file_data is not accepted: upload the file and send its file_id."},
		{message(`{"type":"input_file","file_url":"x"}`), "input[0].content[0].file_url", "input[0].content[0].file_url is not accepted: upload the file and send its file_id."},
		{input(`[{"type":"input_file","filename":"x"}]`), "input[0].file_id", "input[0].file_id is required."},
		{input(`[{"role":"assistant","content":[{"type":"input_file","file_id":"file_1"}]}]`), "input[0].content[0].type", `input[0].content[0].type is "input_file", which is not accepted in messages of the assistant.`},
		{input(`[{"type":"function_call","name":"f","arguments":""}]`), "input[0].call_id", "input[0].call_id is required."},
		{input(`[{"type":"function_call","call_id":"x","arguments":""}]`), "input[0].name", "input[0].name is required."},
		{input(`[{"type":"function_call","call_id":"x","name":"f"}]`), "input[0].arguments", "input[0].arguments is required."},
		{input(`[{"type":"function_call","call_id":"x","name":"f","arguments":"{}"}]`), "input", `The function call with the call_id "x" has no output; send one for every call of the response that is continued from.`},
		{input(`[` + repeated(2, `{"type":"function_call","call_id":"x","name":"f","arguments":"{}"}`) + `]`), "input", `The call_id "x" stands for two function calls that wait for an output.`},
		{input(`[{"type":"function_call_output","output":"x"}]`), "input[0].call_id", "input[0].call_id is required."},
		{input(`[{"type":"function_call_output","call_id":"x"}]`), "input[0].output", "input[0].output is required."},
		{input(`[{"type":"function_call_output","call_id":"x","output":{}}]`), "input[0].output", "input[0].output must be a string."},
		{input(`[{"type":"function_call_output","call_id":"x","output":[{"type":"input_audio"}]}]`), "input[0].output[0].type", `input[0].output[0].type is "input_audio", which is not accepted as content.`},
		{input(`[{"type":"function_call_output","call_id":"x","output":[{"type":"input_file","file_data":"x"}]}]`), "input[0].output[0].file_data", "input[0].output[0].file_data is not accepted: upload the file and send its file_id."},
		{input(`[{"type":"custom_tool_call","call_id":"x","name":"f"}]`), "input[0].input", "input[0].input is required."},
		{input(`[{"type":"function_call_output","call_id":"x","output":"y"}]`), "input", `No function call is waiting for an output with the call_id "x": it is not one of the response that is continued from, or it has been answered.`},
		{input(`[{"type":"item_reference"}]`), "input[0].id", "input[0].id is required."},

		{`{"input":"Hi"}`, "model", "model is required."},
		{`{"model":1,"input":"Hi"}`, "model", "model must be a string."},
		{plain(`"instructions":[]`), "instructions", "instructions must be a string."},
		{plain(`"previous_response_id":""`), "previous_response_id", "previous_response_id must not be empty."},
		{plain(`"previous_response_id":1`), "previous_response_id", "previous_response_id must be a string."},
		{plain(`"conversation":""`), "conversation", "conversation must not be empty."},
		{plain(`"conversation":{}`), "conversation.id", "conversation.id is required."},
		{plain(`"conversation":{"id":""}`), "conversation.id", "conversation.id must not be empty."},
		{plain(`"conversation":"conv_x","previous_response_id":"resp_x"`), "previous_response_id", "previous_response_id and conversation cannot be used together."},
		{plain(`"tools":{}`), "tools", "tools must be an array."},
		{plain(`"tools":[{}]`), "tools[0].type", "tools[0].type is required."},
		{plain(`"tools":[{"type":"code_interpreter"}]`), "tools[0].type", `tools[0].type is "code_interpreter", which this service does not run: offer functions of your own instead.`},
		{plain(`"tools":[{"type":"code_interpreter"}]`), "tools[0].type", `tools[0].type is "code_interpreter", which this service does not run: offer functions of your own instead.`},
		{plain(`"tools":[{"type":"mcp"}]`), "tools[0].server_label", `tools[0].server_label is required.`},
		{plain(`"tools":[{"type":"mcp","server_label":"a b"}]`), "tools[0].server_label", `tools[0].server_label must be 1 to 64 letters, digits, underscores or hyphens.`},
		{plain(`"tools":[{"type":"mcp","server_label":"a","connector_id":"c"}]`), "tools[0].connector_id", `tools[0].connector_id is not supported: name the server with server_url or by the label that the operator has given it.`},
		{plain(`"tools":[{"type":"mcp","server_label":"a","allowed_tools":{"names":[]}}]`), "tools[0].allowed_tools.names", `tools[0].allowed_tools.names is not known: a filter has tool_names and read_only.`},
		{plain(`"tools":[{"type":"mcp","server_label":"a","require_approval":"sometimes"}]`), "tools[0].require_approval", `tools[0].require_approval must be "always", "never" or an object with filters.`},
		{plain(`"tools":[{"type":"mcp","server_label":"a","headers":{"a":1}}]`), "tools[0].headers.a", `tools[0].headers.a must be a string.`},
		{plain(`"tools":[{"type":"mcp","server_label":"a","server_url":"https://example.com"}]`), "tools", `tools has one of type mcp, but this server reaches no MCP servers: the operator names them with mcp_servers or mcp_hosts in the configuration.`},
		{plain(`"tools":[{"type":"telepathy"}]`), "tools[0].type", `tools[0].type must be "function", "custom", "namespace", "mcp" or "web_search_preview".`},
		{plain(`"tools":[{"type":"namespace"}]`), "tools[0].name", `tools[0].name is required.`},
		{plain(`"tools":[{"type":"namespace","name":"n","tools":[{"type":"web_search"}]}]`), "tools[0].tools[0].type", `tools[0].tools[0].type must be "function" or "custom".`},
		{plain(`"tools":[{"type":"namespace","name":"n","tools":[` + weatherTool + `,` + weatherTool + `]}]`), "tools[0].tools[1].name", `tools[0].tools[1].name is "weather", which another tool is called, too.`},
		{plain(`"tools":[{"type":"custom","name":"c","format":{"type":"xml"}}]`), "tools[0].format.type", `tools[0].format.type must be "text" or "grammar".`},
		{plain(`"tools":[{"type":"image_generation"}],"tool_choice":{"type":"image_generation"}`), "tool_choice.type", `tool_choice.type is "image_generation", which this service does not run: it cannot be demanded.`},
		{plain(`"tools":[{"type":"image_generation"}],"tool_choice":"required"`), "tool_choice", `tool_choice is required, but there are no tools.`},
		{plain(`"tools":[{"type":"function","function":{"name":"f"}}]`), "tools[0].name", "tools[0].name is required."},
		{plain(`"tools":[{"type":"function","name":"a b"}]`), "tools[0].name", "tools[0].name must be 1 to 64 letters, digits, underscores or hyphens."},
		{plain(`"tools":[{"type":"function","name":"f","parameters":[]}]`), "tools[0].parameters", "tools[0].parameters must be an object."},
		{plain(`"tools":[{"type":"function","name":"f","strict":"yes"}]`), "tools[0].strict", "tools[0].strict must be a boolean."},
		{plain(`"tools":[{"type":"function","name":"f"},{"type":"function","name":"f"}]`), "tools[1].name", `tools[1].name is "f", which another tool is called, too.`},
		{plain(`"tools":[{"type":"web_search_preview"},{"type":"function","name":"web_search"}]`), "tools[1].name", `tools[1].name is "web_search", which another tool is called, too.`},
		{plain(`"tools":[` + repeated(129, weatherTool) + `]`), "tools", "tools must have at most 128 elements."},
		{plain(`"tool_choice":"required"`), "tool_choice", "tool_choice is required, but there are no tools."},
		{plain(`"tool_choice":"some"`), "tool_choice", "tool_choice must be auto, required, none, or a function."},
		{plain(`"tool_choice":""`), "tool_choice", "tool_choice must not be empty."},
		{plain(`"tool_choice":{"type":"function"}`), "tool_choice.name", "tool_choice.name is required."},
		{plain(`"tool_choice":{"type":"function","name":"f"}`), "tool_choice", `tool_choice names the function "f", which is not among the tools.`},
		{plain(`"tool_choice":{"type":"mcp"}`), "tool_choice.server_label", `tool_choice.server_label is required.`},
		{plain(`"tool_choice":{"type":"mcp","server_label":"a"}`), "tool_choice", `tool_choice names the MCP server "a", which is not among the tools.`},
		{plain(`"tool_choice":{"type":"allowed_tools"}`), "tool_choice.mode", `tool_choice.mode is required.`},
		{plain(`"tool_choice":{"type":"allowed_tools","mode":"none"}`), "tool_choice.mode", `tool_choice.mode must be "auto" or "required".`},
		{plain(`"tools":[` + weatherTool + `],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]}`), "tool_choice", `tool_choice allows the tool "f", which is not among the tools.`},
		{plain(`"tools":[` + weatherTool + `],"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"shell"}]}`), "tool_choice", `tool_choice is required, but allows none of the tools.`},
		{plain(`"reasoning":true`), "reasoning", "reasoning must be an object."},
		{plain(`"reasoning":{"effort":1}`), "reasoning.effort", "reasoning.effort must be a string."},
		{plain(`"reasoning":{"effort":"huge"}`), "reasoning.effort", `reasoning.effort must be one that the model "svc-preview" takes: none, minimal, low, medium, high, xhigh, max.`},
		{plain(`"truncation":""`), "truncation", "truncation must not be empty."},
		{plain(`"reasoning":{"effort":""}`), "reasoning.effort", "reasoning.effort must not be empty."},
		{plain(`"stream":"yes"`), "stream", "stream must be a boolean."},
		{plain(`"text":"json"`), "text", "text must be an object."},
		{plain(`"text":{"format":"json"}`), "text.format", "text.format must be an object."},
		{plain(`"text":{"format":{}}`), "text.format.type", "text.format.type is required."},
		{plain(`"text":{"format":{"type":""}}`), "text.format.type", "text.format.type must not be empty."},
		{plain(`"text":{"format":{"type":"xml"}}`), "text.format.type", "text.format.type must be text, json_object or json_schema."},
		{plain(`"text":{"format":{"type":"json_schema","schema":{}}}`), "text.format.name", "text.format.name must be 1 to 64 letters, digits, underscores or hyphens."},
		{plain(`"text":{"format":{"type":"json_schema","name":"n"}}`), "text.format.schema", "text.format.schema is required."},
		{plain(`"store":"yes"`), "store", "store must be a boolean."},
		{plain(`"background":1`), "background", "background must be a boolean."},
		{plain(`"temperature":2.1`), "temperature", "temperature must be between 0 and 2."},
		{plain(`"temperature":-0.1`), "temperature", "temperature must be between 0 and 2."},
		{plain(`"top_p":1.1`), "top_p", "top_p must be between 0 and 1."},
		{plain(`"max_output_tokens":0`), "max_output_tokens", "max_output_tokens must be at least 1."},
		{plain(`"max_output_tokens":1.5`), "max_output_tokens", "max_output_tokens must be an integer."},
		{plain(`"parallel_tool_calls":1`), "parallel_tool_calls", "parallel_tool_calls must be a boolean."},
		{plain(`"metadata":[]`), "metadata", "metadata must be an object."},
		{plain(`"metadata":{"a":{}}`), "metadata.a", "metadata.a must be a string."},
		{plain(`"metadata":{"a":[]}`), "metadata.a", "metadata.a must be a string."},
		{plain(`"metadata":` + tags(17)), "metadata", "metadata must have at most 16 keys; it has 17."},
		{plain(`"metadata":{"` + nul + `":""}`), "metadata", `A metadata key must have at most 64 characters; "xxxxxxxxxxxxxxxxxxxx"… has 65.`},
		{plain(`"metadata":{"a":"` + strings.Repeat("é", 513) + `"}`), "metadata.a", `A metadata value must have at most 512 characters; that of "a" has 513.`},
		{`{`, "", ""}, {``, "", ""}, {`[]`, "", ""},
	} {
		if c.message != "" {
			a.wantInvalid("POST", "/v1/responses", c.body, c.param, c.message)
			continue
		}
		if got := a.do("POST", "/v1/responses", c.body); got.status != 400 || !strings.Contains(got.body, `"code":"validation_error"`) {
			t.Errorf("%q: got %d %s", c.body, got.status, got.body)
		}
	}
	if n := len(a.script.Requests()); n > 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

// TestTurnsThatAreRefused walks the rest of the error table.
func TestTurnsThatAreRefused(t *testing.T) {
	a := newTurns(t)
	other := a.as("other")
	a.script.Answers = []modeltest.Answer{modeltest.Text("Mine.")}
	foreign := other.turn(say("Hi"))
	missing := func(what, id string) string { return fmt.Sprintf("No %s found with id %q.", what, id) }
	long := strings.Repeat("x", 100_000)
	for _, c := range []struct {
		name                       string
		as                         string
		body                       string
		status                     int
		kind, code, param, message string
	}{
		{"an unknown key", "nobody", plain(`"store":true`), 401, "authentication_error", "invalid_api_key", "", "The API key is missing or invalid."},
		{"no credits", "poor", plain(`"store":true`), 402, "insufficient_credits", "insufficient_credits", "", "The organization has no credits left."},
		{"a model that is not allowed", "limited", plain(`"store":true`), 403, "permission_error", "model_access_denied", "model", `This API key may not use the model "svc-preview".`},
		{"an unknown model", "rich", `{"model":"gpt-1","input":"Hi"}`, 404, "invalid_request_error", "model_not_found", "model", missing("generation model", "gpt-1") + " Available: svc-preview."},
		{"a decision model", "rich", `{"model":"svc-snap-preview","input":"Hi"}`, 404, "invalid_request_error", "model_not_found", "model", missing("generation model", "svc-snap-preview") + " Available: svc-preview."},
		{"an unknown response", "rich", say("x", after("resp_x")), 404, "invalid_request_error", "response_not_found", "", missing("response", "resp_x")},
		{"a very long ID", "rich", say("x", after(long)), 404, "invalid_request_error", "response_not_found", "", missing("response", long[:128])},
		{"a foreign response", "rich", say("x", after(foreign.ID)), 404, "invalid_request_error", "response_not_found", "", missing("response", foreign.ID)},
		{"an unknown conversation", "rich", say("x", in("conv_x")), 404, "invalid_request_error", "conversation_not_found", "", missing("conversation", "conv_x")},
		{"a foreign conversation", "rich", say("x", in(foreign.Conversation.ID)), 404, "invalid_request_error", "conversation_not_found", "", missing("conversation", foreign.Conversation.ID)},
		{"a foreign item", "rich", input(`[{"type":"item_reference","id":"` + foreign.Output[0].ID + `"}]`), 404, "invalid_request_error", "item_not_found", "", missing("item", foreign.Output[0].ID)},
		{"an unknown file", "rich", message(`{"type":"input_file","file_id":"file_x"}`), 404, "invalid_request_error", "file_not_found", "", missing("file", "file_x")},
		{"an unknown file as a part of the input", "rich", input(`[{"type":"input_file","file_id":"file_x"}]`), 404, "invalid_request_error", "file_not_found", "", missing("file", "file_x")},
		{"a prompt over the window", "rich", say(strings.Repeat("many words ", 160_000)), 400, "invalid_request_error", "context_length_exceeded", "",
			"The prompt does not fit the model's context window of 393216 tokens."},
		{"an allowance over the window", "rich", plain(`"max_output_tokens":393216`), 400, "invalid_request_error", "context_length_exceeded", "",
			"The prompt has 9 tokens and asks for up to 393216 more, but the model's context window is 393216 tokens."},
		{"no credits before an unknown response", "poor", say("x", after("resp_x")), 402, "insufficient_credits", "insufficient_credits", "", "The organization has no credits left."},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := a.as(c.as)
			b.t = t
			for _, stream := range []string{"", `,"stream":true`} {
				b.wantError("POST", "/v1/responses", strings.TrimSuffix(c.body, "}")+stream+"}", c.status, c.kind, c.code, c.param, c.message)
			}
		})
	}
	if n := len(a.script.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestWebSearchWithoutASearchService(t *testing.T) {
	a := newTurnsOver(t, modeltest.New(modeltest.Text("Yes."), modeltest.Text("Yes."), modeltest.Text("Yes.")), options{})
	const refused = "Web search is not configured on this server: start svcd with -search or SVC_SEARCH_URL set to the base URL of a SearXNG service, or do not demand the tool."
	a.wantInvalid("POST", "/v1/responses", plain(`"tools":[`+searchTool+`],"tool_choice":{"type":"web_search_preview"}`), "tool_choice", refused)
	a.wantInvalid("POST", "/v1/responses", plain(`"tools":[`+searchTool+`],"tool_choice":"required"`), "tool_choice", refused)
	for i, choice := range []string{`"auto"`, `{"type":"allowed_tools","mode":"auto","tools":[{"type":"web_search_preview"},{"type":"function","name":"weather"}]}`} {
		r := a.post(plain(`"tools":[` + searchTool + `,` + weatherTool + `],"tool_choice":` + choice))
		is := is.New(t)
		is.Equal(len(a.script.Requests()[i].Tools), 1) // the function alone
		is.True(strings.Contains(r, `{"type":"web_search_preview"}`))
	}
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/responses", strings.NewReader(plain(`"newest":1,"tools":[`+weatherTool+`,`+searchTool+`]`)))
	r.Header.Set("Authorization", "Bearer "+a.key)
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	if got := w.Header().Get("Svc-Ignored-Fields"); w.Code != 200 || got != "newest, tools[1]" {
		t.Errorf("the header names %q: %d %s", got, w.Code, w.Body)
	}
}

// TestFieldsOfTurns compares what the model is asked, and what is echoed, with
// every field on its bounds.
func TestFieldsOfTurns(t *testing.T) {
	f, top := 0.0, 1.0
	a := newTurns(t, modeltest.Text("{}"))
	body := a.post(plain(`"temperature":0,"top_p":1,"max_output_tokens":1,"parallel_tool_calls":false,"reasoning":{"effort":"max"},"instructions":"Be brief.",
		"tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object"},"strict":true},{"type":"web_search","search_context_size":"low"}],
		"tool_choice":{"type":"web_search"},"stream":false,"store":null,"background":false,"conversation":null,"previous_response_id":null,"unknown":1,
		"text":{"format":{"type":"json_schema","name":"n","description":"e","strict":true,"schema":{"type":"object"}}},
		"metadata":{"s":"é","n":1.50,"b":true,"empty":""}`))
	want := &model.Request{
		Model: "svc-preview", Tenant: a.script.Requests()[0].Tenant, Whole: true,
		Messages: []model.Message{model.TextMessage(model.System, "Be brief."), model.TextMessage(model.User, "Hi")},
		Tools: []model.Tool{{Name: "f", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`), Strict: true},
			a.script.Requests()[0].Tools[1]},
		ToolChoice: model.ToolChoice{Mode: model.ToolNamed, Name: "web_search"}, SingleToolCall: true,
		Format:    model.Format{Type: model.FormatSchema, Name: "n", Description: "e", Strict: true, Schema: json.RawMessage(`{"type":"object"}`)},
		MaxTokens: 1, Temperature: &f, TopP: &top, ReasoningEffort: "max", Reasoning: true,
	}
	is := is.New(t)
	is.Equal(a.script.Requests(), []*model.Request{want})
	is.True(want.Tools[1].Search)
	golden(t, "responses/fields.json", body)
	is.Equal(a.want(200, "GET", "/v1/responses/resp_00003", ""), body)
}

func TestFormsOfInput(t *testing.T) {
	for _, c := range []struct {
		input string
		want  []string
	}{
		{`"Hi"`, []string{`user "Hi"`}},
		{`""`, []string{`user ""`}},
		{`[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"x"},{"type":"input_text","text":"b"}]`, []string{`user "a" "[An image was left out here: images are not read.]" "b"`}},
		{`[{"type":"input_text","text":"a"},{"role":"user","content":"b"},{"type":"input_text","text":"c"}]`, []string{`user "a"`, `user "b"`, `user "c"`}},
		{`[{"role":"developer","content":"a"},{"role":"system","content":[{"type":"input_text","text":"b"}]},{"type":"message","role":"user","content":"c","id":"msg_mine","status":"completed"}]`,
			[]string{`system "a"`, `system "b"`, `user "c"`}},
		{`[{"role":"user","content":[{"type":"input_image"},{"type":"text","text":"a"}]},{"role":"user","content":[{"type":"input_image"}]}]`, []string{`user "[An image was left out here: images are not read.]" "a"`}},
		{`[{"role":"assistant","phase":"final_answer","content":[{"type":"output_text","text":"a","annotations":[]},{"type":"refusal","refusal":"b"}]},{"role":"user","content":"c"}]`,
			[]string{`assistant "a" "b"`, `user "c"`}},
		{`[{"type":"mcp_call","id":"mcp_1","server_label":"s","name":"roll","arguments":"{}","output":"4","status":"completed"},{"type":"image_generation_call","id":"ig_1","result":"AAAA","status":"completed"},{"role":"user","content":"c"}]`,
			[]string{`assistant call_00002=s__roll({})`, `tool call_00002 "4"`, `assistant "[image_generation_call] {}"`, `user "c"`}},
	} {
		a := newTurns(t, modeltest.Text("Yes."))
		a.post(input(c.input))
		a.wantSent(0, c.want...)
	}
}

func TestIDsOfClientsAreNotTaken(t *testing.T) {
	a := newTurns(t, modeltest.Text("Yes."))
	first := a.turn(input(`[{"type":"message","id":"msg_00001","role":"user","content":"a"},{"type":"message","id":"msg_00001","role":"user","content":"b"}]`))
	var list struct{ Data []struct{ ID string } }
	decode(t, a.want(200, "GET", "/v1/conversations/"+first.Conversation.ID+"/items?order=asc", ""), &list)
	is := is.New(t)
	is.Equal(list.Data, []struct{ ID string }{{"msg_00001"}, {"msg_00002"}, {"msg_00005"}})
}

func TestUsageAndBilling(t *testing.T) {
	a := newTurns(t,
		search(`["a"]`).WithUsage(model.Usage{InputTokens: 100, CachedTokens: 10, OutputTokens: 5, ReasoningTokens: 2}),
		modeltest.Text("Found.").WithUsage(model.Usage{InputTokens: 200, CachedTokens: 100, OutputTokens: 7, ReasoningTokens: 3}),
		modeltest.Text("no"), modeltest.Text("{}"),
		modeltest.Text("unstored"))
	var r struct{ Usage json.RawMessage }
	decode(t, a.post(plain(`"tools":[`+searchTool+`]`)), &r)
	is := is.New(t)
	is.Equal(string(r.Usage), `{"input_tokens":300,"input_tokens_details":{"cached_tokens":110,"cache_write_tokens":0},`+
		`"output_tokens":12,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":312}`)
	a.post(plain(`"text":{"format":{"type":"json_object"}}`))
	a.post(plain(`"store":false`))
	is.Equal(a.charges(), []string{"resp_00003 300+12", "resp_00009 22+14", "resp_00013 11+7"})
}

func TestTheAllowanceHoldsForAllRounds(t *testing.T) {
	usage := func(n int) model.Usage { return model.Usage{OutputTokens: n} }
	a := newTurns(t, search(`["a"]`).WithUsage(usage(4)), search(`["b"]`).WithUsage(usage(5)), modeltest.Text("Yes."))
	a.post(plain(`"max_output_tokens":10,"tool_choice":"required","tools":[` + searchTool + `]`))
	is := is.New(t)
	var allowances []int
	var choices []model.ToolMode
	for _, r := range a.script.Requests() {
		allowances, choices = append(allowances, r.MaxTokens), append(choices, r.ToolChoice.Mode)
	}
	is.Equal(allowances, []int{10, 6, 1})
	is.Equal(choices, []model.ToolMode{model.ToolRequired, "", ""}) // a demand is met by the first round

	b := newTurns(t, search(`["a"]`).WithUsage(usage(10)))
	r := b.turn(plain(`"max_output_tokens":10,"tools":[` + searchTool + `]`))
	is.Equal(r.Status, "completed")
	is.Equal(r.IncompleteDetails.Reason, "max_output_tokens")
	is.Equal(len(r.Output), 1)
}

func TestSearchingHasAnEnd(t *testing.T) {
	script := &modeltest.Script{Respond: func(req *model.Request) modeltest.Answer {
		if len(req.Tools) == 0 {
			return modeltest.Text("Enough.")
		}
		return search(`["more"]`)
	}}
	a := newTurnsOver(t, script, options{search: echoSearch{}})
	r := a.turn(plain(`"tools":[` + searchTool + `]`))
	is := is.New(t)
	is.Equal(len(r.Output), 9) // 8 searches, 1 answer
	is.Equal(r.Output[8].Content[0].Text, "Enough.")

	script.Respond = func(*model.Request) modeltest.Answer { return search(`["more"]`) }
	r = a.turn(plain(`"tools":[` + searchTool + `]`))
	is.Equal(r.Status, "failed")
	is.Equal(len(script.Requests()), 2*9)
	is.Equal(*r.Error, struct{ Code, Message string }{"model_error", "The model called tools again and again and gave no answer."})
}

func TestManySearchesAtOnce(t *testing.T) {
	calls := make([]model.ToolCall, 5)
	for i := range calls {
		calls[i] = model.ToolCall{ID: fmt.Sprint(i), Name: "web_search", Arguments: `{"queries":["1","2","3","4","5","6","1"]}`}
	}
	calls[1].Arguments = `{"query":" one "}`
	calls[2].Arguments = `nonsense`
	a := newTurns(t, modeltest.Calls(calls...), modeltest.Text("Yes."))
	var r struct {
		Output []struct{ Action struct{ Queries []string } }
	}
	decode(t, a.post(plain(`"tools":[`+searchTool+`]`)), &r)
	is := is.New(t)
	is.Equal(len(r.Output), 6)
	is.Equal(r.Output[0].Action.Queries, []string{"1", "2", "3", "4", "5"})
	is.Equal(r.Output[1].Action.Queries, []string{"one"})
	is.Equal(r.Output[2].Action.Queries, []string{})
	sent := a.sent(1)
	is.True(strings.HasSuffix(sent[6], `"The search was not run: it needs between one and five queries."`))
	is.True(strings.HasSuffix(sent[10], `"The search was not run: too many searches at once."`))
}

func TestAFunctionMayBeCalledWebSearch(t *testing.T) {
	a := newTurns(t, call("web_search", `{"queries":["a"]}`))
	r := a.turn(plain(`"tools":[{"type":"function","name":"web_search"}]`))
	is := is.New(t)
	is.Equal(r.Output[0].Type, "function_call")
	is.Equal(r.Output[0].Name, "web_search")
}

func TestSearchesBesideFunctionCalls(t *testing.T) {
	a := newTurns(t, modeltest.Calls(
		model.ToolCall{ID: "a", Name: "weather", Arguments: "{}"},
		model.ToolCall{ID: "b", Name: "web_search", Arguments: `{"queries":["a"]}`}), modeltest.Text("Done."))
	first := a.turn(plain(`"tools":[` + searchTool + `,` + weatherTool + `]`))
	is := is.New(t)
	is.Equal(first.Status, "completed")
	is.Equal([]string{first.Output[0].Type, first.Output[1].Type}, []string{"function_call", "web_search_call"})
	is.Equal(len(a.script.Requests()), 1) // the caller's turn
	a.turn(outputs(output(first.Output[0].CallID, "sun")) + `,` + after(first.ID) + `}`)
	is.Equal(len(a.sent(1)), 4)
}

func TestZeroDataRetention(t *testing.T) {
	a := newTurns(t, modeltest.Text("Yes.")).as("forgetful")
	r := a.turn(plain(`"store":true`))
	is := is.New(t)
	is.True(!r.Store)
	a.wantError("GET", "/v1/responses/"+r.ID, "", 404, "invalid_request_error", "response_not_found", "", `No response found with id "`+r.ID+`".`)
	a.wantError("POST", "/v1/conversations", "", 403, "permission_error", "zero_data_retention", "",
		"This organization is configured for zero data retention: it cannot store conversations.")
	for _, e := range httpapi.Stored(t, a.store, storage.Namespace(a.orgs["forgetful"]), "v/") {
		t.Errorf("stored %q", e.Key)
	}
}

// TestTooLargeToStore sends characters that take six bytes in the store and
// three in a body.
func TestTooLargeToStore(t *testing.T) {
	script := modeltest.New(modeltest.Text("Yes."))
	script.Infos = []model.Info{{ID: model.DefaultGenerator, Generates: true, ContextWindow: 100_000_000}}
	a := newTurnsOver(t, script, options{})
	big := strings.Repeat("\u2028", 3<<20)
	const items = "The items are too large to be stored."
	a.wantError("POST", "/v1/responses", input(`"`+big+`"`), 413, "invalid_request_error", "request_too_large", "", items)
	a.wantError("POST", "/v1/responses", plain(`"instructions":"`+big+`"`), 413, "invalid_request_error", "request_too_large", "",
		"The instructions, tools and format are too large to be stored.")
	a.wantError("POST", "/v1/conversations", `{"items":[{"role":"user","content":"`+big+`"}]}`, 413, "invalid_request_error", "request_too_large", "", items)
	if n := len(script.Requests()); n > 0 {
		t.Errorf("the model was asked %d times", n)
	}
	a.post(strings.TrimSuffix(input(`"`+big+`"`), "}") + `,"store":false}`)
}

func TestTheLargestInput(t *testing.T) {
	a := newTurns(t, modeltest.Text("Yes."), modeltest.Text("And yes."))
	r := a.turn(input(`[` + repeated(5_000, `{"role":"user","content":"Hi"}`) + `]`))
	a.turn(say("More", after(r.ID)))
	is := is.New(t)
	is.Equal(len(a.sent(1)), 5_002)
	a.want(200, "DELETE", "/v1/conversations/"+r.Conversation.ID, "")
	a.want(404, "GET", "/v1/responses/"+r.ID, "")
}

func TestACallThatIsNotBilledWhenRefused(t *testing.T) {
	a := newTurns(t, modeltest.Fail(fmt.Errorf("secret")))
	a.wantError("POST", "/v1/responses", say("Hi"), 500, "server_error", "internal_error", "", "An internal error occurred.")
	is := is.New(t)
	is.Equal(a.charges(), nil)
	for _, e := range httpapi.Stored(t, a.store, storage.Namespace(a.orgs["rich"]), "v/") {
		t.Errorf("stored %q", e.Key)
	}
}

func TestCountingInput(t *testing.T) {
	a := newTurns(t, modeltest.Text("Yes."))
	r := a.turn(say("Hi"))
	is := is.New(t)
	is.Equal(a.want(200, "POST", "/v1/responses/input_tokens", say("More", after(r.ID))), `{"object":"response.input_tokens","input_tokens":27}`)
	is.Equal(len(a.script.Requests()), 1)
	a.wantInvalid("POST", "/v1/responses/input_tokens", `{"model":"svc-preview"}`, "input", "input must be a string or an array.")
}

func TestCancellingAResponseThatHasEnded(t *testing.T) {
	a := newTurns(t, modeltest.Text("Yes."))
	r := a.turn(say("Hi"))
	a.wantInvalid("POST", "/v1/responses/"+r.ID+"/cancel", "", "response_id", `The response "`+r.ID+`" has ended and cannot be cancelled.`)
	a.as("other").wantError("GET", "/v1/responses/"+r.ID, "", 404, "invalid_request_error", "response_not_found", "", `No response found with id "`+r.ID+`".`)
	a.as("other").wantError("DELETE", "/v1/responses/"+r.ID, "", 404, "invalid_request_error", "response_not_found", "", `No response found with id "`+r.ID+`".`)
}
