package openai

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model"
)

// TestContinue has a text continued by servers that stream, that answer as a
// whole though they should stream, and that are asked for the whole.
func TestContinue(t *testing.T) {
	const whole = `{"object":"text_completion","choices":[{"index":0,"text":"<think> a \"time\"","logprobs":null,"finish_reason":"length"}],` +
		`"usage":{"prompt_tokens":3,"completion_tokens":4}}`
	const fields = `"max_tokens":5,"temperature":0,"stop":["."],`
	const rest = `"seed":7,"logit_bias":{"42":-100}}`
	for name, c := range map[string]struct {
		whole    bool
		body     string
		kind     string
		answer   string
		modified func(*Server)
	}{
		"streamed": {false, fields + `"stream":true,"stream_options":{"include_usage":true},` + rest, "text/event-stream",
			`data: {"id":"c","object":"text_completion","choices":[{"index":0,"text":"<think> a","logprobs":null,"finish_reason":null}]}` + "\n\n" +
				`data: {"id":"c","object":"text_completion","choices":[{"index":0,"text":" \"time\"","finish_reason":null,"stop_reason":1}]}` + "\n\n" +
				`data: {"id":"c","object":"text_completion","choices":[{"index":0,"text":"","finish_reason":"length"}],"usage":null}` + "\n\n" +
				`data: {"id":"c","object":"text_completion","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}` + "\n\ndata: [DONE]\n\n", nil},
		"whole, though a stream was wanted": {false, fields + `"stream":true,"stream_options":{"include_usage":true},` + rest, "application/json", whole, nil},
		"whole":                             {true, fields + rest, "application/json", whole, nil},
		"from a server with another name for the limit of chats": {true, fields + rest, "application/json", whole,
			func(s *Server) { s.TokenLimit = MaxCompletionTokens }},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			var asked []string
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost || r.URL.Path == "/tokenize" {
					http.NotFound(w, r)
					return
				}
				asked = append(asked, r.URL.Path+" "+readAll(r))
				w.Header().Set("Content-Type", c.kind)
				io.WriteString(w, c.answer)
			}))
			t.Cleanup(h.Close)
			s := &Server{URL: h.URL + "/v1"}
			if c.modified != nil {
				c.modified(s)
			}
			b, err := New(Options{Models: []Model{{
				Info: model.Info{ID: model.DefaultGenerator, Generates: true}, Targets: []Target{{Server: s, Model: "base"}},
			}}})
			is.NoErr(err)
			t.Cleanup(b.Close)
			stopping(b)
			req := ask("Once <upon")
			req.Continue, req.Whole, req.MaxTokens, req.Temperature, req.Stop = true, c.whole, 5, new(0.0), []string{"."}
			req.Sampling = model.Sampling{Seed: new(7), LogitBias: []byte(`{"42":-100}`)}
			got := fold(t.Context(), b, req)
			is.NoErr(got.err)
			is.Equal(got.text, `<think> a "time"`)
			is.Equal(got.reason, model.Length)
			is.Equal(got.usage, model.Usage{InputTokens: 3, OutputTokens: 4})
			is.Equal(asked, []string{fmt.Sprintf(`/v1/completions {"model":"base","prompt":"Once <upon",%s`, c.body)})
		})
	}
}
