package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/responses/websearch"
	"github.com/seed-506d8e5d/svc/route"
	"github.com/seed-506d8e5d/svc/storage"
)

var update = flag.Bool("update", false, "write the golden files")

// turns is the interface over a service whose model, searches, clock and IDs
// are the test's.
type turns struct {
	*httpapi.API
	t      testing.TB
	script *modeltest.Script
	store  storage.Store
	keys   map[string]string // secrets by what they stand for
	orgs   map[string]string // IDs of organizations by the same names
	key    string            // the one that requests are sent with
}

// options are what a test may choose.
type options struct {
	search   websearch.Client
	store    storage.Store
	anyItems bool
	policies map[string]guard.Policy
	defaults []string
	routes   map[string]route.Route
	prices   map[string]accounts.Prices

	storeDecisions bool // of the organization rich
}

// now is when everything happens in tests.
var now = time.Unix(1_700_000_000, 0)

// newTurns returns an interface whose model gives the answers in turn.
func newTurns(t testing.TB, answers ...modeltest.Answer) *turns {
	t.Helper()
	return newTurnsOver(t, modeltest.New(answers...), options{search: echoSearch{}})
}

func newTurnsOver(t testing.TB, script *modeltest.Script, o options) *turns {
	t.Helper()
	if o.store == nil {
		o.store = httpapi.NewStore(t)
	}
	t.Cleanup(func() { must(t, o.store.Close()) })
	a := &turns{t: t, script: script, store: o.store, keys: map[string]string{}, orgs: map[string]string{}}
	a.makeKeys(o)
	service, err := svc.New(t.Context(), svc.Options{
		Store: o.store, Backend: script, Search: o.search, AnyItems: o.anyItems, Policies: o.policies, Routes: o.routes, Prices: o.prices, DefaultPolicies: o.defaults, Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return now }, NewID: newIDs(),
	})
	must(t, err)
	t.Cleanup(func() { must(t, service.Close()) })
	a.API = httpapi.Contract(t, httpapi.New(service, httpapi.Options{
		Logger: slog.New(slog.DiscardHandler), NewRequestID: func() string { return "req_test" },
	}))
	a.key = a.keys["rich"]
	return a
}

// newIDs returns a function that makes IDs which are counted.
func newIDs() func(string) string {
	var mu sync.Mutex
	n := 0
	return func(prefix string) string {
		mu.Lock()
		defer mu.Unlock()
		n++
		return fmt.Sprintf("%s_%05d", prefix, n)
	}
}

// makeKeys makes an organization and a key of each kind.
func (a *turns) makeKeys(o options) {
	a.t.Helper()
	ctx := a.t.Context()
	books, err := accounts.New(ctx, accounts.Options{Store: a.store, Log: slog.New(slog.DiscardHandler)})
	must(a.t, err)
	defer func() { must(a.t, books.Close()) }()
	for _, n := range []accounts.NewOrganization{
		{Name: "rich", Credits: 1000 * accounts.Dollar, StoreDecisions: o.storeDecisions},
		{Name: "other", Credits: 1000 * accounts.Dollar},
		{Name: "forgetful", Credits: 1000 * accounts.Dollar, ZeroDataRetention: true},
		{Name: "poor"},
	} {
		o, err := books.CreateOrganization(ctx, n)
		must(a.t, err)
		a.orgs[n.Name] = o.ID
		k, err := books.CreateKey(ctx, accounts.NewKey{OrganizationID: o.ID})
		must(a.t, err)
		a.keys[n.Name] = k.Secret
	}
	k, err := books.CreateKey(ctx, accounts.NewKey{OrganizationID: a.orgs["rich"], Models: []string{"other-model"}})
	must(a.t, err)
	a.keys["limited"] = k.Secret
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// answer is what came back for a request.
type answer struct {
	status  int
	body    string
	header  http.Header
	aborted bool // the connection was cut
}

// as returns the interface as another key sees it.
func (a *turns) as(key string) *turns {
	other := *a
	other.key = a.keys[key]
	return &other
}

func (a *turns) do(method, path, body string) answer {
	return a.doContext(a.t.Context(), method, path, body)
}

func (a *turns) doContext(ctx context.Context, method, path, body string) answer {
	w := httptest.NewRecorder()
	aborted := a.serve(ctx, w, method, path, body)
	return answer{w.Code, w.Body.String(), w.Header(), aborted}
}

// serve answers a request and reports whether the connection was cut.
func (a *turns) serve(ctx context.Context, w http.ResponseWriter, method, path, body string) (aborted bool) {
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+a.key)
	defer func() {
		p := recover()
		if p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
		aborted = p != nil
	}()
	a.ServeHTTP(w, r)
	return false
}

// leaver is a client that goes away when it has read a text.
type leaver struct {
	*httptest.ResponseRecorder
	text  string
	leave context.CancelFunc
}

func (l *leaver) Write(p []byte) (int, error) {
	if strings.Contains(string(p), l.text) {
		l.leave()
	}
	return l.ResponseRecorder.Write(p)
}

// leave makes a streamed turn whose client goes away when it has read a text,
// and returns the response as it is stored.
func (a *turns) leave(text, body string) (r response) {
	a.t.Helper()
	ctx, cancel := context.WithCancel(a.t.Context())
	defer cancel()
	w := &leaver{httptest.NewRecorder(), text, cancel}
	a.serve(ctx, w, "POST", "/v1/responses", body)
	var created response
	decode(a.t, string(parse(a.t, w.Body.String())[0].Response), &created)
	decode(a.t, a.want(200, "GET", "/v1/responses/"+created.ID, ""), &r)
	return r
}

// charges returns the billed calls of the organization: what for, input and
// output tokens.
func (a *turns) charges() (list []string) {
	a.t.Helper()
	books, err := accounts.New(a.t.Context(), accounts.Options{Store: a.store, Log: slog.New(slog.DiscardHandler)})
	must(a.t, err)
	defer func() { must(a.t, books.Close()) }()
	entries, err := books.Usage(a.t.Context(), a.orgs["rich"], page.Params{Limit: 1000})
	must(a.t, err)
	for _, e := range entries.Items {
		if e.Use.Endpoint != "responses" || e.Use.Model != model.DefaultGenerator || e.Use.Kind != accounts.Generation {
			a.t.Errorf("billed as %+v", e.Use)
		}
		list = append(list, fmt.Sprintf("%s %d+%d", e.Use.Object, e.Use.InputTokens, e.Use.OutputTokens))
	}
	return list
}

// post makes a turn that must be answered with 200 and returns its body.
func (a *turns) post(body string) string {
	a.t.Helper()
	return a.want(200, "POST", "/v1/responses", body)
}

// want sends a request and returns its body, which must have a status.
func (a *turns) want(status int, method, path, body string) string {
	a.t.Helper()
	got := a.do(method, path, body)
	if got.status != status || got.aborted {
		a.t.Fatalf("%s %s %s: got %d %s, want %d", method, path, body, got.status, got.body, status)
	}
	return got.body
}

// wantError sends a request that must fail, and compares the whole error.
func (a *turns) wantError(method, path, body string, status int, kind, code, param, message string) {
	a.t.Helper()
	quoted := "null"
	if param != "" {
		quoted = fmt.Sprintf("%q", param)
	}
	want := fmt.Sprintf(`{"error":{"message":%s,"type":%q,"param":%s,"code":%q}}`, quote(message), kind, quoted, code)
	got := a.do(method, path, body)
	if got.status != status || got.body != want {
		a.t.Errorf("%s %s %s\ngot  %d %s\nwant %d %s", method, path, clip(body), got.status, clip(got.body), status, want)
	}
}

// wantInvalid sends a request that must be refused with a validation error.
func (a *turns) wantInvalid(method, path, body, param, message string) {
	a.t.Helper()
	a.wantError(method, path, body, 400, "invalid_request_error", "validation_error", param, message)
}

func clip(s string) string {
	if len(s) > 500 {
		return s[:500] + "…"
	}
	return s
}

// quote writes a JSON string as the interface does.
func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

// response is what tests read of a response.
type response struct {
	ID           string
	Status       string
	Conversation struct{ ID string }
	Output       []struct {
		ID, Type, Status, Phase, Name, Arguments string
		CallID                                   string `json:"call_id"`
		Content                                  []struct{ Text string }
	}
	Error *struct{ Code, Message string }
	Usage *struct {
		InputTokens  int `json:"input_tokens"`
		OutputTokens int `json:"output_tokens"`
	}
	IncompleteDetails *struct{ Reason string } `json:"incomplete_details"`
	Store             bool
}

// turn makes a turn and reads its response.
func (a *turns) turn(body string) (r response) {
	a.t.Helper()
	decode(a.t, a.post(body), &r)
	return r
}

func decode(t testing.TB, body string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
}

// sent returns the messages of the n-th request to the model, from 0, one line
// each.
func (a *turns) sent(n int) []string {
	a.t.Helper()
	requests := a.script.Requests()
	if n >= len(requests) {
		a.t.Fatalf("the model was asked %d times", len(requests))
	}
	return lines(requests[n].Messages)
}

func lines(messages []model.Message) []string {
	texts := make([]string, len(messages))
	for i, m := range messages {
		var b strings.Builder
		b.WriteString(string(m.Role))
		if m.ToolCallID != "" {
			b.WriteString(" " + m.ToolCallID)
		}
		for _, p := range m.Parts {
			fmt.Fprintf(&b, " %q", p)
		}
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, " %s=%s(%s)", c.ID, c.Name, c.Arguments)
		}
		texts[i] = b.String()
	}
	return texts
}

// wantSent compares the complete list of messages of a request to the model.
func (a *turns) wantSent(n int, want ...string) {
	a.t.Helper()
	if got := a.sent(n); !reflect.DeepEqual(got, want) {
		a.t.Errorf("request %d\ngot  %s\nwant %s", n, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

// golden compares a text with testdata/name.
func golden(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if got != string(want) {
		t.Errorf("%s differs (run with -update to see the difference in git)\ngot:\n%s", path, got)
	}
}

// echoSearch finds one page for each query.
type echoSearch struct{}

func (echoSearch) Search(ctx context.Context, query string) ([]websearch.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if query == "broken" {
		return nil, errors.New("the search service is on fire")
	}
	return []websearch.Result{{Title: "About " + query, URL: "https://example.com/", Snippet: "All of <b>it</b>."}}, nil
}

// call is an answer that calls a function.
func call(name, arguments string) modeltest.Answer {
	return modeltest.Calls(model.ToolCall{ID: "theirs", Name: name, Arguments: arguments})
}

// search is an answer that searches.
func search(queries string) modeltest.Answer { return call("web_search", `{"queries":`+queries+`}`) }

// Tools as requests offer them.
const (
	weatherTool = `{"type":"function","name":"weather","parameters":{"type":"object"}}`
	searchTool  = `{"type":"web_search_preview"}`
)
