package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// chatCall is what the body of a chat completion asks for.
type chatCall struct {
	request              chat.Request
	stream, includeUsage bool
}

func decodeChatText(body string) (*chatCall, error) {
	root, err := jsonin.Parse([]byte(body), jsonin.Dots)
	if err != nil {
		return nil, err
	}
	w := &wire.ChatRequest{}
	wire.Decode(root, w)
	if err := root.Err(); err != nil {
		return nil, err
	}
	if ignored := root.Ignored(); len(ignored) > 0 && strings.Contains(body, `"model"`) {
		return nil, fmt.Errorf("ignored %+v", ignored)
	}
	return &chatCall{*convert.FromChatRequest(w), isTrue(w.Stream), includeUsage(&w.Streaming)}, nil
}

func ref[T any](v T) *T { return &v }

// everyField is a body with every field in its richest form.
const everyField = `{
	"model":"m","stream":true,"stream_options":{"include_usage":true},
	"temperature":0.5,"max_tokens":10,"max_completion_tokens":10,"top_p":1,"stop":["a","b"],"reasoning_effort":"low","n":1,
	"response_format":{"type":"json_schema","json_schema":{"name":"n","description":"d","strict":true,"schema":{"type":"object"}}},
	"tools":[{"type":"function","function":{"name":"f","description":"d","strict":true,"parameters":{"type":"object"}}},{"type":"function","function":{"name":"g","parameters":null}}],
	"tool_choice":{"type":"function","function":{"name":"f"}},"parallel_tool_calls":false,"store":false,"metadata":{"k":1},
	"messages":[
		{"role":"developer","content":"d"},
		{"role":"user","content":[
			{"type":"text","text":""},
			{"type":"file","filename":"a.txt","mime_type":"text/plain","file_data":"aGk="},
			{"type":"file","file_id":"file_1"},
			{"type":"file","file":{"filename":"b.txt","file_data":"data:text/plain;charset=utf-8;base64,aGk="}},
			{"type":"file","file":{"filename":"c.txt","file_data":"aGk="}},
			{"type":"file","file":{"file_id":"file_2"}}]},
		{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"1","content":"x"}
	]}`

func TestDecodeChatReadsEveryField(t *testing.T) {
	got, err := decodeChatText(everyField)
	if err != nil {
		t.Fatal(err)
	}
	want := &chatCall{stream: true, includeUsage: true, request: chat.Request{
		Model: "m",
		Messages: []chat.Message{
			{Role: chat.Developer, Content: []chat.Part{chat.Text("d")}},
			{Role: model.User, Content: []chat.Part{
				chat.Text(""),
				chat.File{Name: "a.txt", MIMEType: "text/plain", Data: []byte("hi")},
				chat.File{ID: "file_1"},
				chat.File{Name: "b.txt", MIMEType: "text/plain;charset=utf-8", Data: []byte("hi")},
				chat.File{Name: "c.txt", Data: []byte("hi")},
				chat.File{ID: "file_2"},
			}},
			{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}},
			{Role: model.ToolRole, ToolCallID: "1", Content: []chat.Part{chat.Text("x")}},
		},
		Temperature: ref(0.5), TopP: ref(1.0), MaxTokens: ref(10), Stop: []string{"a", "b"}, ReasoningEffort: "low",
		Format: model.Format{Type: model.FormatSchema, Name: "n", Description: "d", Strict: true, Schema: json.RawMessage(`{"type":"object"}`)},
		Tools: []model.Tool{
			{Name: "f", Description: "d", Strict: true, Parameters: json.RawMessage(`{"type":"object"}`)},
			{Name: "g"},
		},
		ToolChoice: model.ToolChoice{Mode: model.ToolNamed, Name: "f"},
		N:          1, ParallelToolCalls: ref(false), Store: ref(false), Metadata: map[string]string{"k": "1"},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\ngot  %+v\nwant %+v", got, want)
	}
}

func TestDecodeChatTakesOmittedAndNullAlike(t *testing.T) {
	const messages = `"messages":[{"role":"user","content":"Hi"}]`
	want, err := decodeChatText(`{"model":"m",` + messages + `}`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeChatText(`{"model":"m","stream":null,"stream_options":null,"temperature":null,"max_tokens":null,"max_completion_tokens":null,
		"top_p":null,"stop":null,"reasoning_effort":null,"n":null,"response_format":null,"tools":null,"tool_choice":null,"parallel_tool_calls":null,
		"store":null,"metadata":null,` + messages + `}`)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\ngot  %+v\nwant %+v", got, want)
	}
}

func TestDecodeChatTakesOtherSpellings(t *testing.T) {
	for field, want := range map[string]chat.Request{
		`"max_completion_tokens":5`:                {MaxTokens: ref(5)},
		`"stop":"x"`:                               {Stop: []string{"x"}},
		`"tool_choice":"required"`:                 {ToolChoice: model.ToolChoice{Mode: model.ToolRequired}},
		`"tool_choice":"auto"`:                     {ToolChoice: model.ToolChoice{Mode: model.ToolAuto}},
		`"tool_choice":"none"`:                     {ToolChoice: model.ToolChoice{Mode: model.ToolNone}},
		`"response_format":{"type":"text"}`:        {Format: model.Format{Type: model.FormatText}},
		`"response_format":{"type":"json_object"}`: {Format: model.Format{Type: model.FormatObject}},
	} {
		got, err := decodeChatText(`{` + field + `}`)
		if err != nil {
			t.Fatal(err)
		}
		want.Metadata = map[string]string{}
		if !reflect.DeepEqual(got.request, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", field, got.request, want)
		}
	}
}

func FuzzDecodeChat(f *testing.F) {
	f.Add(everyField)
	f.Add(`{"messages":[{"content":[null]}],"tools":[1],"tool_choice":{},"stop":[[]]}`)
	f.Add(`{"messages":[{"content":[{"type":"file","file":[]}]}],"response_format":{"type":"json_schema","json_schema":1}}`)
	f.Fuzz(func(t *testing.T, body string) {
		c, err := decodeChatText(body)
		if err != nil {
			if kind := fault.From(err).Kind; kind != fault.Invalid {
				t.Errorf("kind %v: %v", kind, err)
			}
			return
		}
		for _, m := range c.request.Messages {
			for _, p := range m.Content {
				if p == nil {
					t.Error("a part is nil")
				}
			}
		}
	})
}

func TestAccessToChats(t *testing.T) {
	script := modeltest.New()
	script.Infos = []model.Info{{ID: "other", Generates: true}}
	a := newDecisionAPI(t, script)
	for _, c := range []struct {
		rule, key    string
		status       int
		answer, code string
	}{
		{"a key is required", "", 401, "authentication_error", "invalid_api_key"},
		{"a key is known", a.unassigned, 401, "authentication_error", "invalid_api_key"},
		{"a key has an organization", a.orphan, 403, "permission_error", "access_denied"},
		{"an organization is active", a.suspended, 403, "permission_error", "org_suspended"},
		{"a key may use the model", a.limited, 403, "permission_error", "model_access_denied"},
		{"an organization has credits", a.poor, 402, "insufficient_credits", "insufficient_credits"},
	} {
		r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(`{"model":"other","stream":true,"messages":[{"role":"user","content":"Hi"}]}`))
		if c.key != "" {
			r.Header.Set("Authorization", "Bearer "+c.key)
		}
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		var got struct{ Error struct{ Type, Code string } }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if w.Code != c.status || got.Error.Type != c.answer || got.Error.Code != c.code {
			t.Errorf("%s: got %d %s, want %d %s %s", c.rule, w.Code, w.Body, c.status, c.answer, c.code)
		}
	}
	if asked := script.Requests(); asked != nil {
		t.Errorf("the model was asked %v", asked)
	}
}
