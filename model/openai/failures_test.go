package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
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
	answers := map[string]func(http.ResponseWriter, *request) bool{
		"error object": events(`{"error":{"message":"loading"}}`),
		"empty stream": events(),
		"500": func(w http.ResponseWriter, _ *request) bool {
			refuse(w, http.StatusInternalServerError, "failed")
			return true
		},
		"closed": func(w http.ResponseWriter, _ *request) bool { panic(http.ErrAbortHandler) },
	}
	for name, fail := range answers {
		t.Run(name, func(t *testing.T) {
			d := &double{}
			d.intercept = func(w http.ResponseWriter, r *request) bool { return r.number == 1 && fail(w, r) }
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
			d := (&double{intercept: func(w http.ResponseWriter, _ *request) bool {
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
	d := (&double{intercept: func(w http.ResponseWriter, r *request) bool {
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
			d := (&double{intercept: func(w http.ResponseWriter, r *request) bool {
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
