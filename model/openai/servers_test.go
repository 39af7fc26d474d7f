package openai

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/model"
)

// What real servers do, line by line, and what becomes of it.

func ask(text string) *model.Request {
	return &model.Request{Model: model.DefaultGenerator, Messages: []model.Message{model.TextMessage(model.User, text)}}
}

// answerOf folds a stream of events.
type answerOf struct {
	text    string
	calls   []string // name and arguments
	usage   model.Usage
	reason  model.FinishReason
	started bool
	err     error
}

func fold(ctx context.Context, b model.Backend, req *model.Request) (a answerOf) {
	for event, err := range b.Generate(ctx, req) {
		switch e := event.(type) {
		case model.Started:
			a.started = true
		case model.TextDelta:
			a.text += e.Text
		case model.ToolCallStart:
			a.calls = append(a.calls, e.Name)
		case model.ToolCallDelta:
			a.calls[len(a.calls)-1] += e.Arguments
		case model.Usage:
			a.usage = e
		case model.Finish:
			a.reason = e.Reason
		}
		a.err = err
	}
	return a
}

// events answers with server-sent events.
func events(data ...string) func(http.ResponseWriter, *doubleRequest) bool {
	return func(w http.ResponseWriter, _ *doubleRequest) bool {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, d := range data {
			fmt.Fprintf(w, "data: %s\n\n", d)
			w.(http.Flusher).Flush()
		}
		return true
	}
}

// delta is the data of an event with a delta.
func delta(delta string) string {
	return `{"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}`
}

// finish is the data of the last event.
func finish(reason string) string {
	return `{"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

func checkFault(t *testing.T, err error, kind fault.Kind, code string) {
	t.Helper()
	f := fault.From(err)
	if err == nil || f.Kind != kind || f.Code != code {
		t.Errorf("got %v, want %v %s", err, kind, code)
	}
}

func TestContextOverflowIsRefusedHere(t *testing.T) {
	for _, tokenizer := range []string{"", "vllm", "llama"} {
		t.Run("tokenizer "+tokenizer, func(t *testing.T) {
			d := (&double{tokenizer: tokenizer, window: 50}).serve(t)
			b := d.backend(t, withModel(func(m *Model) { m.Info.ContextWindow = 50 }))
			a := fold(t.Context(), b, ask(strings.Repeat("word ", 60)))
			checkFault(t, a.err, fault.Rejected, fault.CodeContextLength)
			if len(d.seen()) != 0 {
				t.Error("the request was sent")
			}
			if a := fold(t.Context(), b, ask(strings.Repeat("word ", 30))); a.err != nil {
				t.Error(a.err)
			}
		})
	}
}

func TestMissingTokenizerIsAskedForOnce(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.NotFound(w, r)
	}))
	defer server.Close()
	b := (&double{url: server.URL + "/v1"}).backend(t)
	for range 3 {
		if n, err := b.CountTokens(t.Context(), ask("one two three")); err != nil || n < 3 {
			t.Errorf("got %d, %v", n, err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

func TestProbe(t *testing.T) {
	tests := map[string]struct {
		double  *double
		window  int // configured
		want    int
		warning string
	}{
		"vllm":                  {&double{tokenizer: "vllm", window: 77}, 0, 77, ""},
		"llama.cpp":             {&double{tokenizer: "llama", window: 77}, 0, 77, ""},
		"unknown":               {&double{}, 0, 0, "the context window of the model is not known; many servers cut longer prompts without a word"},
		"configured":            {&double{}, 50, 50, ""},
		"configured, too large": {&double{tokenizer: "vllm", window: 77}, 100, 100, "the configured context window is larger than the server's"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			d := tt.double.serve(t)
			b := d.backend(t, withModel(func(m *Model) { m.Info.ContextWindow = tt.window }), func(o *Options) {
				o.Models = o.Models[:1]
				o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
			})
			b.Probe(t.Context())
			for _, info := range b.Models() {
				if found, _ := b.Model(info.ID); info.ContextWindow != tt.want || found.ContextWindow != tt.want {
					t.Errorf("got %+v and %+v", info, found)
				}
			}
			if lines := strings.Count(log.String(), "\n"); !strings.Contains(log.String(), tt.warning) || tt.warning == "" && lines > 0 || lines > 1 {
				t.Errorf("logged %s", &log)
			}
		})
	}
}

func TestTopLogprobsStayWithinTheLimit(t *testing.T) {
	for _, limit := range []int{5, 20} {
		d := (&double{maxTopLogprobs: limit}).serve(t)
		b := d.backend(t, withServer(func(s *Server) { s.TopLogprobs = limit }))
		if _, err := b.Score(t.Context(), question("A", "B")); err != nil {
			t.Error(err)
		}
		if got := d.seen()[0]; got.Get("top_logprobs").Int() != int64(limit) || !got.Get("logprobs").Bool() {
			t.Errorf("got %s", got)
		}
	}
}

func TestTokenLimitHasTheServersName(t *testing.T) {
	for limit, other := range map[TokenLimit]TokenLimit{MaxTokens: MaxCompletionTokens, MaxCompletionTokens: MaxTokens} {
		d := (&double{}).serve(t)
		req := ask("x")
		req.MaxTokens = 3
		a := fold(t.Context(), d.backend(t, withServer(func(s *Server) { s.TokenLimit = limit })), req)
		sent := d.seen()[0]
		if a.reason != model.Length || sent.Get(string(limit)).Int() != 3 || sent.Get(string(other)).Exists() {
			t.Errorf("%s: got %+v for %s", limit, a, sent)
		}
	}
	d := (&double{}).serve(t)
	fold(t.Context(), d.backend(t), ask("x"))
	if sent := d.seen()[0]; sent.Get("max_tokens").Exists() {
		t.Errorf("no limit was asked for, but sent: %s", sent)
	}
}

func TestSchemasThatCrashServersAreNotSent(t *testing.T) {
	d := (&double{}).serve(t)
	req := ask("x")
	req.Format = model.Format{Type: model.FormatSchema, Name: "n", Schema: []byte(`{"type":"array","minItems":5000}`)}
	req.Tools = []model.Tool{{Name: "f", Parameters: []byte(`{"type":"object","properties":{"a":{"type":"array","minItems":2001}}}`)}}
	fold(t.Context(), d.backend(t), req)
	sent := d.seen()[0]
	if got := sent.Get("response_format.json_schema.schema").Raw; got != `{"type":"array","minItems":2000}` {
		t.Errorf("sent %s", got)
	}
	if got := sent.Get("tools.0.function.parameters.properties.a.minItems").Raw; got != "2000" {
		t.Errorf("sent %s", got)
	}
	if string(req.Format.Schema) != `{"type":"array","minItems":5000}` {
		t.Error("the request was changed")
	}
}

func TestObjectIsNotFollowedByBlankLines(t *testing.T) {
	d := (&double{}).serve(t)
	req := ask("x")
	req.Format.Type = model.FormatObject
	for event, err := range generation.Stream(t.Context(), d.backend(t), req, nil, &generation.Meter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := event.(model.TextDelta); ok && e.Text != `{"name": "Ada", "age": 36}` {
			t.Errorf("got %q", e.Text)
		}
	}
}

func TestEndlessBlankLinesEndAnAnswer(t *testing.T) {
	gone := make(chan struct{})
	d := (&double{intercept: func(w http.ResponseWriter, r *doubleRequest) bool {
		events(delta(`{"content":"{\"a\": [1, \"}\"]}"}`))(w, r)
		for r.Context().Err() == nil {
			events(delta(`{"content":"\n"}`))(w, r)
		}
		close(gone)
		return true
	}}).serve(t)
	req := ask("x")
	req.Format.Type = model.FormatObject
	a := fold(t.Context(), d.backend(t), req)
	if a.err != nil || a.reason != model.Stop || strings.TrimSpace(a.text) != `{"a": [1, "}"]}` || a.usage.OutputTokens == 0 {
		t.Errorf("got %+v", a)
	}
	<-gone
}

func TestToolChoiceIsKeptHere(t *testing.T) {
	tools := []model.Tool{
		{Name: "get_weather", Parameters: []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)},
		{Name: "now"},
	}
	tests := map[string]struct {
		choice model.ToolChoice
		tools  []model.Tool
		calls  []string
		asked  int
	}{
		"none":           {model.ToolChoice{Mode: model.ToolNone}, tools, nil, 1},
		"named":          {model.ToolChoice{Mode: model.ToolNamed, Name: "get_weather"}, tools, []string{`get_weather{"city": "Ada"}`}, 2},
		"no arguments":   {model.ToolChoice{Mode: model.ToolNamed, Name: "now"}, tools, []string{`now{}`}, 1},
		"required":       {model.ToolChoice{Mode: model.ToolRequired}, tools, []string{`get_weather{"city": "Ada"}`}, 3},
		"required, only": {model.ToolChoice{Mode: model.ToolRequired}, tools[:1], []string{`get_weather{"city": "Ada"}`}, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := (&double{}).serve(t)
			req := ask("What is the weather?")
			req.Tools, req.ToolChoice = tt.tools, tt.choice
			a := fold(t.Context(), d.backend(t), req)
			if a.err != nil || !reflect.DeepEqual(a.calls, tt.calls) || (a.text == "") != (tt.calls != nil) || len(d.seen()) != tt.asked {
				t.Errorf("got %+v after %d requests", a, len(d.seen()))
			}
			if offered := d.seen()[0].Get("tools").Exists(); offered == (tt.choice.Mode == model.ToolNone) {
				t.Errorf("tools offered: %v", offered)
			}
		})
	}
}

func TestCallMadeHereKeepsTheTokenLimit(t *testing.T) {
	tools := []model.Tool{{Name: "get_weather", Parameters: []byte(`{"type":"object","properties":{"city":{"type":"string"}}}`)}}
	answer := len(words((&double{}).text(gjson.Result{})))
	for left, reason := range map[int]model.FinishReason{0: model.Length, 1: model.Length, 2: model.ToolCalls} {
		d := (&double{}).serve(t)
		req := ask("x")
		req.Tools, req.ToolChoice.Mode, req.MaxTokens = tools, model.ToolRequired, answer+left
		a := fold(t.Context(), d.backend(t), req)
		if a.err != nil || a.reason != reason || a.usage.OutputTokens != req.MaxTokens || (len(a.calls) == 1) != (reason == model.ToolCalls) {
			t.Errorf("%d tokens left: got %+v", left, a)
		}
		if requests := d.seen(); left > 0 && requests[1].Get("max_tokens").Int() != int64(left) {
			t.Errorf("sent %s", requests[1])
		}
	}
}

func TestSmallestWindowHolds(t *testing.T) {
	var targets []Target
	for _, window := range []int{77, 50, 60} {
		targets = append(targets, Target{Server: &Server{URL: (&double{tokenizer: "vllm", window: window}).serve(t).url}, Model: "double"})
	}
	b := (&double{}).serve(t).backend(t, withModel(func(m *Model) { m.Targets = targets }))
	b.Probe(t.Context())
	if got := b.Models()[0].ContextWindow; got != 50 {
		t.Errorf("got %d", got)
	}
}

func TestEffortThatTheModelDoesNotTake(t *testing.T) {
	tests := map[string]struct {
		effort string
		model  func(*Model)
		sent   []string // as the server saw it
		kind   fault.Kind
	}{
		"taken":       {effort: "low", sent: []string{"low"}},
		"left out":    {effort: "high", sent: []string{"high", ""}},
		"none stays":  {effort: "none", sent: []string{"none"}, kind: fault.Rejected},
		"mapped":      {effort: "max", model: func(m *Model) { m.Efforts = map[string]string{"max": "low"} }, sent: []string{"low"}},
		"mapped away": {effort: "none", model: func(m *Model) { m.Efforts = map[string]string{"none": ""} }, sent: []string{""}},
		"configured": {effort: "high", model: func(m *Model) { m.Info.ReasoningEfforts = []string{"high"} },
			sent: []string{"high"}, kind: fault.Rejected},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := (&double{efforts: []string{"low"}}).serve(t)
			req := ask("x")
			req.ReasoningEffort = tt.effort
			b := d.backend(t, withModel(func(m *Model) {
				if tt.model != nil {
					tt.model(m)
				}
			}))
			a := fold(t.Context(), b, req)
			if tt.kind != 0 {
				checkFault(t, a.err, tt.kind, "request_rejected")
			} else if a.err != nil {
				t.Error(a.err)
			}
			var sent []string
			for _, r := range d.seen() {
				sent = append(sent, r.Get("reasoning_effort").Str)
			}
			if !reflect.DeepEqual(sent, tt.sent) {
				t.Errorf("sent %q, want %q", sent, tt.sent)
			}
		})
	}
}

func TestReasoningIsNeverShown(t *testing.T) {
	for _, field := range []string{"reasoning", "reasoning_content", "think"} {
		d := (&double{reasoning: "Secret thoughts about it.", thoughts: field}).serve(t)
		a := fold(t.Context(), d.backend(t), ask("x"))
		if a.err != nil || a.text != (&double{}).text(gjson.Result{}) || a.usage.ReasoningTokens != 4 {
			t.Errorf("%s: got %+v", field, a)
		}
	}
}

func TestStartComesWithTheFirstThought(t *testing.T) {
	first := make(chan struct{})
	d := (&double{intercept: func(w http.ResponseWriter, r *doubleRequest) bool {
		events(delta(`{"reasoning":"hm"}`))(w, r)
		<-first
		return events(delta(`{"content":"x"}`), finish("stop"))(w, r)
	}}).serve(t)
	var got []model.Event
	for event, err := range d.backend(t).Generate(t.Context(), ask("x")) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, event); len(got) == 1 {
			close(first)
		}
	}
	if got[0] != (model.Started{}) || got[1] != (model.TextDelta{Text: "x"}) {
		t.Errorf("got %+v", got)
	}
}

func TestImagesDoNotGoToModelsThatDoNotSee(t *testing.T) {
	image := model.Image{MediaType: "image/png", Data: []byte("png"), Width: 8, Height: 8}
	for _, blind := range []bool{true, false} {
		d := (&double{}).serve(t)
		b := d.backend(t, withModel(func(m *Model) { m.NoImages = blind }))
		req := ask("x")
		req.Messages[0].Parts = append(req.Messages[0].Parts, image)
		a := fold(t.Context(), b, req)
		judged := question("A", "B")
		judged.State = append(judged.State, image)
		_, err := b.Score(t.Context(), judged)
		if blind {
			checkFault(t, a.err, fault.Rejected, "request_rejected")
			checkFault(t, err, fault.Rejected, "request_rejected")
			if len(d.seen()) != 0 {
				t.Error("the image was sent")
			}
			continue
		}
		if a.err != nil || err != nil {
			t.Fatal(a.err, err)
		}
		want := `[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]`
		if got := d.seen()[0].Get("messages.0.content").Raw; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestMessagesKeepTheirRoles(t *testing.T) {
	d := (&double{}).serve(t)
	req := ask("x")
	req.Messages = []model.Message{
		model.TextMessage(model.System, "s"),
		{Role: model.User, Parts: []model.Part{model.Text("<u>"), model.Document{Name: "a.txt", Text: "t"}}},
		model.TextMessage(model.User, "v"),
		{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "c", Name: "f", Arguments: "{}"}}},
		{Role: model.ToolRole, ToolCallID: "c", Parts: []model.Part{model.Text("r")}},
	}
	fold(t.Context(), d.backend(t), req)
	want := `[{"role":"system","content":"s"},` +
		`{"role":"user","content":"<u>\n\nThe file \"a.txt\":\n\"\"\"\nt\n\"\"\""},{"role":"user","content":"v"},` +
		`{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
		`{"role":"tool","content":"r","tool_call_id":"c"}]`
	if got := d.seen()[0].Get("messages").Raw; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestUsage(t *testing.T) {
	d := (&double{}).serve(t)
	b := d.backend(t)
	first, second := fold(t.Context(), b, ask("one two three")), fold(t.Context(), b, ask("one two four"))
	if first.usage != (model.Usage{InputTokens: 3, OutputTokens: 12}) {
		t.Errorf("got %+v", first.usage)
	}
	if second.usage.CachedTokens == 0 {
		t.Errorf("got %+v", second.usage)
	}
	if !d.seen()[0].Get("stream_options.include_usage").Bool() {
		t.Error("the usage was not asked for")
	}
	silent := fold(t.Context(), (&double{noUsage: true}).serve(t).backend(t), ask("one two three"))
	if silent.usage.InputTokens < 3 || silent.usage.OutputTokens < 12 || silent.usage.CachedTokens != 0 {
		t.Errorf("estimated %+v", silent.usage)
	}
}

func TestOtherModelsArePassedOn(t *testing.T) {
	d := (&double{}).serve(t)
	server := &Server{URL: d.url}
	others := Model{Info: model.Info{Generates: true}, Targets: []Target{{Server: server}}}
	b := d.backend(t, func(o *Options) { o.Others = &others })
	info, ok := b.Model("llama3:8b")
	if !ok || info.ID != "llama3:8b" || !info.Generates || info.Decides || len(b.Models()) != 2 {
		t.Errorf("got %+v, %v", info, ok)
	}
	req := ask("x")
	req.Model = "llama3:8b"
	if a := fold(t.Context(), b, req); a.err != nil || d.seen()[0].Get("model").Str != "llama3:8b" {
		t.Errorf("got %+v for %s", a, d.seen()[0])
	}
	missing := (&double{intercept: func(w http.ResponseWriter, _ *doubleRequest) bool {
		refuse(w, http.StatusNotFound, "model not found")
		return true
	}}).serve(t)
	server.URL = missing.url
	b = d.backend(t, func(o *Options) { o.Others = &others })
	checkFault(t, fold(t.Context(), b, req).err, fault.NotFound, model.CodeNotFound)
	if n := len(missing.seen()); n != 1 {
		t.Errorf("asked %d times for a model that is not there", n)
	}
	if _, ok := d.backend(t).Model("llama3:8b"); ok {
		t.Error("an unknown model is known")
	}
}

func TestKeyIsSent(t *testing.T) {
	var got string
	d := (&double{intercept: func(_ http.ResponseWriter, r *doubleRequest) bool {
		got = r.Header.Get("Authorization")
		return false
	}}).serve(t)
	fold(t.Context(), d.backend(t, withServer(func(s *Server) { s.Key = "sk-1" })), ask("x"))
	if got != "Bearer sk-1" {
		t.Errorf("got %q", got)
	}
}
