package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/model"
)

func TestProbeOfAServerThatIsDown(t *testing.T) {
	var log strings.Builder
	d := (&double{}).serve(t)
	b := d.backend(t, withServer(func(s *Server) { s.URL = "http://127.0.0.1:1/v1" }), func(o *Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	b.Probe(t.Context())
	if !strings.Contains(log.String(), "model server does not answer") {
		t.Errorf("logged %s", &log)
	}
	if infos := b.Models(); len(infos) != 2 {
		t.Errorf("got %+v", infos)
	}
}

func TestFailureInTheMidstOfAStream(t *testing.T) {
	failed := `{"id":"chatcmpl-7","model":"","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`
	tests := map[string]struct {
		stream []string
		text   string
	}{
		"a chunk without a model":    {[]string{delta(`{"content":"Half"}`), failed}, "Half"},
		"an end without a reason":    {[]string{delta(`{"content":"Half"}`)}, "Half"},
		"an error object":            {[]string{delta(`{"content":"Half"}`), `{"error":{"message":"out of memory"}}`}, "Half"},
		"an error string":            {[]string{delta(`{"content":"Half"}`), `{"error":"out of memory"}`}, "Half"},
		"half a chunk":               {[]string{delta(`{"content":"Half"}`), delta(`{"content":"Half"}`)[:40]}, "Half"},
		"an error named so":          {[]string{delta(`{"content":"Half"}`), "{}\nevent: error"}, "Half"},
		"in the midst of a call":     {[]string{delta(`{"content":"Half"}`), delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"ci"}}]}`)}, "Half"},
		"only thoughts, and the end": {[]string{delta(`{"reasoning":"hm"}`)}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := (&double{intercept: events(tt.stream...)}).serve(t)
			req := ask("x")
			req.Tools = []model.Tool{{Name: "get_weather"}}
			a := fold(t.Context(), d.backend(t), req)
			checkFault(t, a.err, fault.Upstream, fault.CodeUpstream)
			if a.text != tt.text || !a.started || a.usage.OutputTokens == 0 {
				t.Errorf("got %+v", a)
			}
			if len(d.seen()) != 1 {
				t.Errorf("asked %d times", len(d.seen()))
			}
		})
	}
}

func TestDoneIsAnEnd(t *testing.T) {
	d := (&double{intercept: events(delta(`{"content":"All"}`), "[DONE]")}).serve(t)
	if a := fold(t.Context(), d.backend(t), ask("x")); a.err != nil || a.text != "All" || a.reason != model.Stop {
		t.Errorf("got %+v", a)
	}
}

func TestFailureBeforeTheFirstTokenIsTriedAgain(t *testing.T) {
	answers := map[string]func(http.ResponseWriter, *doubleRequest) bool{
		"error object": events(`{"error":{"message":"loading"}}`),
		"empty stream": events(),
		"500": func(w http.ResponseWriter, _ *doubleRequest) bool {
			refuse(w, http.StatusInternalServerError, "failed")
			return true
		},
		"closed": func(w http.ResponseWriter, _ *doubleRequest) bool { panic(http.ErrAbortHandler) },
	}
	for name, fail := range answers {
		t.Run(name, func(t *testing.T) {
			d := &double{}
			d.intercept = func(w http.ResponseWriter, r *doubleRequest) bool { return r.number == 1 && fail(w, r) }
			a := fold(t.Context(), d.serve(t).backend(t), ask("x"))
			if a.err != nil || a.text == "" || len(d.seen()) != 2 {
				t.Errorf("got %+v after %d requests", a, len(d.seen()))
			}
		})
	}
}

func TestUnofferedToolIsAFailure(t *testing.T) {
	d := (&double{intercept: events(delta(`{"tool_calls":[{"id":"a","function":{"name":"rm","arguments":"{}"}}]}`), finish("tool_calls"))}).serve(t)
	req := ask("x")
	req.Tools = []model.Tool{{Name: "ls"}}
	checkFault(t, fold(t.Context(), d.backend(t), req).err, fault.Upstream, fault.CodeUpstream)
}

func TestAServersOwnKeyIsNotToldOn(t *testing.T) {
	for key, want := range map[string]string{"open sesame": "[…] does not open none", "none": "open sesame does not open none"} {
		d := (&double{intercept: func(w http.ResponseWriter, _ *doubleRequest) bool {
			w.WriteHeader(400)
			io.WriteString(w, `{"error":{"message":"open sesame does not open none"}}`)
			return true
		}}).serve(t)
		err := fold(t.Context(), d.backend(t, withServer(func(s *Server) { s.Key = key })), ask("x")).err
		if got := fault.From(err).Message; got != "The model does not take this request: "+want {
			t.Errorf("with the key %q: %s", key, got)
		}
	}
}

func TestErrorsGoByStatus(t *testing.T) {
	tests := []struct {
		status int
		header string
		body   string
		kind   fault.Kind
		code   string
		after  time.Duration
	}{
		{400, "", `{"error":{"message":"secret","type":"api_error"}}`, fault.Rejected, "request_rejected", 0},
		{400, "", `{"error":{"message":"secret","code":"context_length_exceeded"}}`, fault.Rejected, fault.CodeContextLength, 0},
		{400, "", `{"error":{"message":"secret","type":"exceed_context_size_error"}}`, fault.Rejected, fault.CodeContextLength, 0},
		{422, "", `secret`, fault.Rejected, "request_rejected", 0},
		{413, "", `secret`, fault.Rejected, "request_rejected", 0},
		{401, "", `secret`, fault.Upstream, fault.CodeUpstream, 0},
		{404, "", `404 page not found`, fault.Upstream, fault.CodeUpstream, 0},
		{301, "", ``, fault.Upstream, fault.CodeUpstream, 0},
		{429, "60", `secret`, fault.RateLimited, "rate_limit_exceeded", time.Minute},
		{503, "90", `secret`, fault.Unavailable, fault.CodeUnavailable, 90 * time.Second},
		{500, "", `secret`, fault.Upstream, fault.CodeUpstream, 0},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.status, tt.body), func(t *testing.T) {
			d := (&double{intercept: func(w http.ResponseWriter, _ *doubleRequest) bool {
				if tt.header != "" {
					w.Header().Set("Retry-After", tt.header)
				}
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
				return true
			}}).serve(t)
			err := fold(t.Context(), d.backend(t), ask("x")).err
			checkFault(t, err, tt.kind, tt.code)
			f := fault.From(err)
			if f.RetryAfter != tt.after {
				t.Errorf("retry after %v", f.RetryAfter)
			}
			shown := f.Code == "request_rejected" // what is wrong is the caller's to know
			if strings.Contains(f.Message, "secret") != shown || !strings.Contains(f.Error(), tt.body) {
				t.Errorf("shown %q, logged %q", f.Message, f.Error())
			}
			if asked := len(d.seen()); tt.kind == fault.Rejected && asked != 1 {
				t.Errorf("asked %d times", asked)
			}
		})
	}
}

func TestServerThatIsDown(t *testing.T) {
	d := (&double{}).serve(t)
	b := d.backend(t, withServer(func(s *Server) { s.URL = "http://127.0.0.1:1/v1" }))
	checkFault(t, fold(t.Context(), b, ask("x")).err, fault.Unavailable, fault.CodeUnavailable)
}

func TestConnectionClosesWithTheCaller(t *testing.T) {
	gone := make(chan struct{})
	d := (&double{intercept: func(w http.ResponseWriter, r *doubleRequest) bool {
		events(delta(`{"content":"x"}`))(w, r)
		<-r.Context().Done()
		close(gone)
		return true
	}}).serve(t)
	for name, stop := range map[string]bool{"the consumer stops": true, "the context ends": false} {
		t.Run(name, func(t *testing.T) {
			gone = make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var last error
			for event, err := range d.backend(t).Generate(ctx, ask("x")) {
				last = err
				if _, ok := event.(model.TextDelta); ok {
					if stop {
						break
					}
					cancel()
				}
			}
			if !stop && !errors.Is(last, context.Canceled) {
				t.Errorf("got %v", last)
			}
			<-gone
		})
	}
}

func TestContextMayEndWithTheUsage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for event, err := range (&double{}).serve(t).backend(t).Generate(ctx, ask("x")) {
		if _, ok := event.(model.Usage); ok {
			cancel()
		}
		last = err
	}
	if last != context.Canceled {
		t.Errorf("got %v", last)
	}
}

func TestSilenceIsAFailure(t *testing.T) {
	const short = 30 * time.Millisecond
	for name, first := range map[string]bool{"first token": true, "next token": false} {
		t.Run(name, func(t *testing.T) {
			d := (&double{intercept: func(w http.ResponseWriter, r *doubleRequest) bool {
				if !first {
					events(delta(`{"content":"x"}`))(w, r)
				}
				<-r.Context().Done()
				return true
			}}).serve(t)
			b := d.backend(t, withServer(func(s *Server) {
				if first {
					s.FirstToken = short
				} else {
					s.BetweenTokens = short
				}
			}))
			a := fold(t.Context(), b, ask("x"))
			checkFault(t, a.err, fault.Upstream, fault.CodeUpstream)
			if fault.From(a.err).Message != "The model did not answer in time." {
				t.Errorf("got %v", a.err)
			}
		})
	}
}

// TestUsageThatIsNone has servers that say what an answer has used without having
// counted it, or before it has ended.
func TestUsageThatIsNone(t *testing.T) {
	text, end := delta(`{"content":"one two "}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	counted := func(input, output int) string {
		return fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, input, output)
	}
	const input = 11 // by the built-in vocabulary, with what a template puts around it
	for name, c := range map[string]struct {
		stream []string
		want   model.Usage
	}{
		"as counted":            {[]string{text, text, end, counted(7, 4)}, model.Usage{InputTokens: 7, OutputTokens: 4}},
		"with each piece":       {[]string{text, counted(7, 2), text, counted(7, 4), end}, model.Usage{InputTokens: 7, OutputTokens: 4}},
		"zeros":                 {[]string{text, text, end, counted(0, 0)}, model.Usage{InputTokens: input, OutputTokens: 4}},
		"nothing":               {[]string{text, text, end, `{"choices":[],"usage":{}}`}, model.Usage{InputTokens: input, OutputTokens: 4}},
		"less than nothing":     {[]string{text, end, counted(-5, -5)}, model.Usage{InputTokens: input, OutputTokens: 2}},
		"the answer alone":      {[]string{text, end, counted(0, 9)}, model.Usage{InputTokens: input, OutputTokens: 9}},
		"the prompt alone":      {[]string{text, end, counted(9, 0)}, model.Usage{InputTokens: 9, OutputTokens: 2}},
		"at the beginning":      {[]string{counted(7, 0), text, text, end}, model.Usage{InputTokens: 7, OutputTokens: 4}},
		"in the midst of it":    {[]string{text, counted(7, 2), text, text, end}, model.Usage{InputTokens: 7, OutputTokens: 4}},
		"an answer of no token": {[]string{end, counted(7, 0)}, model.Usage{InputTokens: 7}},
	} {
		t.Run(name, func(t *testing.T) {
			d := (&double{intercept: events(append(c.stream, "[DONE]")...)}).serve(t)
			if a := fold(t.Context(), d.backend(t), ask("Hello, you")); a.err != nil || a.usage != c.want {
				t.Errorf("got %+v, %v, want %+v", a.usage, a.err, c.want)
			}
		})
	}
}

// TestAnAnswerThatIsLeftCostsNoMoreThanAWholeOne has a server that counts fewer tokens
// than it sends events, and than a prompt seems to have. An answer that the caller
// leaves after two thirds is counted as the server has counted the one before it.
func TestAnAnswerThatIsLeftCostsNoMoreThanAWholeOne(t *testing.T) {
	const pieces = 60
	stream := slices.Repeat([]string{delta(`{"content":"one "}`)}, pieces)
	stream = append(stream, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		`{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":24}}`, "[DONE]")
	b := (&double{intercept: events(stream...)}).serve(t).backend(t)
	req := ask("How many words of this prompt does the server count as tokens?")
	whole := model.Usage{InputTokens: 3, OutputTokens: 24}
	if a := fold(t.Context(), b, req); a.usage != whole {
		t.Fatalf("got %+v, want %+v", a.usage, whole)
	}
	var meter generation.Meter
	seen := 0
	for range generation.Stream(t.Context(), b, req, nil, &meter) {
		if seen++; seen > pieces*2/3 {
			break
		}
	}
	if got, want := meter.Usage(), (model.Usage{InputTokens: 3, OutputTokens: 16}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestWhoLeavesWholeAnswersGetsPieces has a caller leave two answers that it does
// not stream while the server makes them: the second one is counted.
func TestWhoLeavesWholeAnswersGetsPieces(t *testing.T) {
	var leave context.CancelFunc
	d := (&double{intercept: func(w http.ResponseWriter, r *doubleRequest) bool {
		if r.body.Get("stream").Bool() {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: "+delta(`{"content":"one two three "}`)+"\n\n")
			w.(http.Flusher).Flush() // the caller leaves when it has that
		} else {
			leave()
		}
		<-r.Context().Done()
		return true
	}}).serve(t)
	b := stopping(d.backend(t))
	var used []model.Usage
	for _, tenant := range []string{"a", "b", "a"} {
		var ctx context.Context
		ctx, leave = context.WithCancel(t.Context())
		req := ask("Hello, you")
		req.Whole, req.Tenant = true, tenant
		var paid model.Usage
		for event := range b.Generate(ctx, req) {
			switch e := event.(type) {
			case model.TextDelta:
				leave()
			case model.Usage:
				paid = e
			}
		}
		used = append(used, paid)
		leave()
	}
	if used[0].OutputTokens != 0 || used[1].OutputTokens != 0 || used[2].OutputTokens == 0 {
		t.Errorf("got %+v", used)
	}
	now := time.Now()
	if !b.abandonments.lately("a", now.Add(leftLately-time.Minute)) || b.abandonments.lately("a", now.Add(2*leftLately)) || b.abandonments.lately("c", now) {
		t.Error("who left is forgotten too early or too late")
	}
}

func TestAnAnswerWithoutLogprobsIsPaidFor(t *testing.T) {
	d := (&double{intercept: events(delta(`{"content":"All"}`), "[DONE]")}).serve(t)
	req := ask("Hello, you")
	req.Logprobs = true
	var got []string
	for event, err := range d.backend(t).Generate(t.Context(), req) {
		got = append(got, fmt.Sprintf("%T %v", event, err != nil))
		if u, ok := event.(model.Usage); ok && (u.InputTokens == 0 || u.OutputTokens != 1) {
			t.Errorf("got %+v", u)
		}
	}
	if want := []string{"model.Usage false", "<nil> true"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestWhatAServerMiscounts has servers that count more than there can be: an
// answer costs no more than fits into the window, or than was asked for unless
// more has come.
func TestWhatAServerMiscounts(t *testing.T) {
	const window = model.DefaultContextWindow
	text, end := delta(`{"content":"one two "}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	told := func(input, output string) string {
		return fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%s,"completion_tokens":%s,"prompt_tokens_details":{"cached_tokens":%[1]s},"completion_tokens_details":{"reasoning_tokens":%[2]s}}}`, input, output)
	}
	used := func(input, output int) model.Usage {
		return model.Usage{InputTokens: input, CachedTokens: input, OutputTokens: output, ReasoningTokens: output}
	}
	for name, c := range map[string]struct {
		stream []string
		most   int
		want   model.Usage
	}{
		"more than any window":             {[]string{text, end, told("1e18", "9223372036854775807")}, 0, used(window, window)},
		"more than was asked for":          {[]string{text, end, told("7", "1e6")}, 20, used(7, 20)},
		"more than was asked for, and has": {[]string{text, text, end, told("7", "9")}, 2, used(7, 9)},
		"more than has come of it":         {[]string{text, text, end, told("7", "1000")}, 2, used(7, len("one two one two "))},
		"reasoning that is not shown":      {[]string{text, end, told("7", "1000")}, 1000, used(7, 1000)},
	} {
		t.Run(name, func(t *testing.T) {
			d := (&double{intercept: events(append(c.stream, "[DONE]")...)}).serve(t)
			req := ask("Hello, you")
			req.MaxTokens = c.most
			if a := fold(t.Context(), d.backend(t), req); a.err != nil || a.usage != c.want {
				t.Errorf("got %+v, %v, want %+v", a.usage, a.err, c.want)
			}
		})
	}
	usage := `,"usage":{"prompt_tokens":1e18,"input_tokens":1e18}}`
	for name, c := range map[string]struct {
		answer string
		ask    func(b *Backend) (int, error)
		most   int
	}{
		"embeddings": {`{"data":[{"embedding":[1]},{"embedding":[1]}]` + usage, func(b *Backend) (int, error) {
			e, err := b.Embed(t.Context(), &model.EmbedRequest{Model: model.DefaultGenerator, Texts: []string{"a", "b"}})
			if err != nil {
				return 0, err
			}
			return e.InputTokens, nil
		}, 2 * window},
		"a question": {`{"choices":[{"message":{"content":"Yes"},"logprobs":{"content":[{"token":"Yes","top_logprobs":[{"token":"Yes","logprob":-0.7},{"token":"No","logprob":-0.7}]}]}}]` + usage, func(b *Backend) (int, error) {
			s, err := b.Score(t.Context(), question("Yes", "No"))
			if err != nil {
				return 0, err
			}
			return s.StateTokens + s.QuestionTokens, nil
		}, window},
		"a decision": {`{"answers":{"q":{"type":"noul","noul":0.5}}` + usage, func(b *Backend) (int, error) {
			d, err := b.Decide(t.Context(), &model.DecideRequest{Model: model.DefaultDecider, State: json.RawMessage(`"It rains."`), Questions: []model.DecideQuestion{
				{Name: "q", Kind: model.DecideNoul, Instructions: "Does it?", Options: []model.DecideOption{{Name: "Yes"}, {Name: "No"}}}}})
			if err != nil {
				return 0, err
			}
			return d.StateTokens + d.QuestionTokens, nil
		}, window},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, c.answer)
			}))
			defer server.Close()
			if got, err := c.ask((&double{url: server.URL + "/v1"}).backend(t)); err != nil || got != c.most {
				t.Errorf("got %d tokens, %v, want %d", got, err, c.most)
			}
		})
	}
}
