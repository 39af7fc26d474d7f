package httpapi

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// newLogged returns a service over a script, an API key, and what it logs: text
// without times and stacks.
func newLogged(t *testing.T, script *modeltest.Script) (a *API, key string, log *bytes.Buffer) {
	t.Helper()
	a = newAdminAPI(t, svc.Options{Backend: script}, Options{})
	_, key = newLimited(t, a, 0, 0)
	log = new(bytes.Buffer)
	a.opts.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr {
		switch attr.Key {
		case slog.TimeKey:
			return slog.Attr{}
		case "duration":
			if attr.Value.Duration() <= 0 {
				t.Errorf("the duration is %v", attr.Value)
			}
			return slog.String("duration", "D")
		case "stack":
			return slog.Bool("stack", strings.Contains(attr.Value.String(), "goroutine"))
		}
		return attr
	}}))
	return a, key, log
}

// private stands in everything that no log may have: keys, prompts and answers.
const private = "SECRET"

func TestLog(t *testing.T) {
	chatOf := func(fields string) string {
		return `{"model":"svc-preview","messages":[{"role":"user","content":"SECRET"}]` + fields + `}`
	}
	const (
		decision = `{"model":"svc-snap-preview","state":"SECRET","questions":{"SECRET":{"type":"noul","instructions":"SECRET"}}}`
		schema   = `,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object","required":["SECRET"],"properties":{"SECRET":{"const":"SECRET"}}}}}`
		generate = `level=INFO msg=request request_id=req_1 method=POST path=/v1/chat/completions `
		decide   = `level=INFO msg=request request_id=req_1 method=POST path=/v1/systemone `
		who      = ` duration=D organization=org_0001 key=key_0001`
	)
	answer := modeltest.Text(private)
	bad := modeltest.Text(`{"SECRET":"SECRET"}`)
	panics := &modeltest.Script{Respond: func(*model.Request) modeltest.Answer { panic(private) }}
	lost := &modeltest.Script{Scores: func(context.Context, *model.ScoreRequest) (*model.Scores, error) { panic(private) }}
	broken := modeltest.New(modeltest.Fail(fault.Upstreamf(errors.New("connection refused"), "The model failed.")))
	for _, c := range []struct {
		name       string
		script     *modeltest.Script
		path, body string
		want       string
	}{
		{"chat", modeltest.New(answer), chatPathOf, chatOf(""), generate + `status=200` + who + ` model=svc-preview input_tokens=11 output_tokens=7`},
		{"stream", modeltest.New(answer), chatPathOf, chatOf(`,"stream":true`), generate + `status=200` + who + ` model=svc-preview input_tokens=11 output_tokens=7`},
		{"decision", modeltest.New(), decisionsPath, decision, decide + `status=200` + who + ` model=svc-snap-preview input_tokens=127 output_tokens=0`},
		{"no JSON", modeltest.New(), chatPathOf, private, generate + `status=400` + who + ` error=validation_error`},
		{"an invalid field", modeltest.New(), chatPathOf, chatOf(`,"tool_choice":"SECRET"`),
			generate + `status=400` + who + ` model=svc-preview input_tokens=0 output_tokens=0 error=validation_error`},
		{"a schema that does not compile", modeltest.New(), chatPathOf, strings.Replace(chatOf(schema), `["SECRET"]`, `"SECRET"`, 1),
			generate + `status=400` + who + ` model=svc-preview input_tokens=0 output_tokens=0 error=validation_error`},
		{"an invalid structured answer", modeltest.New(bad, modeltest.Text(private)), chatPathOf, chatOf(strings.Replace(schema, `{"const":"SECRET"}`, `{"const":"SECRET "}`, 1)),
			strings.Replace(generate, "INFO", "WARN", 1) + `status=502` + who + ` model=svc-preview input_tokens=0 output_tokens=0 error=model_error cause="the structured answer is invalid"`},
		{"a model that fails", broken, chatPathOf, chatOf(""),
			strings.Replace(generate, "INFO", "WARN", 1) + `status=502` + who + ` model=svc-preview input_tokens=0 output_tokens=0 error=model_error cause="connection refused"`},
		{"a model that panics", panics, chatPathOf, chatOf(""),
			`level=ERROR msg=panic request_id=req_1 panic="a value of type string" stack=true` + "\n" +
				strings.Replace(generate, "INFO", "ERROR", 1) + `status=500` + who + ` model=svc-preview input_tokens=0 output_tokens=0 error=internal_error`},
		{"a long name of a model", modeltest.New(), decisionsPath, `{"model":"` + strings.Repeat("é", 100) + `"}`,
			decide + `status=422` + who + ` model=` + strings.Repeat("é", 64) + `… input_tokens=0 output_tokens=0 error=validation_error`},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, key, log := newLogged(t, c.script)
			send(a, key, "POST", c.path, c.body)
			if got := strings.TrimSpace(log.String()); got != c.want {
				t.Errorf("\ngot  %s\nwant %s", got, c.want)
			}
		})
	}
	t.Run("a decision that panics", func(t *testing.T) {
		a, key, log := newLogged(t, lost)
		if w := send(a, key, "POST", decisionsPath, decision); w.Code != 500 || strings.Contains(log.String(), private) {
			t.Errorf("got %d and the log %s", w.Code, log)
		}
	})
	t.Run("without a key", func(t *testing.T) {
		a, _, log := newLogged(t, modeltest.New())
		send(a, private, "POST", decisionsPath, decision)
		want := decide + "status=401 duration=D error=invalid_api_key\n"
		if got := log.String(); got != want {
			t.Errorf("\ngot  %s\nwant %s", got, want)
		}
	})
}

// TestPanics sends requests to an endpoint that panics before and after it has
// begun to answer.
func TestPanics(t *testing.T) {
	a, _, _ := newLogged(t, modeltest.New())
	before := a.handler(methods{"POST": func(*call) error { panic("lost") }}.serve)
	for path, want := range map[string]string{
		chatPathOf:    `{"error":{"message":"An internal error occurred.","type":"server_error","param":null,"code":"internal_error"}}`,
		decisionsPath: `{"detail":{"error_type":"internal_error","message":"An internal error occurred."}}`,
	} {
		if w := send(before, "", "POST", path, ""); w.Code != 500 || w.Body.String() != want {
			t.Errorf("%s: got %d %s, want 500 %s", path, w.Code, w.Body, want)
		}
	}
	after := a.handler(methods{"POST": func(c *call) error {
		c.w.WriteHeader(http.StatusOK)
		panic("lost")
	}}.serve)
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("got the panic %v, want the connection aborted", p)
		}
	}()
	after.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", chatPathOf, nil))
}

// TestStatusOfEveryKind fails where a kind of error has no row in the table.
func TestStatusOfEveryKind(t *testing.T) {
	for _, kind := range fault.Kinds() {
		row, ok := statuses[kind]
		if !ok || row.a < 400 || row.a > 599 || row.b < 400 || row.b > 599 || row.kind == "" {
			t.Errorf("the row of %q is %+v", kind, row)
		}
	}
	if len(statuses) != len(fault.Kinds()) {
		t.Errorf("%d rows for %d kinds", len(statuses), len(fault.Kinds()))
	}
}
