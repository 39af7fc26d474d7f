package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

const chatPath = "/v1/chat/completions"

// chatServer is the whole interface over a scripted model, with the key "sk-one"
// for an organization that has credits.
type chatServer struct {
	t       *testing.T
	script  *modeltest.Script
	service *svc.Service
	url     string
}

func newChatServer(t *testing.T, answers ...modeltest.Answer) *chatServer {
	t.Helper()
	return newChatServerOver(t, modeltest.New(answers...))
}

func newChatServerOver(t *testing.T, script *modeltest.Script) *chatServer {
	t.Helper()
	return newChatServerOf(t, script, false)
}

func newChatServerOf(t *testing.T, script *modeltest.Script, open bool) *chatServer {
	t.Helper()
	var mu sync.Mutex
	made := map[string]int{}
	store := httpapi.NewStore(t)
	service, err := svc.New(t.Context(), svc.Options{
		Store:   store,
		Backend: script,
		Open:    open,
		Logger:  slog.New(slog.DiscardHandler),
		Now:     func() time.Time { return time.Unix(1_700_000_000, 0) },
		NewID: func(prefix string) string {
			mu.Lock()
			defer mu.Unlock()
			made[prefix]++
			return fmt.Sprintf("%s_%02d", prefix, made[prefix])
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.Bootstrap(t.Context(), "sk-one"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(httpapi.Contract(t, httpapi.New(service, httpapi.Options{Logger: slog.New(slog.DiscardHandler)})))
	t.Cleanup(func() {
		server.Close()
		if err := errors.Join(service.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return &chatServer{t: t, script: script, service: service, url: server.URL}
}

// do sends a request and returns the status and the body, as far as it came.
func (s *chatServer) do(method, path, body string) (status int, answer string, header http.Header, err error) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer sk-one")
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, string(data), res.Header, err
}

// want sends a request and compares the whole answer.
func (s *chatServer) want(method, path, body string, status int, answer string) {
	s.t.Helper()
	gotStatus, got, header, err := s.do(method, path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	if gotStatus != status || got != answer {
		s.t.Errorf("%s %s\ngot  %d %s\nwant %d %s", method, path, gotStatus, got, status, answer)
	}
	kind := "application/json"
	if strings.HasPrefix(answer, "data: ") {
		kind = "text/event-stream"
	}
	if got := header.Get("Content-Type"); got != kind {
		s.t.Errorf("Content-Type: got %q, want %q", got, kind)
	}
}

// chatBody is a request body with one message and the fields.
func chatBody(fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}]` + fields + `}`
}

func completionJSON(id int, message, finish, usage, metadata string) string {
	return fmt.Sprintf(`{"id":"chatcmpl_%02d","object":"chat.completion","created":1700000000,"model":"svc-preview",`+
		`"choices":[{"index":0,"message":%s,"logprobs":null,"finish_reason":"%s"}],"usage":%s,"metadata":%s}`, id, message, finish, usage, metadata)
}

const (
	plainUsage = `{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}`
	helloJSON  = `{"role":"assistant","content":"Hello","refusal":null}`
)

var weatherCall = model.ToolCall{ID: "call_a", Name: "weather", Arguments: `{"city":"Zürich"}`}

func TestChatCompletions(t *testing.T) {
	u := model.Usage{InputTokens: 5, CachedTokens: 4, OutputTokens: 3, ReasoningTokens: 2}
	for _, c := range []struct {
		rule   string
		answer modeltest.Answer
		fields string
		want   string
	}{
		{"text", modeltest.Text("Hel", "lo"), ``, completionJSON(1, helloJSON, "stop", plainUsage, `{}`)},
		{"stream false", modeltest.Text("Hello"), `"stream":false`, completionJSON(1, helloJSON, "stop", plainUsage, `{}`)},
		{"metadata is echoed, numbers and booleans as strings", modeltest.Text("Hello"), `"metadata":{"a":"<b>","n":1.50,"t":true}`,
			completionJSON(1, helloJSON, "stop", plainUsage, `{"a":"<b>","n":"1.50","t":"true"}`)},
		{"null metadata is empty", modeltest.Text("Hello"), `"metadata":null`, completionJSON(1, helloJSON, "stop", plainUsage, `{}`)},
		{"content is null with tool calls", modeltest.Calls(weatherCall), `"tools":[{"type":"function","function":{"name":"weather"}}]`,
			completionJSON(1, `{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"call_a","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Zürich\"}"}}]}`,
				"tool_calls", plainUsage, `{}`)},
		{"content is empty where the allowance was used up", modeltest.Text().WithFinish(model.Length), `"max_tokens":1`,
			completionJSON(1, `{"role":"assistant","content":"","refusal":null}`, "length", plainUsage, `{}`)},
		{"usage has its details", modeltest.Text("Hello").WithUsage(u), ``, completionJSON(1, helloJSON, "stop",
			`{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}`, `{}`)},
		{"unknown fields are ignored", modeltest.Text("Hello"), `"seed":1,"user":"u","n":1,"service_tier":"auto"`,
			completionJSON(1, helloJSON, "stop", plainUsage, `{}`)},
	} {
		t.Run(c.rule, func(t *testing.T) {
			newChatServer(t, c.answer).want("POST", chatPath, chatBody(c.fields), 200, c.want)
		})
	}
}

// events writes a transcript: the chunks have what follows choices, "…" stands
// for what all chunks begin with.
func events(chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		c = strings.Replace(c, "…", `{"id":"chatcmpl_01","object":"chat.completion.chunk","created":1700000000,"model":"svc-preview","choices":`, 1)
		b.WriteString("data: " + c + "\n\n")
	}
	return b.String()
}

func TestChatStreams(t *testing.T) {
	for _, c := range []struct {
		rule   string
		answer modeltest.Answer
		fields string
		want   string
	}{
		{"text, without metadata", modeltest.Text("Hel", "lo\n"), `"stream":true,"metadata":{"a":"b"}`, events(
			`…[{"index":0,"delta":{"role":"assistant","content":"Hel"},"finish_reason":null}]}`,
			`…[{"index":0,"delta":{"content":"lo\n"},"finish_reason":null}]}`,
			`…[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
			`[DONE]`)},
		{"the role comes as soon as the model has started", modeltest.Events(model.Started{}, model.TextDelta{Text: "a"}, modeltest.DefaultUsage, model.Finish{Reason: model.Stop}),
			`"stream":true`, events(
				`…[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
				`…[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}`,
				`…[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
				`[DONE]`)},
		{"tool calls", modeltest.Calls(weatherCall, model.ToolCall{ID: "call_b", Name: "time"}), `"stream":true`, events(
			`…[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"weather","arguments":""}}]},"finish_reason":null}]}`,
			`…[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":\""}}]},"finish_reason":null}]}`,
			`…[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"Zürich\"}"}}]},"finish_reason":null}]}`,
			`…[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"time","arguments":""}}]},"finish_reason":null}]}`,
			`…[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
			`[DONE]`)},
		{"nothing before the allowance was used up", modeltest.Text().WithFinish(model.Length), `"stream":true`, events(
			`…[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"length"}]}`,
			`[DONE]`)},
		{"usage where it is asked for", modeltest.Text("a").WithUsage(model.Usage{InputTokens: 5, CachedTokens: 4, OutputTokens: 3, ReasoningTokens: 2}),
			`"stream":true,"stream_options":{"include_usage":true}`, events(
				`…[{"index":0,"delta":{"role":"assistant","content":"a"},"finish_reason":null}],"usage":null}`,
				`…[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}`,
				`…[],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}`,
				`[DONE]`)},
	} {
		t.Run(c.rule, func(t *testing.T) {
			newChatServer(t, c.answer).want("POST", chatPath, chatBody(c.fields), 200, c.want)
		})
	}
}

func TestAChatThatFailsBeforeItsFirstByteIsAnAnswer(t *testing.T) {
	busy := &fault.Error{Kind: fault.Unavailable, Code: "service_unavailable", Message: "The model is busy.", RetryAfter: 2 * time.Second, Err: errors.New("secret")}
	for _, fields := range []string{"", `"stream":true`} {
		s := newChatServer(t, modeltest.Fail(busy))
		s.want("POST", chatPath, chatBody(fields), 503, `{"error":{"message":"The model is busy.","type":"server_error","param":null,"code":"service_unavailable"}}`)
	}
}

func TestAStreamThatFailsLaterEndsWithAnError(t *testing.T) {
	s := newChatServer(t, modeltest.Fail(fault.Upstreamf(errors.New("secret"), "The model failed."), model.TextDelta{Text: "Hel"}))
	status, got, _, err := s.do("POST", chatPath, chatBody(`"stream":true`))
	must(t, err) // it ends plainly, without [DONE]
	want := events(
		`…[{"index":0,"delta":{"role":"assistant","content":"Hel"},"finish_reason":null}]}`,
		`{"error":{"message":"The model failed.","type":"server_error","param":null,"code":"model_error"}}`)
	if status != 200 || got != want {
		t.Errorf("\ngot  %d %s\nwant 200 %s", status, got, want)
	}
}

func TestAClientThatLeavesStopsTheModel(t *testing.T) {
	stopped := make(chan struct{})
	answer := modeltest.Block(model.TextDelta{Text: "Hel"})
	answer.Before = func(ctx context.Context) error {
		context.AfterFunc(ctx, func() { close(stopped) })
		return nil
	}
	s := newChatServer(t, answer)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, "POST", s.url+chatPath, strings.NewReader(chatBody(`"stream":true`)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer sk-one")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadFull(res.Body, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	leave()
	<-stopped
}

func errorJSON(param, code, message string) string {
	var b bytes.Buffer
	p := "null"
	if param != "" {
		p = `"` + param + `"`
	}
	fmt.Fprintf(&b, `{"error":{"message":"%s","type":"invalid_request_error","param":%s,"code":"%s"}}`, strings.ReplaceAll(message, `"`, `\"`), p, code)
	return b.String()
}

func TestInvalidChats(t *testing.T) {
	withContent := func(content string) string {
		return `{"model":"svc-preview","messages":[{"role":"user","content":` + content + `}]}`
	}
	for _, c := range []struct{ rule, body, param, message string }{
		{"the body is an object", `[]`, "", "The request body must be an object."},
		{"messages is an array", `{"model":"svc-preview","messages":{}}`, "messages", "messages must be an array."},
		{"messages is required", `{"model":"svc-preview"}`, "messages", "messages must have at least one message."},
		{"model is required", `{"messages":[{"role":"user","content":"Hi"}]}`, "model", "model is required."},
		{"model is a string", `{"model":1,"messages":[{"role":"user","content":"Hi"}]}`, "model", "model must be a string."},
		{"stream is a boolean", chatBody(`"stream":"yes"`), "stream", "stream must be a boolean."},
		{"temperature is a number", chatBody(`"temperature":"1"`), "temperature", "temperature must be a number."},
		{"temperature has bounds", chatBody(`"temperature":2.01`), "temperature", "temperature must be between 0 and 2."},
		{"top_p has bounds", chatBody(`"top_p":-1`), "top_p", "top_p must be between 0 and 1."},
		{"max_tokens is an integer", chatBody(`"max_tokens":1.5`), "max_tokens", "max_tokens must be an integer."},
		{"max_tokens is at least 1", chatBody(`"max_tokens":0`), "max_tokens", "max_tokens must be at least 1."},
		{"max_completion_tokens is at least 1", chatBody(`"max_completion_tokens":0`), "max_completion_tokens", "max_completion_tokens must be at least 1."},
		{"the two names of max_tokens agree", chatBody(`"max_tokens":1,"max_completion_tokens":2`), "max_completion_tokens",
			"max_completion_tokens must be the same as max_tokens, or omitted."},
		{"stop is text", chatBody(`"stop":5`), "stop", "stop must be a string or an array of strings."},
		{"stop has text", chatBody(`"stop":["a",null]`), "stop[1]", "stop[1] is required."},
		{"stop is not empty", chatBody(`"stop":""`), "stop", "A stop sequence must not be empty."},
		{"an effort is known", chatBody(`"reasoning_effort":"extreme"`), "reasoning_effort",
			`reasoning_effort must be one that the model "svc-preview" takes: none, minimal, low, medium, high, xhigh, max.`},
		{"an effort is a word", chatBody(`"reasoning_effort":""`), "reasoning_effort", "reasoning_effort must not be empty."},
		{"a tool choice is a word", chatBody(`"tool_choice":""`), "tool_choice", "tool_choice must not be empty."},
		{"n is 1", chatBody(`"n":2`), "n", "n must be 1."},
		{"stream_options only with stream", chatBody(`"stream_options":{"include_usage":true}`), "stream_options", "stream_options may only be sent with stream."},
		{"metadata values are strings", chatBody(`"metadata":{"a":{}}`), "metadata.a", "metadata.a must be a string."},
		{"metadata is an object", chatBody(`"metadata":[]`), "metadata", "metadata must be an object."},
		{"a format has a type", chatBody(`"response_format":{}`), "response_format.type", "response_format.type is required."},
		{"a format's type is a word", chatBody(`"response_format":{"type":""}`), "response_format.type", "response_format.type must not be empty."},
		{"a format is known", chatBody(`"response_format":{"type":"xml"}`), "response_format.type", "response_format.type must be text, json_object or json_schema."},
		{"a schema format has a schema", chatBody(`"response_format":{"type":"json_schema"}`), "response_format.json_schema.name", "response_format.json_schema.name is required."},
		{"a schema compiles", chatBody(`"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"minimum":"1"}}}`), "response_format.json_schema.schema",
			"response_format.json_schema.schema is not a valid JSON Schema: at /minimum: got string, want number."},
		{"a tool is a function", chatBody(`"tools":[{"type":"web_search"}]`), "tools[0].type", `tools[0].type must be "function".`},
		{"a tool nests its function", chatBody(`"tools":[{"type":"function","name":"f"}]`), "tools[0].function.name", "tools[0].function.name is required."},
		{"parameters are an object", chatBody(`"tools":[{"type":"function","function":{"name":"f","parameters":[]}}]`), "tools[0].function.parameters",
			"tools[0].function.parameters must be an object."},
		{"a tool choice is known", chatBody(`"tool_choice":"named"`), "tool_choice", "tool_choice must be auto, required, none, or a function."},
		{"a chosen function has a name", chatBody(`"tool_choice":{"type":"function","function":{}}`), "tool_choice.function.name", "tool_choice.function.name is required."},
		{"a chosen function is a tool", chatBody(`"tool_choice":{"type":"function","function":{"name":"f"}}`), "tool_choice",
			`tool_choice names the function "f", which is not among the tools.`},

		{"a message is an object", `{"model":"svc-preview","messages":[null]}`, "messages[0].role", "messages[0].role is required."},
		{"content is text or parts", withContent(`{}`), "messages[0].content", "messages[0].content must be a string or an array of parts."},
		{"content is not empty", withContent(`[]`), "messages[0].content", "messages[0].content is required."},
		{"a part has a type", withContent(`[{}]`), "messages[0].content[0].type", "messages[0].content[0].type is required."},
		{"a text part has text", withContent(`[{"type":"text"}]`), "messages[0].content[0].text", "messages[0].content[0].text is required."},
		{"images are rejected", withContent(`[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"x"}}]`), "messages[0].content[1]",
			`messages[0].content[1] is a part of the type "image_url"; only text and file parts are accepted.`},
		{"audio is rejected", withContent(`[{"type":"input_audio"}]`), "messages[0].content[0]",
			`messages[0].content[0] is a part of the type "input_audio"; only text and file parts are accepted.`},
		{"video is rejected", withContent(`[{"type":"video_url"}]`), "messages[0].content[0]",
			`messages[0].content[0] is a part of the type "video_url"; only text and file parts are accepted.`},
		{"files by URL are rejected", withContent(`[{"type":"file","file_url":"https://example.com/a.pdf"}]`), "messages[0].content[0].file_url",
			"messages[0].content[0].file_url is not accepted; send the file as file_data, or upload it and send its file_id."},
		{"nested files by URL are rejected", withContent(`[{"type":"file","file":{"file_url":"https://example.com/a.pdf"}}]`), "messages[0].content[0].file.file_url",
			"messages[0].content[0].file.file_url is not accepted; send the file as file_data, or upload it and send its file_id."},
		{"file_data is base64", withContent(`[{"type":"file","filename":"a.txt","file_data":"*"}]`), "messages[0].content[0].file_data",
			"messages[0].content[0].file_data must be base64."},
		{"flat file_data is no data URL", withContent(`[{"type":"file","filename":"a.txt","file_data":"data:text/plain;base64,aGk="}]`), "messages[0].content[0].file_data",
			"messages[0].content[0].file_data must be base64."},
		{"a data URL has base64", withContent(`[{"type":"file","file":{"file_data":"data:text/plain,hi"}}]`), "messages[0].content[0].file.file_data",
			"messages[0].content[0].file.file_data must be base64, or a data URL with base64."},
		{"a file part has a file", withContent(`[{"type":"file","file":{"filename":"a.txt"}}]`), "messages[0].content[0]", "messages[0].content[0] needs a file_id or file_data."},
		{"a call has arguments", `{"model":"svc-preview","messages":[{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f"}}]}]}`,
			"messages[0].tool_calls[0].function.arguments", "messages[0].tool_calls[0].function.arguments is required."},
		{"a call is answered", `{"model":"svc-preview","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":""}}]}]}`,
			"messages[0].tool_calls[0]", `messages[0].tool_calls[0] is the call "1", which no tool message directly after it answers.`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := newChatServer(t)
			s.want("POST", chatPath, c.body, 400, errorJSON(c.param, "validation_error", c.message))
			if asked := s.script.Requests(); asked != nil {
				t.Errorf("the model was asked %v", asked)
			}
		})
	}
}

func TestOtherErrorsOfChats(t *testing.T) {
	s := newChatServer(t)
	s.want("POST", chatPath, strings.Replace(chatBody(""), "svc-preview", "gpt", 1), 404, errorJSON("model", "model_not_found", `No generation model found with id "gpt". Available: svc-preview.`))
	s.want("POST", chatPath, chatBody(`"max_tokens":393216`), 400, errorJSON("", "context_length_exceeded",
		"The prompt has 9 tokens and asks for up to 393216 more, but the model's context window is 393216 tokens."))
	s.want("POST", chatPath, `{"model":"svc-preview","messages":[{"role":"user","content":[{"type":"file","file_id":"file_1"}]}]}`, 404,
		errorJSON("messages[0].content[0]", "file_not_found", `No file found with id "file_1".`))
	s.want("POST", chatPath, `{"model":"svc-preview","messages":[{"role":"user","content":[{"type":"file","filename":"a.png","mime_type":"image/png","file_data":""}]}]}`, 400,
		errorJSON("messages[0].content[0]", "unsupported_file_type",
			`Files of the type "image/png" are not supported; plain text, Markdown, CSV, TSV, JSON, JSONL, XML, PDF and Word documents are.`))
	s.want("POST", chatPath, `{"model":`, 400, errorJSON("", "validation_error", "The request body is not valid JSON: it ends too early (byte 9)."))
}

func TestStoredChats(t *testing.T) {
	s := newChatServer(t, modeltest.Text("Hello"), modeltest.Text("Hello"), modeltest.Text("Hello"))
	first := completionJSON(1, helloJSON, "stop", plainUsage, `{"n":"1"}`)
	second := completionJSON(2, helloJSON, "stop", plainUsage, `{}`)
	const call = `{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}`
	s.want("POST", chatPath, chatBody(`"metadata":{"n":1}`), 200, first)
	s.want("POST", chatPath, `{"model":"svc-preview","messages":[{"role":"user","content":[{"type":"text","text":""},{"type":"file","file":{"filename":"a.txt","file_data":"data:text/plain;base64,aGk="}}]},`+
		`{"role":"assistant","tool_calls":[`+call+`]},{"role":"tool","tool_call_id":"a","content":"x"}]}`, 200, second)
	s.want("POST", chatPath, chatBody(`"store":false`), 200, completionJSON(3, helloJSON, "stop", plainUsage, `{}`))

	list := func(more bool, ids string, data ...string) string {
		firstID, lastID, ok := strings.Cut(ids, " ")
		if !ok {
			firstID, lastID = ids, ids
		}
		return fmt.Sprintf(`{"object":"list","data":[%s],"first_id":%s,"last_id":%s,"has_more":%v}`, strings.Join(data, ","), firstID, lastID, more)
	}
	const id1, id2 = `"chatcmpl_01"`, `"chatcmpl_02"`
	s.want("GET", chatPath, "", 200, list(false, id1+" "+id2, first, second))
	s.want("GET", chatPath+"?order=desc&limit=1", "", 200, list(true, id2, second))
	s.want("GET", chatPath+"?after=chatcmpl_01", "", 200, list(false, id2, second))
	s.want("GET", chatPath+"?metadata[n]=1", "", 200, list(false, id1, first))
	s.want("GET", chatPath+"?model=other", "", 200, list(false, "null"))
	s.want("GET", chatPath+"?limit=0", "", 400, errorJSON("limit", "validation_error", "limit must be between 1 and 100."))
	s.want("GET", chatPath+"/chatcmpl_01", "", 200, first)

	messages := []string{
		`{"id":"chatcmpl_02-0","role":"user","content":null,"content_parts":[{"type":"text","text":""},{"type":"file","filename":"a.txt","mime_type":"text/plain","file_data":"aGk="}],"refusal":null}`,
		`{"id":"chatcmpl_02-1","role":"assistant","content":null,"content_parts":null,"refusal":null,"tool_calls":[` + call + `]}`,
		`{"id":"chatcmpl_02-2","role":"tool","content":"x","content_parts":null,"refusal":null,"tool_call_id":"a"}`,
	}
	s.want("GET", chatPath+"/chatcmpl_02/messages", "", 200, list(false, `"chatcmpl_02-0" "chatcmpl_02-2"`, messages...))
	s.want("GET", chatPath+"/chatcmpl_02/messages?order=desc&after=chatcmpl_02-2&limit=1", "", 200, list(true, `"chatcmpl_02-1"`, messages[1]))

	s.want("POST", chatPath+"/chatcmpl_01", `{}`, 400, errorJSON("metadata", "validation_error", "metadata is required."))
	s.want("POST", chatPath+"/chatcmpl_01", `{"metadata":{"m":true}}`, 200, completionJSON(1, helloJSON, "stop", plainUsage, `{"m":"true"}`))
	s.want("POST", chatPath+"/chatcmpl_01", `{"metadata":null}`, 200, completionJSON(1, helloJSON, "stop", plainUsage, `{}`))

	s.want("DELETE", chatPath+"/chatcmpl_01", "", 200, `{"id":"chatcmpl_01","object":"chat.completion.deleted","deleted":true}`)
	for _, path := range []string{"/chatcmpl_01", "/chatcmpl_01/messages", "/chatcmpl_03"} {
		id, _, _ := strings.Cut(path[1:], "/")
		s.want("GET", chatPath+path, "", 404, errorJSON("", "completion_not_found", `No chat completion found with id "`+id+`".`))
	}
	s.want("DELETE", chatPath+"/chatcmpl_01", "", 404, errorJSON("", "completion_not_found", `No chat completion found with id "chatcmpl_01".`))
}
