package httpapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/openai"
)

// upstream is a model server of a test: it remembers what it was sent and
// answers with what the test says.
type upstream struct {
	*httptest.Server
	paths  []string
	bodies []string
	answer func(w http.ResponseWriter, body string)
}

func newUpstream(t testing.TB, answer func(w http.ResponseWriter, body string)) *upstream {
	u := &upstream{answer: answer}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		u.paths, u.bodies = append(u.paths, r.URL.Path), append(u.bodies, string(body))
		u.answer(w, string(body))
	}))
	t.Cleanup(u.Close)
	return u
}

// chunks are an answer that streams events.
func chunks(events ...string) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			fmt.Fprintf(w, "data: %s\n\n", e)
		}
		io.WriteString(w, "data: [DONE]\n\n")
	}
}

// over is the interface over a model server.
func (u *upstream) over(t testing.TB) *turns {
	t.Helper()
	backend, err := openai.New(openai.Options{Logger: slog.New(slog.DiscardHandler), Models: []openai.Model{{
		Info:    model.Info{ID: model.DefaultGenerator, Generates: true},
		Targets: []openai.Target{{Server: &openai.Server{URL: u.URL + "/v1", Key: "sk-upstream-secret"}}},
	}}})
	must(t, err)
	t.Cleanup(backend.Close)
	service, err := svc.New(t.Context(), svc.Options{Backend: backend, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(func() { must(t, service.Close()) })
	key, err := service.Bootstrap(t.Context(), "")
	must(t, err)
	return &turns{t: t, key: key, API: httpapi.Contract(t, httpapi.New(service, httpapi.Options{Logger: slog.New(slog.DiscardHandler)}))}
}

// sampling are fields that are handed through, and what the model server gets.
const sampling = `"seed":7,"presence_penalty":0.5,"frequency_penalty":-0.5,"repetition_penalty":1.1,"min_p":0.05,"top_k":40,` +
	`"logit_bias":{"42":-100},"prompt_cache_key":"k","chat_template_kwargs":{"enable_thinking":false}`

const ok = `{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`

func TestSamplingIsHandedThrough(t *testing.T) {
	u := newUpstream(t, chunks(ok))
	a := u.over(t)
	r := a.post(plain(sampling + `,"safety_identifier":"me","max_tool_calls":3,"top_logprobs":2,"service_tier":"flex","include":["reasoning.encrypted_content"]`))
	a.want(200, "POST", "/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}],`+sampling+`}`)
	is := is.New(t)
	for _, body := range u.bodies {
		var got map[string]json.RawMessage
		decode(t, body, &got)
		var want map[string]json.RawMessage
		decode(t, "{"+sampling+"}", &want)
		for name, value := range want {
			is.Equal(string(got[name]), string(value)) // of the field
		}
		is.True(got["logprobs"] == nil)
	}
	for _, echoed := range []string{`"presence_penalty":0.5`, `"frequency_penalty":-0.5`, `"prompt_cache_key":"k"`, `"safety_identifier":"me"`, `"max_tool_calls":3`, `"top_logprobs":2`} {
		if !strings.Contains(r, echoed) {
			t.Errorf("%s is not in %s", echoed, r)
		}
	}
}

func TestFieldsThatAreRefused(t *testing.T) {
	a := newTurns(t)
	for _, c := range []struct{ field, param, message string }{
		{`"prompt":{"id":"x"}`, "prompt", "prompt is not supported: there are no stored prompts here; send instructions and input."},
		{`"seed":1.5`, "seed", "seed must be an integer."},
		{`"presence_penalty":3`, "presence_penalty", "presence_penalty must be between -2 and 2."},
		{`"frequency_penalty":-3`, "frequency_penalty", "frequency_penalty must be between -2 and 2."},
		{`"min_p":2`, "min_p", "min_p must be between 0 and 1."},
		{`"repetition_penalty":0`, "repetition_penalty", "repetition_penalty must be greater than 0."},
		{`"top_logprobs":21`, "top_logprobs", "top_logprobs must be between 0 and 20."},
		{`"logit_bias":{"1":101}`, "logit_bias.1", "logit_bias.1 must be a number between -100 and 100."},
		{`"logit_bias":[]`, "logit_bias", "logit_bias must be an object."},
		{`"chat_template_kwargs":1`, "chat_template_kwargs", "chat_template_kwargs must be an object."},
		{`"max_tool_calls":0`, "max_tool_calls", "max_tool_calls must be at least 1."},
	} {
		a.wantInvalid("POST", "/v1/responses", plain(c.field), c.param, c.message)
	}
	for _, c := range []struct{ field, param, message string }{
		{`"functions":[]`, "functions", "functions is not supported: send tools."},
		{`"function_call":"auto"`, "function_call", "function_call is not supported: send tool_choice."},
		{`"audio":{}`, "audio", "audio is not supported: answers are text."},
		{`"modalities":["text","audio"]`, "modalities[1]", `modalities[1] must be "text": answers are text.`},
		{`"web_search_options":{}`, "web_search_options", "web_search_options is not supported: web search is a tool of POST /v1/responses."},
		{`"n":2`, "n", "n must be 1."},
		{`"top_logprobs":2`, "top_logprobs", "top_logprobs may only be sent with logprobs."},
	} {
		a.wantInvalid("POST", "/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}],`+c.field+`}`, c.param, c.message)
	}
}

func TestLogprobs(t *testing.T) {
	token := func(text, p string) string {
		return `{"token":"` + text + `","logprob":` + p + `,"bytes":null,"top_logprobs":[{"token":"` + text + `","logprob":` + p + `},{"token":"x","logprob":-9}]}`
	}
	// The thought is not shown, and so neither are its tokens.
	u := newUpstream(t, chunks(
		`{"choices":[{"delta":{"content":"<think>"},"logprobs":{"content":[`+token("<think>", "-1")+`]}}]}`,
		`{"choices":[{"delta":{"content":"no</think>"},"logprobs":{"content":[`+token("no", "-1")+`,`+token("</think>", "-1")+`]}}]}`,
		`{"choices":[{"delta":{"content":"He"},"logprobs":{"content":[`+token("He", "-0.5")+`]}}]}`,
		`{"choices":[{"delta":{"content":"llo"},"logprobs":{"content":[`+token("llo", "-0.25")+`]},"finish_reason":"stop"}]}`))
	a := u.over(t)
	is := is.New(t)
	const he = `{"token":"He","bytes":[72,101],"logprob":-0.5,"top_logprobs":[{"token":"He","bytes":[72,101],"logprob":-0.5},{"token":"x","bytes":[120],"logprob":-9}]}`
	const llo = `{"token":"llo","bytes":[108,108,111],"logprob":-0.25,"top_logprobs":[{"token":"llo","bytes":[108,108,111],"logprob":-0.25},{"token":"x","bytes":[120],"logprob":-9}]}`
	chat := func(fields string) string {
		return a.want(200, "POST", "/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}],"logprobs":true,"top_logprobs":2`+fields+`}`)
	}
	whole := chat("")
	is.True(strings.Contains(whole, `"logprobs":{"content":[`+he+`,`+llo+`],"refusal":null}`))
	is.True(strings.Contains(u.bodies[0], `"logprobs":true,"top_logprobs":2`))
	var c struct{ ID string }
	decode(t, whole, &c)
	is.Equal(a.want(200, "GET", "/v1/chat/completions/"+c.ID, ""), whole)
	streamed := chat(`,"stream":true`)
	is.True(strings.Contains(streamed, `"delta":{"content":"llo"},"logprobs":{"content":[`+llo+`],"refusal":null}`))

	const include = `"include":["message.output_text.logprobs"],"top_logprobs":2`
	whole = a.post(plain(include))
	is.True(strings.Contains(whole, `"text":"Hello","annotations":[],"logprobs":[`+he+`,`+llo+`]`))
	var r response
	decode(t, whole, &r)
	is.Equal(a.want(200, "GET", "/v1/responses/"+r.ID, ""), whole)
	streamed = a.post(plain(include + `,"stream":true`))
	is.True(strings.Contains(streamed, `"delta":"llo","logprobs":[{"token":"llo","logprob":-0.25,"top_logprobs":[{"token":"llo","logprob":-0.25},{"token":"x","logprob":-9}]}]`))
	is.True(strings.Contains(a.post(plain(`"top_logprobs":2`)), `"text":"Hello","annotations":[],"logprobs":[]`)) // nobody asked

	u.answer = chunks(ok)
	a.wantError("POST", "/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}],"logprobs":true}`,
		400, "invalid_request_error", "request_rejected", "logprobs", "The model gives no log-probabilities; ask without them.")
	a.wantError("POST", "/v1/responses", plain(include),
		400, "invalid_request_error", "request_rejected", "logprobs", "The model gives no log-probabilities; ask without them.")
}

func TestMaxToolCalls(t *testing.T) {
	a := newTurns(t, search(`["a"]`), search(`["b"]`))
	a.script.Answers = append(a.script.Answers, search(`["c"]`))
	r := a.turn(plain(`"max_tool_calls":2,"tools":[` + searchTool + `]`))
	is := is.New(t)
	is.Equal(len(a.script.Requests()[1].Tools), 1)
	is.Equal(len(a.script.Requests()[2].Tools), 0) // the model must answer
	is.Equal(r.Status, "failed")                   // it searched all the same
}

// TestWhatTheModelServerSaid passes on why a model server refuses a request, and
// nothing of what is the operator's.
func TestWhatTheModelServerSaid(t *testing.T) {
	var status int
	var said string
	u := newUpstream(t, func(w http.ResponseWriter, _ string) {
		w.WriteHeader(status)
		io.WriteString(w, said)
	})
	a := u.over(t)
	const refused = "The model does not take this request"
	for _, c := range []struct {
		status int
		said   string
		want   int
		code   string
		text   string
	}{
		{400, `{"error":{"message":"top_k must be positive"}}`, 400, "request_rejected", refused + ": top_k must be positive"},
		{422, `{"detail":[{"msg":"Input should be a number"}]}`, 400, "request_rejected", refused + ": Input should be a number"},
		{400, `{"error":"{\"error\":{\"message\":\"no\\nimages\"}}"}`, 400, "request_rejected", refused + ": no images"},
		{413, `too long`, 400, "request_rejected", refused + ": too long"},
		{400, `<html>nginx 10.0.0.7</html>`, 400, "request_rejected", refused + "."},
		{400, `{"error":{"message":"see http://gpu-7.internal:8000/v1?k=1 with key sk-upstream-secret on 10.0.0.7:80 or Bearer abc"}}`, 400, "request_rejected",
			refused + ": see […] with key […] on […] or […]"},
		{400, `{"error":{"message":"` + strings.Repeat("é", 400) + `"}}`, 400, "request_rejected", refused + ": " + strings.Repeat("é", 250) + "…"},
		{401, `{"error":{"message":"bad key sk-1"}}`, 502, "model_error", "The model server cannot be used."},
		{500, `{"error":{"message":"stack trace"}}`, 502, "model_error", "The model server failed."},
	} {
		status, said = c.status, c.said
		kind := map[int]string{400: "invalid_request_error", 502: "server_error"}[c.want]
		a.wantError("POST", "/v1/responses", plain(`"store":false`), c.want, kind, c.code, "", c.text)
	}
}

// TestAChatStreamThatFails ends plainly behind its error.
func TestAChatStreamThatFails(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, _ string) {
		io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Half\"}}]}\n\n")
	})
	a := u.over(t)
	got := a.do("POST", "/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}],"stream":true}`)
	is := is.New(t)
	is.True(!got.aborted)
	is.True(strings.HasSuffix(got.body, "data: {\"error\":{\"message\":\"The model's answer broke off.\",\"type\":\"server_error\",\"param\":null,\"code\":\"model_error\"}}\n\n"))
}
