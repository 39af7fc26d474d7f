package responses_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/responses/websearch"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// fixture is the service over a scripted model.
type fixture struct {
	*responses.Service
	books  *accounts.Service
	caller accounts.Caller
	store  *failing
}

// failing is a store whose updates fail while err is set.
type failing struct {
	storage.Store
	mu  sync.Mutex
	err error // guarded by mu
}

func (f *failing) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *failing) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	f.mu.Lock()
	err := f.err
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.Store.Update(ctx, ns, fn)
}

func newFixture(t *testing.T, o responses.Options) *fixture {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	store := &failing{Store: memstore.New()}
	books, err := accounts.New(t.Context(), accounts.Options{Store: store, Log: quiet})
	must(t, err)
	t.Cleanup(func() {
		must(t, books.Close())
		must(t, store.Close())
	})
	organization, err := books.CreateOrganization(t.Context(), accounts.NewOrganization{Name: "test", Credits: accounts.Dollar})
	must(t, err)
	caller, err := books.CallerFor(t.Context(), organization.ID)
	must(t, err)
	o.Accounts, o.Log = books, quiet
	o.Conversations = conversations.New(conversations.Options{Store: store, Log: quiet})
	service := responses.New(o)
	t.Cleanup(func() { must(t, service.Close()) })
	return &fixture{service, books, caller, store}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// died returns the response of a turn that came to no good end.
func died(t testing.TB, err error) *responses.Response {
	t.Helper()
	var e *responses.TurnError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *responses.TurnError", err)
	}
	return e.Response
}

// charges returns the tokens of the billed calls, input and output.
func (f *fixture) charges(t *testing.T) (list []string) {
	t.Helper()
	entries, err := f.books.Usage(t.Context(), f.caller.Organization, page.Params{})
	must(t, err)
	for _, e := range entries.Items {
		list = append(list, fmt.Sprint(e.Use.InputTokens, "+", e.Use.OutputTokens))
	}
	return list
}

func ask(text string) *responses.Request {
	return &responses.Request{Model: model.DefaultGenerator, Input: responses.Text(text)}
}

func asking(text string, tools ...model.Tool) *responses.Request {
	req := ask(text)
	req.Tools = tools
	return req
}

// TestTheConsumerMayStopAnywhere stops after every event of a turn in turn:
// nothing goes on behind its back, and the turn is stored and billed.
func TestTheConsumerMayStopAnywhere(t *testing.T) {
	searched := &searches{}
	script := &modeltest.Script{Respond: func(req *model.Request) modeltest.Answer {
		if len(req.Messages) > 1 {
			return modeltest.Text("Fo", "und")
		}
		return modeltest.Events(model.Started{}, model.TextDelta{Text: "I look."}, modeltest.DefaultUsage,
			model.ToolCallStart{ID: "a", Name: "web_search"}, model.ToolCallDelta{Arguments: `{"queries":["a"]}`},
			model.ToolCallStart{ID: "b", Name: "web_search"}, model.ToolCallDelta{Arguments: `{"queries":["b"]}`},
			modeltest.DefaultUsage, model.Finish{Reason: model.ToolCalls})
	}}
	f := newFixture(t, responses.Options{Backend: script, Search: searched})
	whole, cancelled := 0, 0
	for stopAt := 1; ; stopAt++ {
		events, err := f.Stream(t.Context(), f.caller, asking("Hi", responses.SearchTool()))
		must(t, err)
		seen := 0
		var id string
		for event, err := range events {
			must(t, err)
			if event.Type == responses.EventCreated {
				id = event.Response.ID
			}
			if seen++; seen == stopAt {
				break
			}
		}
		is := is.New(t)
		is.Equal(script.UnderWay(), 0)
		r, err := f.Get(t.Context(), f.caller, id)
		must(t, err)
		if r.Status == responses.Completed {
			if seen < stopAt {
				is.Equal(seen, whole) // the run after the last event
				break
			}
			whole = seen
			continue
		}
		is.Equal(r.Status, responses.Cancelled)
		is.Equal(r.Error.Code, "request_canceled")
		cancelled = stopAt
	}
	// The last four events come when the answer is whole.
	if whole != 26 || cancelled != 22 {
		t.Errorf("the whole turn had %d events; it was cancelled up to the event %d", whole, cancelled)
	}
	if n := len(f.charges(t)); n == 0 {
		t.Error("nothing was billed")
	}
	// Two searches for each whole turn and the stops after the first began.
	for i, query := range searched.queries {
		if query == "b" && searched.queries[i-1] != "a" {
			t.Errorf("searched for %v", searched.queries)
		}
	}
}

// searches remembers what was searched for.
type searches struct {
	mu      sync.Mutex
	queries []string // guarded by mu
}

func (s *searches) Search(_ context.Context, query string) ([]websearch.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queries = append(s.queries, query)
	return nil, nil
}

func TestNoSearchBeginsAfterTheConsumerHasStopped(t *testing.T) {
	searched := &searches{}
	script := modeltest.New(modeltest.Calls(
		model.ToolCall{ID: "a", Name: "web_search", Arguments: `{"queries":["a"]}`},
		model.ToolCall{ID: "b", Name: "web_search", Arguments: `{"queries":["b"]}`}), modeltest.Text("Found."))
	f := newFixture(t, responses.Options{Backend: script, Search: searched})
	events, err := f.Stream(t.Context(), f.caller, asking("Hi", responses.SearchTool()))
	must(t, err)
	for event := range events {
		if event.Type == responses.EventSearchDone {
			break
		}
	}
	is := is.New(t)
	is.Equal(searched.queries, []string{"a"})
	is.Equal(len(script.Requests()), 1)
	is.Equal(f.charges(t), []string{"11+7"})
}

// hanging is a search service that never answers.
type hanging struct{}

func (hanging) Search(ctx context.Context, _ string) ([]websearch.Result, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestASearchThatTakesTooLongIsAResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := modeltest.New(modeltest.Calls(model.ToolCall{ID: "a", Name: "web_search", Arguments: `{"queries":["a","b"]}`}), modeltest.Text("Sorry."))
		f := newFixture(t, responses.Options{Backend: script, Search: hanging{}, SearchTimeout: 3 * time.Second})
		start := time.Now()
		r, err := f.Create(t.Context(), f.caller, asking("Hi", responses.SearchTool()))
		is := is.New(t)
		is.NoErr(err)
		is.Equal(time.Since(start), 3*time.Second) // both queries at once
		is.Equal(r.Status, responses.Completed)
		sent := script.Requests()[1].Messages
		is.Equal(sent[len(sent)-1].Parts, []model.Part{model.Text("The search for \"a\" failed: no results are available.\n\n" +
			"The search for \"b\" failed: no results are available.\n")})
	})
}

func TestACallerThatLeavesDuringASearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := modeltest.New(modeltest.Calls(
			model.ToolCall{ID: "a", Name: "web_search", Arguments: `{"queries":["a"]}`},
			model.ToolCall{ID: "b", Name: "web_search", Arguments: `{"queries":["b"]}`}))
		f := newFixture(t, responses.Options{Backend: script, Search: hanging{}})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			synctest.Wait()
			cancel()
		}()
		var last responses.Event
		events, err := f.Stream(ctx, f.caller, asking("Hi", responses.SearchTool()))
		must(t, err)
		var ended error
		for event, err := range events {
			if ended = err; err == nil {
				last = event
			}
		}
		is := is.New(t)
		is.Equal(died(t, ended), last.Response)
		is.True(fault.Is(ended, fault.Canceled))
		is.Equal(last.Type, responses.EventFailed)
		is.Equal(last.Response.Status, responses.Cancelled)
		is.Equal(len(last.Response.Output), 1)
		is.Equal(last.Response.Output[0].(*conversations.WebSearch).Status, conversations.Incomplete)
		is.Equal(f.charges(t), []string{"11+7"})
	})
}

func TestCreateOfACallerThatHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, responses.Options{Backend: modeltest.New(modeltest.Block(model.TextDelta{Text: "H"}, modeltest.DefaultUsage))})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			synctest.Wait()
			cancel()
		}()
		_, err := f.Create(ctx, f.caller, ask("Hi"))
		is := is.New(t)
		is.True(errors.Is(err, context.Canceled))
		is.Equal(died(t, err).Status, responses.Cancelled)
		is.Equal(f.charges(t), []string{"11+7"})
	})
}

// TestATurnThatCannotBeStored has its store break while the model answers.
func TestATurnThatCannotBeStored(t *testing.T) {
	script := modeltest.New(modeltest.Text("Yes.").WithFinish(model.Length))
	f := newFixture(t, responses.Options{Backend: script})
	script.Answers[0].Before = func(context.Context) error {
		f.store.fail(errors.New("the disk is on fire"))
		return nil
	}
	_, err := f.Create(t.Context(), f.caller, ask("Hi"))
	is := is.New(t)
	r := died(t, err)
	is.Equal(r.Status, responses.Failed)
	is.Equal(r.Incomplete, "")
	is.Equal(r.Error.Code, "internal_error")
	is.Equal(r.Error.Message, "An internal error occurred.")
	f.store.fail(nil)
	_, err = f.Get(t.Context(), f.caller, r.ID)
	is.True(fault.Is(err, fault.NotFound))
}

// TestEventsStayAsTheyWere compares events with what they were when they came:
// a consumer may keep them.
func TestEventsStayAsTheyWere(t *testing.T) {
	script := modeltest.New(
		modeltest.Events(model.TextDelta{Text: "I look."}, model.ToolCallStart{ID: "a", Name: "web_search"}, model.ToolCallDelta{Arguments: `{"queries":["a"]}`},
			modeltest.DefaultUsage, model.Finish{Reason: model.ToolCalls}),
		modeltest.Calls(model.ToolCall{ID: "a", Name: "f", Arguments: `{}`}, model.ToolCall{ID: "b", Name: "f", Arguments: `{"a":1}`}))
	f := newFixture(t, responses.Options{Backend: script, Search: &searches{}})
	events, err := f.Stream(t.Context(), f.caller, asking("Hi", responses.SearchTool(), model.Tool{Name: "f"}))
	must(t, err)
	var kept []responses.Event
	var shown []string
	for event, err := range events {
		must(t, err)
		kept, shown = append(kept, event), append(shown, show(event))
	}
	for i, event := range kept {
		if now := show(event); now != shown[i] {
			t.Errorf("event %d was\n%s\nand is\n%s", i, shown[i], now)
		}
	}
}

func show(e responses.Event) string {
	text := fmt.Sprintf("%s %+v %+v", e.Type, e.Item, e.Part)
	if e.Response != nil {
		data, err := json.Marshal(e.Response)
		text += fmt.Sprint(string(data), err)
	}
	return text
}

// library is the files of a caller.
type library map[string]string

func (l library) Inline(_ context.Context, name, _ string, data []byte) (model.Document, error) {
	return model.Document{Name: name, Text: string(data)}, nil
}

func (l library) Stored(_ context.Context, caller accounts.Caller, id string) (model.Document, error) {
	text, ok := l[id]
	switch {
	case !ok:
		return model.Document{}, fault.Missing(responses.CodeFileNotFound, "file", id)
	case text == "":
		return model.Document{}, fault.Invalidf("file_id", "The file %q is not processed.", id)
	}
	return model.Document{Name: caller.Organization + "/" + id, Text: text}, nil
}

func TestFiles(t *testing.T) {
	files := library{"file_1": "one", "file_2": "two", "file_3": ""}
	script := modeltest.New(modeltest.Text("Read."), modeltest.Text("Read on."))
	f := newFixture(t, responses.Options{Backend: script, Documents: files})
	with := func(previous string, ids ...string) *responses.Request {
		m := &conversations.Message{Role: model.User}
		for _, id := range ids {
			m.Content = append(m.Content, conversations.Part{Type: conversations.InputFile, FileID: id})
		}
		req := ask("")
		req.Input, req.PreviousResponseID = []conversations.Item{m}, previous
		return req
	}
	document := func(id, text string) model.Part {
		return model.Document{Name: f.caller.Organization + "/" + id, Text: text}
	}
	ctx := t.Context()
	first, err := f.Create(ctx, f.caller, with("", "file_1", "file_2"))
	is := is.New(t)
	is.NoErr(err)
	is.Equal(script.Requests()[0].Messages, []model.Message{{Role: model.User, Parts: []model.Part{document("file_1", "one"), document("file_2", "two")}}})

	delete(files, "file_1")
	_, err = f.Create(ctx, f.caller, with(first.ID, "file_2"))
	is.NoErr(err)
	is.Equal(script.Requests()[1].Messages[0].Parts, []model.Part{model.Document{Name: "file_1", Text: "[This file has been deleted.]"}, document("file_2", "two")})

	_, err = f.Create(ctx, f.caller, with("", "file_1"))
	is.Equal(err, error(fault.Missing("file_not_found", "file", "file_1")))
	_, err = f.Create(ctx, f.caller, with(first.ID, "file_1"))
	is.Equal(err, error(fault.Missing("file_not_found", "file", "file_1"))) // although the history knows it
	_, err = f.Create(ctx, f.caller, with("", "file_3"))
	is.Equal(err, error(fault.Invalidf("file_id", "The file %q is not processed.", "file_3")))
	files["file_4"] = strings.Repeat("x", 1<<20)
	_, err = f.Create(ctx, f.caller, with("", slices.Repeat([]string{"file_4"}, 65)...))
	is.Equal(err, error(fault.ContextLength("The files are longer than any model's context window: they have more than 64 MiB.")))
	is.Equal(len(script.Requests()), 2)
}

// TestParallelTurns runs many turns of one conversation at once, each with
// searches, for the race detector and for what is stored of them.
func TestParallelTurns(t *testing.T) {
	script := &modeltest.Script{Respond: func(req *model.Request) modeltest.Answer {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == model.User && len(req.Tools) > 0 {
			return modeltest.Calls(model.ToolCall{ID: "a", Name: "web_search", Arguments: `{"queries":["a","b","c"]}`})
		}
		return modeltest.Text("Found.")
	}}
	f := newFixture(t, responses.Options{Backend: script, Search: &searches{}})
	root, err := f.Create(t.Context(), f.caller, ask("root"))
	must(t, err)
	results := make([]*responses.Response, 16)
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() {
			req := asking(fmt.Sprint(i), responses.SearchTool())
			req.Conversation = root.Conversation
			r, err := f.Create(t.Context(), f.caller, req)
			if err != nil {
				t.Error(err)
				return
			}
			results[i] = r
		})
	}
	group.Wait()
	is := is.New(t)
	for _, r := range results {
		stored, err := f.Get(t.Context(), f.caller, r.ID)
		is.NoErr(err)
		if !reflect.DeepEqual(stored.Output, r.Output) {
			t.Errorf("stored\n%+v\nreturned\n%+v", stored.Output, r.Output)
		}
	}
	is.Equal(len(f.charges(t)), 17)
	is.True(!slices.ContainsFunc(f.charges(t)[1:], func(c string) bool { return c != "22+14" }))
}

func TestRequestsAreNotChanged(t *testing.T) {
	f := newFixture(t, responses.Options{Backend: modeltest.New(modeltest.Text("Yes."))})
	req := ask("Hi")
	_, err := f.Create(t.Context(), f.caller, req)
	must(t, err)
	if !reflect.DeepEqual(req, ask("Hi")) {
		t.Errorf("the request has become %+v", req)
	}
}

func TestABackendThatBreaksItsContract(t *testing.T) {
	for name, answer := range map[string]modeltest.Answer{
		"no finish":                modeltest.Events(model.TextDelta{Text: "H"}),
		"arguments without a call": modeltest.Events(model.TextDelta{Text: "H"}, model.ToolCallDelta{Arguments: "{"}),
	} {
		f := newFixture(t, responses.Options{Backend: modeltest.New(answer)})
		_, err := f.Create(t.Context(), f.caller, ask("Hi"))
		if r := died(t, err); r.Error == nil || r.Error.Code != "model_error" || r.Error.Message != "The model's answer broke off." {
			t.Errorf("%s: got %+v", name, r.Error)
		}
	}
	// Nothing at all is a refusal.
	f := newFixture(t, responses.Options{Backend: modeltest.New(modeltest.Events())})
	if _, err := f.Create(t.Context(), f.caller, ask("Hi")); !fault.Is(err, fault.Upstream) || strings.Contains(fault.From(err).Message, "backend") {
		t.Errorf("got %v", err)
	}
}
