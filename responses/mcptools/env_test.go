package mcptools_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/responses/mcptools"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// tools is a server of the protocol with two tools: roll, which changes nothing, and
// remember. It counts what it is asked.
type tools struct {
	*httptest.Server
	mcp *mcp.Server

	mu     sync.Mutex
	lists  int
	calls  []string // tools with their arguments
	header http.Header
}

func newTools(t testing.TB) *tools {
	t.Helper()
	s := &tools{mcp: mcp.NewServer(&mcp.Implementation{Name: "tools"}, nil)}
	s.add("roll", `{"type":"object","properties":{"sides":{"type":"integer"}}}`, true, func(context.Context, string) (*mcp.CallToolResult, error) {
		return say("4"), nil
	})
	s.add("remember", `{"type":"object","properties":{"note":{"type":"string"}}}`, false, func(_ context.Context, arguments string) (*mcp.CallToolResult, error) {
		return say("Remembered " + arguments), nil
	})
	s.mcp.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				s.mu.Lock()
				s.lists++
				s.mu.Unlock()
			}
			return next(ctx, method, r)
		}
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, &mcp.StreamableHTTPOptions{Stateless: true})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.header = r.Header.Clone()
		s.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func say(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func (s *tools) add(name, schema string, readOnly bool, run func(ctx context.Context, arguments string) (*mcp.CallToolResult, error)) {
	s.mcp.AddTool(&mcp.Tool{Name: name, Description: "Does " + name + ".", InputSchema: json.RawMessage(schema), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly}},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.mu.Lock()
			s.calls = append(s.calls, name+string(r.Params.Arguments))
			s.mu.Unlock()
			return run(ctx, string(r.Params.Arguments))
		})
}

// called returns the calls so far, and how often the tools were listed.
func (s *tools) called() (calls string, lists int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.calls, " "), s.lists
}

// env is a service that reaches servers, and its handler.
type env struct {
	t       testing.TB
	store   storage.Store
	service *svc.Service
	client  *mcptools.Client
	script  *modeltest.Script
	api     http.Handler
	key     string
	log     bytes.Buffer
	made    map[string]int
	mu      sync.Mutex
	now     time.Time
}

func newEnv(t testing.TB, o mcptools.Options, answers ...modeltest.Answer) *env {
	t.Helper()
	e := &env{t: t, store: memstore.New(), script: modeltest.New(answers...), made: map[string]int{}, now: time.Unix(1_700_000_000, 0)}
	t.Cleanup(func() { check(t, e.store.Close()) })
	e.open(o)
	t.Cleanup(e.close)
	_, err := e.service.Bootstrap(t.Context(), "sk-svc-test-key-test-key-test-key-test-key")
	check(t, err)
	e.key = "sk-svc-test-key-test-key-test-key-test-key"
	return e
}

// open starts a service over the store.
func (e *env) open(o mcptools.Options) {
	e.t.Helper()
	log := slog.New(slog.NewTextHandler(&e.log, nil))
	o.Log = slog.New(slog.DiscardHandler)
	o.Now = e.clock
	client, err := mcptools.New(o)
	check(e.t, err)
	e.client = client
	service, err := svc.New(e.t.Context(), svc.Options{Store: e.store, Backend: e.script, MCP: client, Logger: log, Now: e.clock, NewID: func(prefix string) string {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.made[prefix]++
		return fmt.Sprintf("%s_%04d", prefix, e.made[prefix])
	}})
	check(e.t, err)
	e.service, e.api = service, httpapi.New(service, httpapi.Options{Logger: log})
}

func (e *env) clock() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now
}

func (e *env) wait(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.now = e.now.Add(d)
}

func (e *env) close() {
	e.t.Helper()
	check(e.t, e.service.Close())
	check(e.t, e.client.Close())
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// send sends a request and returns the status and the body of the answer.
func (e *env) send(method, path, body string) (int, string) {
	e.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+e.key)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	e.api.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// response is what tests look at of a response.
type response struct {
	ID     string
	Status string
	Error  *struct{ Code, Message string }
	Tools  json.RawMessage
	Output []item
	body   string
}

type item struct {
	ID, Type, Status, Name, Arguments string
	Output                            *string
	ApprovalRequestID                 *string `json:"approval_request_id"`
	Error                             json.RawMessage
	Tools                             []struct{ Name string }
	Content                           []struct{ Text string }
}

func (i item) String() string {
	text := i.Type
	switch i.Type {
	case "message":
		return "message " + i.Content[0].Text
	case "mcp_list_tools":
		for _, tool := range i.Tools {
			text += " " + tool.Name
		}
	default:
		text += " " + i.Name + i.Arguments
	}
	if i.Status != "" {
		text += " " + i.Status
	}
	if i.Output != nil {
		text += " " + *i.Output
	}
	if len(i.Error) > 0 && string(i.Error) != "null" {
		text += " " + string(i.Error)
	}
	return text
}

// turn makes a turn, which must be answered with 200.
func (e *env) turn(fields string) response {
	e.t.Helper()
	status, body := e.send("POST", "/v1/responses", `{"model":"svc-preview",`+fields+`}`)
	if status != 200 {
		e.t.Fatalf("%s: %d %s", fields, status, body)
	}
	r := response{body: body}
	check(e.t, json.Unmarshal([]byte(body), &r))
	return r
}

// refused makes a turn that must be refused with a code.
func (e *env) refused(fields, code string) (message string) {
	e.t.Helper()
	status, body := e.send("POST", "/v1/responses", `{"model":"svc-preview",`+fields+`}`)
	var refusal struct {
		Error struct{ Code, Message string }
	}
	check(e.t, json.Unmarshal([]byte(body), &refusal))
	if status != 400 || refusal.Error.Code != code {
		e.t.Fatalf("%s: %d %s, want a 400 with the code %s", fields, status, body, code)
	}
	return refusal.Error.Message
}

// output is the output of a response, an item in each line.
func (r response) output() string {
	var lines []string
	for _, i := range r.Output {
		lines = append(lines, i.String())
	}
	return strings.Join(lines, "\n")
}

// events returns the data of the events of a stream, one in each line, without what
// every event has.
func events(t *testing.T, stream string) string {
	t.Helper()
	var lines []string
	n := 0
	for s := bufio.NewScanner(strings.NewReader(stream)); s.Scan(); {
		data, ok := strings.CutPrefix(s.Text(), "data: ")
		if !ok {
			continue
		}
		var e map[string]json.RawMessage
		check(t, json.Unmarshal([]byte(data), &e))
		if string(e["sequence_number"]) != fmt.Sprint(n) {
			t.Errorf("event %d has the number %s", n, e["sequence_number"])
		}
		n++
		line := strings.Trim(string(e["type"]), `"`)
		for _, name := range []string{"item_id", "output_index", "delta", "arguments", "item"} {
			if e[name] != nil {
				line += " " + string(e[name])
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// call is an answer that calls tools: names and arguments.
func call(pairs ...string) modeltest.Answer {
	var calls []model.ToolCall
	for i := 0; i < len(pairs); i += 2 {
		calls = append(calls, model.ToolCall{ID: fmt.Sprint(i), Name: pairs[i], Arguments: pairs[i+1]})
	}
	return modeltest.Calls(calls...)
}

// prompt is the prompt of the request with a number, a message in each line.
func (e *env) prompt(n int) string {
	e.t.Helper()
	var lines []string
	for _, m := range e.script.Requests()[n].Messages {
		line := string(m.Role)
		for _, p := range m.Parts {
			line += fmt.Sprintf(" %v", p)
		}
		for _, c := range m.ToolCalls {
			line += " " + c.Name + c.Arguments
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// stored is everything that the store has of the organization.
func (e *env) stored() string {
	e.t.Helper()
	var b strings.Builder
	caller, err := e.service.Authenticate(e.t.Context(), e.key)
	check(e.t, err)
	check(e.t, e.store.View(e.t.Context(), caller.Namespace(), func(tx storage.Tx) error {
		for entry, err := range tx.Scan(storage.Range{}) {
			if err != nil {
				return err
			}
			b.Write(entry.Key)
			b.Write(entry.Value)
		}
		return nil
	}))
	return b.String()
}

// named are options with one server that the operator has named s.
func named(url string) mcptools.Options {
	return mcptools.Options{Servers: map[string]mcptools.Server{"s": {URL: url}}}
}

const free = `"tools":[{"type":"mcp","server_label":"s","require_approval":"never"}]`
