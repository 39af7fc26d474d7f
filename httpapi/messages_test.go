package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

const messagesPath = "/v1/messages"

// messagesBody is a request body with one message and the fields.
func messagesBody(fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return `{"model":"svc-preview","max_tokens":100,"messages":[{"role":"user","content":"Hi"}]` + fields + `}`
}

func messageJSON(id int, content, reason, sequence, usage string) string {
	return fmt.Sprintf(`{"id":"msg_%02d","type":"message","role":"assistant","model":"svc-preview","content":%s,"stop_reason":%s,"stop_sequence":%s,`+
		`"stop_details":null,"container":null,"usage":%s}`, id, content, reason, sequence, usage)
}

func messagesUsage(input, cached, output int) string {
	return fmt.Sprintf(`{"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":%d,"output_tokens":%d,"server_tool_use":null,"service_tier":"standard"}`,
		input, cached, output)
}

// TestMessages compares whole answers.
func TestMessages(t *testing.T) {
	plain := messagesUsage(11, 0, 7)
	for _, c := range []struct {
		rule   string
		answer modeltest.Answer
		fields string
		want   string
	}{
		{"text", modeltest.Text("Hel", "lo"), ``, messageJSON(1, `[{"type":"text","text":"Hello"}]`, `"end_turn"`, `null`, plain)},
		{"cached tokens are not among the input", modeltest.Events(model.TextDelta{Text: "Hello"}, model.Usage{InputTokens: 5, CachedTokens: 4, OutputTokens: 3}, model.Finish{Reason: model.Stop}), ``,
			messageJSON(1, `[{"type":"text","text":"Hello"}]`, `"end_turn"`, `null`, messagesUsage(1, 4, 3))},
		{"the cap", modeltest.Events(model.TextDelta{Text: "Hel"}, modeltest.DefaultUsage, model.Finish{Reason: model.Length}), ``,
			messageJSON(1, `[{"type":"text","text":"Hel"}]`, `"max_tokens"`, `null`, plain)},
		{"a stop sequence", modeltest.Events(model.TextDelta{Text: "Hel"}, modeltest.DefaultUsage, model.Finish{Reason: model.Stop, StopSequence: "lo"}), `"stop_sequences":["lo"]`,
			messageJSON(1, `[{"type":"text","text":"Hel"}]`, `"stop_sequence"`, `"lo"`, plain)},
		{"parallel calls", modeltest.Calls(weatherCall, model.ToolCall{ID: "call_b", Name: "weather", Arguments: `{}`}), `"tools":[{"name":"weather","input_schema":{"type":"object"}}]`,
			messageJSON(1, `[{"type":"tool_use","id":"call_a","name":"weather","input":{"city":"Zürich"},"caller":{"type":"direct"}},{"type":"tool_use","id":"call_b","name":"weather","input":{},"caller":{"type":"direct"}}]`, `"tool_use"`, `null`, plain)},
		{"arguments that were cut are no input", modeltest.Events(model.ToolCallStart{ID: "call_a", Name: "weather"}, model.ToolCallDelta{Arguments: `{"ci`}, modeltest.DefaultUsage, model.Finish{Reason: model.Length}),
			`"tools":[{"name":"weather","input_schema":{"type":"object"}}]`,
			messageJSON(1, `[{"type":"tool_use","id":"call_a","name":"weather","input":{},"caller":{"type":"direct"}}]`, `"max_tokens"`, `null`, plain)},
		{"unknown fields and betas are ignored", modeltest.Text("Hello"),
			`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"metadata":{"user_id":"{}"},"service_tier":"auto","cache_control":{"type":"ephemeral"},"newest":1`,
			messageJSON(1, `[{"type":"text","text":"Hello"}]`, `"end_turn"`, `null`, plain)},
	} {
		t.Run(c.rule, func(t *testing.T) {
			newChatServer(t, c.answer).want("POST", messagesPath+"?beta=true", messagesBody(c.fields), 200, c.want)
		})
	}
}

// TestMessagesStream compares whole transcripts.
func TestMessagesStream(t *testing.T) {
	start := func(input int) string {
		return "event: message_start\ndata: {\"type\":\"message_start\",\"message\":" + messageJSON(1, `[]`, `null`, `null`, messagesUsage(input, 0, 1)) + "}\n\n"
	}
	end := func(reason, usage string) string {
		return "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" + reason + "\",\"stop_sequence\":null,\"stop_details\":null,\"container\":null},\"usage\":" + usage +
			"}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	}
	begin := func(index int, block string) string {
		return fmt.Sprintf("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":%d,\"content_block\":%s}\n\n", index, block)
	}
	delta := func(index int, kind, member, text string) string {
		return fmt.Sprintf("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"%s\",\"%s\":%q}}\n\n", index, kind, member, text)
	}
	stop := func(index int) string {
		return fmt.Sprintf("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":%d}\n\n", index)
	}
	text, tool := `{"type":"text","text":""}`, func(id string) string {
		return `{"type":"tool_use","id":"` + id + `","name":"weather","input":{},"caller":{"type":"direct"}}`
	}
	const tools = `,"tools":[{"name":"weather","input_schema":{"type":"object"}}]`
	for _, c := range []struct {
		rule   string
		answer modeltest.Answer
		fields string
		want   string
	}{
		{"text", modeltest.Text("Hel", "lo"), ``,
			start(9) + begin(0, text) + delta(0, "text_delta", "text", "Hel") + delta(0, "text_delta", "text", "lo") + stop(0) + end("end_turn", messagesUsage(11, 0, 7))},
		{"nothing", modeltest.Text(), ``, start(11) + end("end_turn", messagesUsage(11, 0, 7))},
		{"text and parallel calls, one block open at a time",
			modeltest.Events(model.TextDelta{Text: "I look."}, model.ToolCallStart{ID: "call_a", Name: "weather"}, model.ToolCallDelta{Arguments: `{"a"`}, model.ToolCallDelta{Arguments: `:1}`},
				model.ToolCallStart{ID: "call_b", Name: "weather"}, model.TextDelta{Text: "So."}, modeltest.DefaultUsage, model.Finish{Reason: model.ToolCalls}), tools,
			start(24) + begin(0, text) + delta(0, "text_delta", "text", "I look.") + stop(0) +
				begin(1, tool("call_a")) + delta(1, "input_json_delta", "partial_json", `{"a"`) + delta(1, "input_json_delta", "partial_json", `:1}`) + stop(1) +
				begin(2, tool("call_b")) + stop(2) + begin(3, text) + delta(3, "text_delta", "text", "So.") + stop(3) + end("tool_use", messagesUsage(11, 0, 7))},
		{"an error in the stream", modeltest.Fail(fault.Upstreamf(nil, "The model server failed."), model.TextDelta{Text: "Hel"}), ``,
			start(9) + begin(0, text) + delta(0, "text_delta", "text", "Hel") +
				"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"The model server failed.\",\"details\":{\"error_code\":\"model_error\"}},\"request_id\":\"REQ\"}\n\n"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			s := newChatServer(t, c.answer)
			status, got, header, err := s.do("POST", messagesPath, messagesBody(`"stream":true`+c.fields))
			is.NoErr(err)
			is.Equal(status, 200)
			is.Equal(header.Get("Content-Type"), "text/event-stream")
			is.True(header.Get("Request-Id") != "")
			if want := strings.ReplaceAll(c.want, "REQ", header.Get("Request-Id")); got != want {
				t.Errorf("\ngot  %s\nwant %s", got, want)
			}
		})
	}
}

// TestMessagesPrompt compares what the model is sent.
func TestMessagesPrompt(t *testing.T) {
	text := model.TextMessage
	for _, c := range []struct {
		rule, body string
		want       []model.Message
	}{
		{"a system prompt, without what is for Anthropic's accounting",
			`"system":[{"type":"text","text":"x-anthropic-billing-header: v=1"},{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"Hi"},{"role":"system","content":"Today is Monday."}]`,
			[]model.Message{text(model.System, "Be brief."), text(model.User, "Hi"), text(model.System, "Today is Monday.")}},
		{"results of tools come first, in their order, and what follows is the user's",
			`"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"a","name":"f","input":{"x":1}},{"type":"tool_use","id":"b","name":"f","input":{}}]},
			{"role":"user","content":[{"type":"text","text":"Go on."},{"type":"tool_result","tool_use_id":"b","content":"two","is_error":true},{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"one"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}]}]`,
			[]model.Message{
				text(model.User, "Hi"),
				{Role: model.Assistant, Parts: []model.Part{model.Text("I look.")}, ToolCalls: []model.ToolCall{{ID: "a", Name: "f", Arguments: `{"x":1}`}, {ID: "b", Name: "f", Arguments: `{}`}}},
				{Role: model.ToolRole, ToolCallID: "b", Parts: []model.Part{model.Text("The tool failed:"), model.Text("two")}},
				{Role: model.ToolRole, ToolCallID: "a", Parts: []model.Part{model.Text("one"), model.Text("[An image was left out here: images are not read.]")}},
				text(model.User, "Go on."),
			}},
		{"messages of the user that follow each other are one",
			`"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":"b"}]}]`,
			[]model.Message{{Role: model.User, Parts: []model.Part{model.Text("a"), model.Text("b")}}}},
		{"documents",
			`"messages":[{"role":"user","content":[{"type":"document","title":"notes.txt","context":"Mine.","source":{"type":"text","media_type":"text/plain","data":"Milk"}},
			{"type":"document","source":{"type":"base64","media_type":"text/plain","data":"RWdncw=="}},{"type":"document","source":{"type":"content","content":[{"type":"text","text":"Bread"}]}},
			{"type":"search_result","source":"https://a.example","title":"A","content":[{"type":"text","text":"Found"}]}]}]`,
			[]model.Message{{Role: model.User, Parts: []model.Part{model.Text("Mine."), model.Document{Name: "notes.txt", Text: "Milk"}, model.Document{Text: "Eggs"}, model.Document{Text: "Bread"},
				model.Document{Name: "A (https://a.example)", Text: "Found"}}}}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			s := newChatServer(t, modeltest.Text("Hello"))
			status, answer, _, err := s.do("POST", messagesPath, `{"model":"svc-preview","max_tokens":100,`+c.body+`}`)
			is.NoErr(err)
			if status != 200 {
				t.Fatal(answer)
			}
			is.Equal(s.script.Requests()[0].Messages, c.want)
		})
	}
}

// TestMessagesSettings compares how the model is asked.
func TestMessagesSettings(t *testing.T) {
	const tools = `"tools":[{"name":"f","description":"d","input_schema":{"type":"object"}},{"type":"custom","name":"g","defer_loading":true}]`
	for fields, check := range map[string]func(*model.Request) bool{
		`"max_tokens":7,"stop_sequences":["a","b"],"temperature":0.5,"top_p":0.9,"top_k":3`: func(r *model.Request) bool {
			return r.MaxTokens == 7 && len(r.Stop) == 2 && *r.Temperature == 0.5 && *r.TopP == 0.9 && *r.Sampling.TopK == 3
		},
		tools: func(r *model.Request) bool {
			return len(r.Tools) == 2 && r.Tools[0].Description == "d" && r.ToolChoice.Mode != model.ToolRequired
		},
		tools + `,"tool_choice":{"type":"any","disable_parallel_tool_use":true}`: func(r *model.Request) bool {
			return r.ToolChoice.Mode == model.ToolRequired && r.SingleToolCall
		},
		tools + `,"tool_choice":{"type":"tool","name":"g"}`: func(r *model.Request) bool {
			return r.ToolChoice == model.ToolChoice{Mode: model.ToolNamed, Name: "g"}
		},
		tools + `,"tool_choice":{"type":"none"}`: func(r *model.Request) bool { return r.ToolChoice.Mode == model.ToolNone },
		`"thinking":{"type":"adaptive","display":"omitted"},"output_config":{"effort":"high"}`: func(r *model.Request) bool {
			return r.Reasoning && r.ReasoningEffort == "high"
		},
		`"thinking":{"type":"disabled"}`: func(r *model.Request) bool { return !r.Reasoning && r.ReasoningEffort == "" },
		`"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}`: func(r *model.Request) bool {
			return r.Format.Type == model.FormatSchema && r.Format.Strict
		},
	} {
		is := is.New(t)
		s := newChatServer(t, modeltest.Text("{}"))
		status, answer, _, err := s.do("POST", messagesPath, `{"model":"svc-preview",`+ensure(fields, `"max_tokens"`, `"max_tokens":9,`)+`"messages":[{"role":"user","content":"Hi"}]}`)
		is.NoErr(err)
		if status != 200 {
			t.Fatal(answer)
		}
		if r := s.script.Requests()[0]; !check(r) {
			t.Errorf("%s: the model was asked %+v", fields, r)
		}
	}
}

// ensure returns fields and a comma, with more before them where they have no name.
func ensure(fields, name, more string) string {
	if strings.Contains(fields, name) {
		more = ""
	}
	return more + fields + ","
}

// TestMessagesThoughts has a model think before a call. What it has thought is its
// own again when the signature comes back.
func TestMessagesThoughts(t *testing.T) {
	is := is.New(t)
	think := modeltest.Events(model.Reasoning{Text: "I should look."}, model.ToolCallStart{ID: "a", Name: "f"}, modeltest.DefaultUsage, model.Finish{Reason: model.ToolCalls})
	s := newChatServer(t, think, modeltest.Text("Done"), think)
	const fields = `"tools":[{"name":"f"}],"thinking":{"type":"adaptive"}`
	_, answer, _, err := s.do("POST", messagesPath, messagesBody(fields))
	is.NoErr(err)
	var got struct {
		Content []struct{ Type, Thinking, Signature string }
	}
	is.NoErr(json.Unmarshal([]byte(answer), &got))
	is.Equal(len(got.Content), 2)
	is.Equal(got.Content[0].Type, "thinking")
	is.Equal(got.Content[0].Thinking, "")
	is.True(!strings.Contains(got.Content[0].Signature, "look"))

	again := func(signature string) (int, string) {
		status, answer, _, err := s.do("POST", messagesPath, `{"model":"svc-preview","max_tokens":9,`+fields+`,"messages":[{"role":"user","content":"Hi"},
			{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"`+signature+`"},{"type":"tool_use","id":"a","name":"f","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}]}`)
		is.NoErr(err)
		return status, answer
	}
	status, answer := again(got.Content[0].Signature)
	if status != 200 {
		t.Fatal(answer)
	}
	is.Equal(s.script.Requests()[1].Messages[1].Reasoning, "I should look.")

	status, answer = again("bm90IG91cnM")
	is.Equal(status, 400)
	is.True(strings.Contains(answer, "messages[1].content[0].signature is not what this service has returned to the organization."))

	_, answer, _, err = s.do("POST", messagesPath, messagesBody(fields+`,"stream":true`))
	is.NoErr(err)
	is.True(strings.Contains(answer, `"content_block":{"type":"thinking","thinking":"","signature":""}`))
	is.True(strings.Contains(answer, `"delta":{"type":"signature_delta","signature":"`))
	is.True(strings.Index(answer, "signature_delta") < strings.Index(answer, `{"type":"content_block_stop","index":0}`))
}

// TestMessagesErrors compares statuses, types and messages.
func TestMessagesErrors(t *testing.T) {
	const call = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`
	for _, c := range []struct {
		body, kind, message string
		status              int
	}{
		{`{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}]}`, "invalid_request_error", "max_tokens is required.", 400},
		{messagesBody(`"stop_sequences":[""]`), "invalid_request_error", "stop_sequences[0] must not be empty.", 400},
		{`{"model":"none","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`, "not_found_error", `No generation model found with id "none". Available: svc-preview.`, 404},
		{`{"model":"svc-preview","max_tokens":9,"messages":[{"role":"user","content":"Hi"},` + call + `]}`, "invalid_request_error", `messages[1].content[0] is the tool_use "a", which no tool_result in the message after it answers.`, 400},
		{`{"model":"svc-preview","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`, "invalid_request_error",
			`messages[0].content[0].tool_use_id is "a", which is no tool_use of the message before it, or one that has a result.`, 400},
		{`{"model":"svc-preview","max_tokens":9,"messages":[{"role":"user","content":[]}]}`, "invalid_request_error", "messages[0].content is required.", 400},
		{`{"model":"svc-preview","max_tokens":9,"messages":[{"role":"user","content":[{"type":"server_tool_use"}]}]}`, "invalid_request_error",
			`messages[0].content[0].type is "server_tool_use", which is not supported.`, 400},
		{`{"model":"svc-preview","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"url","url":"http://x"}}]}]}`, "invalid_request_error",
			`messages[0].content[0].source.url is not accepted: nothing is fetched here; send the content as base64, or upload it and send its file_id.`, 400},
		{`{"model":"svc-preview","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"document","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}]}`, "invalid_request_error",
			`Files of the type "image/png" are not supported; plain text, Markdown, CSV, TSV, JSON, JSONL, XML, PDF and Word documents are.`, 400},
		{messagesBody(`"tools":[{"type":"bash_20250124","name":"bash"}]`), "invalid_request_error", `tools[0].type is "bash_20250124", which is not supported: send a tool with an input_schema.`, 400},
		{`{"model":"svc-preview","max_tokens":393216,"messages":[{"role":"user","content":"Hi"}]}`, "invalid_request_error",
			"input length and `max_tokens` exceed context limit: 9 + 393216 > 393216, decrease input length or `max_tokens` and try again", 400},
		{`{"model":"svc-preview","max_tokens":1,"messages":[{"role":"user","content":"` + strings.Repeat("a b ", 400_000) + `"}]}`, "invalid_request_error", "prompt is too long: 400008 tokens > 393216 maximum", 400},
	} {
		is := is.New(t)
		s := newChatServer(t)
		status, answer, header, err := s.do("POST", messagesPath, c.body)
		is.NoErr(err)
		var got struct {
			Type      string
			Error     struct{ Type, Message string }
			RequestID string `json:"request_id"`
		}
		is.NoErr(json.Unmarshal([]byte(answer), &got))
		if status != c.status || got.Error.Type != c.kind || c.message != "" && got.Error.Message != c.message {
			t.Errorf("%.300s\ngot  %d %s\nwant %d %s %s", c.body, status, answer, c.status, c.kind, c.message)
		}
		is.Equal(got.Type, "error")
		is.Equal(got.RequestID, header.Get("Request-Id"))
		is.Equal(len(s.script.Requests()), 0)
	}
}

// TestMessagesKeyAndModels uses the header of older clients.
func TestMessagesKeyAndModels(t *testing.T) {
	is := is.New(t)
	s := newChatServer(t, modeltest.Text("Hello"))
	ask := func(method, path, body string, header ...string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
		is.NoErr(err)
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		res, err := http.DefaultClient.Do(req)
		is.NoErr(err)
		defer res.Body.Close()
		var text json.RawMessage
		is.NoErr(json.NewDecoder(res.Body).Decode(&text))
		return res.StatusCode, string(text)
	}
	status, _ := ask("POST", messagesPath, messagesBody(""), "X-Api-Key", "sk-one", "Content-Type", "application/json")
	is.Equal(status, 200)
	status, answer := ask("POST", messagesPath, messagesBody(""), "X-Api-Key", "sk-two", "Content-Type", "application/json")
	is.Equal(status, 401)
	is.True(strings.Contains(answer, `"type":"authentication_error"`))
	status, _ = ask("POST", chatPath, chatBody(""), "X-Api-Key", "sk-one", "Content-Type", "application/json")
	is.Equal(status, 401) // no other interface has the header
	status, answer = ask("GET", "/v1/models", "", "X-Api-Key", "sk-one", "Anthropic-Version", "2023-06-01")
	is.Equal(status, 200)
	const one = `{"type":"model","id":"svc-preview","display_name":"svc-preview","created_at":"2023-11-14T22:13:20Z","lifecycle":"active","max_input_tokens":393216,"max_tokens":393216,"capabilities":null,"deprecated_at":null,"retires_at":null,"line":null}`
	is.Equal(answer, `{"data":[`+one+`],"has_more":false,"first_id":"svc-preview","last_id":"svc-preview"}`)
	_, answer = ask("GET", "/v1/models/svc-preview", "", "X-Api-Key", "sk-one", "Anthropic-Version", "2023-06-01")
	is.Equal(answer, one)
}

// TestCountMessageTokens counts the same as the beginning of a stream says.
func TestCountMessageTokens(t *testing.T) {
	s := newChatServer(t)
	s.want("POST", messagesPath+"/count_tokens", `{"model":"svc-preview","system":"Be brief.","messages":[{"role":"user","content":"Hi"}]}`, 200, `{"input_tokens":20}`)
}

// TestMessagesAreCharged at the price of Chat, under their own name, and not stored.
func TestMessagesAreCharged(t *testing.T) {
	is := is.New(t)
	s := newChatServer(t, modeltest.Text("Hello"))
	status, _, _, err := s.do("POST", messagesPath, messagesBody(""))
	is.NoErr(err)
	is.Equal(status, 200)
	organizations, err := s.service.Organizations(t.Context(), svc.Page{})
	is.NoErr(err)
	records, err := s.service.Usage(t.Context(), organizations.Items[0].ID, svc.Page{})
	is.NoErr(err)
	is.Equal(len(records.Items), 1)
	is.Equal(records.Items[0].Use.Endpoint, "messages")
	is.True(records.Items[0].Cost() > 0)
	status, answer, _, err := s.do("GET", chatPath, "")
	is.NoErr(err)
	is.Equal(status, 200)
	is.True(strings.Contains(answer, `"data":[]`))
}
