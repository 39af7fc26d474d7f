package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

var stop = model.Finish{Reason: model.Stop}

// streamed are turns whose whole transcripts are in testdata.
var streamed = []struct {
	name    string
	body    string // without the opening brace, model and stream
	answers []modeltest.Answer
}{
	{"text", `"input":"Hi","metadata":{"a":"1 < 2"}}`, []modeltest.Answer{modeltest.Text("Hel", "lo <b>", "\n\"you\"")}},
	{"started", `"input":"Hi"}`, []modeltest.Answer{modeltest.Events(model.Started{}, model.TextDelta{Text: "Yes"}, modeltest.DefaultUsage, stop)}},
	{"empty", `"input":"Hi"}`, []modeltest.Answer{modeltest.Events(modeltest.DefaultUsage, stop)}},
	{"preamble", `"input":"Hi","tools":[` + weatherTool + `]}`, []modeltest.Answer{modeltest.Events(
		model.TextDelta{Text: "Let me "}, model.TextDelta{Text: "see."},
		model.ToolCallStart{ID: "x", Name: "weather"}, model.ToolCallDelta{Arguments: `{"city":`}, model.ToolCallDelta{Arguments: `"Bonn"}`},
		modeltest.DefaultUsage, model.Finish{Reason: model.ToolCalls})}},
	{"parallel", `"input":"Hi","tools":[` + weatherTool + `]}`, []modeltest.Answer{modeltest.Calls(
		model.ToolCall{ID: "x", Name: "weather", Arguments: `{"city":"Bonn"}`},
		model.ToolCall{ID: "x", Name: "weather", Arguments: ``},
		model.ToolCall{ID: "y", Name: "weather", Arguments: `{}`})}},
	{"search", `"input":"Hi","tools":[` + searchTool + `]}`, []modeltest.Answer{
		modeltest.Events(model.TextDelta{Text: "I will look."},
			model.ToolCallStart{ID: "a", Name: "web_search"}, model.ToolCallDelta{Arguments: `{"queries":["one","two"]}`},
			model.ToolCallStart{ID: "b", Name: "web_search"}, model.ToolCallDelta{Arguments: `{"queries":["broken"]}`},
			modeltest.DefaultUsage, model.Finish{Reason: model.ToolCalls}),
		search(`["three"]`), modeltest.Text("Found."),
	}},
	{"structured", `"input":"Hi","text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object","required":["n"]}}}}`,
		[]modeltest.Answer{modeltest.Text(`{"n":`, `1}`, "\n")}},
	{"structured-again", `"input":"Hi","text":{"format":{"type":"json_object"}}}`,
		[]modeltest.Answer{modeltest.Text(`no`), modeltest.Text(`{}`)}},
	{"structured-invalid", `"input":"Hi","text":{"format":{"type":"json_object"}}}`,
		[]modeltest.Answer{modeltest.Text(`no`), modeltest.Text(`never`)}},
	{"failed", `"input":"Hi"}`, []modeltest.Answer{modeltest.Fail(
		fault.Upstreamf(errors.New("secret"), "The model server failed."),
		model.TextDelta{Text: "Half"}, modeltest.DefaultUsage)}},
	{"failed-internal", `"input":"Hi","tools":[` + weatherTool + `]}`, []modeltest.Answer{modeltest.Fail(
		errors.New("secret"), model.TextDelta{Text: "Half"}, model.ToolCallStart{ID: "x", Name: "weather"}, model.ToolCallDelta{Arguments: `{"c`})}},
	{"cut", `"input":"Hi","max_output_tokens":7}`, []modeltest.Answer{modeltest.Text("Half a sen").WithFinish(model.Length)}},
	{"cut-call", `"input":"Hi","max_output_tokens":7,"tools":[` + weatherTool + `]}`,
		[]modeltest.Answer{call("weather", `{"city`).WithFinish(model.Length)}},
	{"unstored", `"input":"Hi","store":false}`, []modeltest.Answer{modeltest.Text("Bye")}},
}

func TestStreams(t *testing.T) {
	for _, s := range streamed {
		t.Run(s.name, func(t *testing.T) {
			a := newTurns(t, s.answers...)
			got := a.do("POST", "/v1/responses", `{"model":"svc-preview","stream":true,`+s.body)
			if got.status != 200 || got.aborted || got.header.Get("Content-Type") != "text/event-stream" {
				t.Fatalf("got %+v", got)
			}
			golden(t, "responses/"+s.name+".txt", got.body)
			checkTranscript(t, got.body)
		})
	}
}

// event is what the rules below read of an event.
type event struct {
	name        string
	Type        string
	Sequence    int    `json:"sequence_number"`
	OutputIndex *int   `json:"output_index"`
	ItemID      string `json:"item_id"`
	Item        *struct{ ID, Type, Status string }
	Delta       string
	Response    json.RawMessage
}

func parse(t testing.TB, transcript string) (events []event) {
	t.Helper()
	for block := range strings.SplitSeq(strings.TrimSuffix(transcript, "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(strings.TrimPrefix(block, "event: "), "\ndata: ")
		if !ok {
			t.Fatalf("not an event: %q", block)
		}
		e := event{name: name}
		decode(t, data, &e)
		events = append(events, e)
	}
	return events
}

// checkTranscript holds a stream to the rules of the spec's section Events, and
// returns its last response.
func checkTranscript(t testing.TB, transcript string) json.RawMessage {
	t.Helper()
	events := parse(t, transcript)
	var ids []string // of items, by output index
	for i, e := range events {
		if e.Sequence != i {
			t.Errorf("event %d has the sequence number %d", i, e.Sequence)
		}
		if e.name != e.Type {
			t.Errorf("event %q has the type %q", e.name, e.Type)
		}
		if e.Type == "response.output_item.added" {
			if *e.OutputIndex != len(ids) {
				t.Errorf("event %d adds the item %d after %d", i, *e.OutputIndex, len(ids))
			}
			ids = append(ids, e.Item.ID)
		}
		if e.OutputIndex == nil {
			continue
		}
		if e.ItemID == "" {
			e.ItemID = e.Item.ID
		}
		if e.ItemID != ids[*e.OutputIndex] {
			t.Errorf("event %d is about %s, which is not at %d in %v", i, e.ItemID, *e.OutputIndex, ids)
		}
	}
	last := events[len(events)-1]
	var r response
	decode(t, string(last.Response), &r)
	want := "response.failed"
	if r.Status == "completed" {
		want = "response.completed"
	}
	if last.Type != want {
		t.Errorf("the last event is %s, the status %s", last.Type, r.Status)
	}
	got := []string(nil)
	for _, item := range r.Output {
		got = append(got, item.ID)
	}
	if !reflect.DeepEqual(got, ids) {
		t.Errorf("the items streamed are %v, those of the response %v", ids, got)
	}
	return last.Response
}

// TestOneResponseEverywhere compares the streamed response with the blocking
// one, the stored one and the items of the conversation.
func TestOneResponseEverywhere(t *testing.T) {
	for _, s := range streamed {
		t.Run(s.name, func(t *testing.T) {
			a, b := newTurns(t, s.answers...), newTurns(t, s.answers...)
			streamed := a.do("POST", "/v1/responses", `{"model":"svc-preview","stream":true,`+s.body)
			final := string(checkTranscript(t, streamed.body))
			blocking := b.post(`{"model":"svc-preview",` + s.body)
			if final != blocking {
				t.Errorf("streamed\n%s\nblocking\n%s", final, blocking)
			}
			var r response
			decode(t, final, &r)
			if !r.Store {
				a.want(404, "GET", "/v1/responses/"+r.ID, "")
				a.want(404, "GET", "/v1/conversations/"+r.Conversation.ID, "")
				return
			}
			if stored := a.want(200, "GET", "/v1/responses/"+r.ID, ""); stored != final {
				t.Errorf("streamed\n%s\nstored\n%s", final, stored)
			}
			replayed := a.want(200, "GET", "/v1/responses/"+r.ID+"?stream=true", "")
			if last := string(checkTranscript(t, replayed)); last != final {
				t.Errorf("streamed\n%s\nreplayed\n%s", final, last)
			}
			if got, want := outline(t, replayed), outline(t, streamed.body); r.Status == "completed" && !reflect.DeepEqual(got, want) {
				t.Errorf("streamed\n%s\nreplayed\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
			}
			checkItems(t, a, final)
		})
	}
}

// outline returns the events of a stream, with successive deltas of an item as
// one.
func outline(t *testing.T, transcript string) (list []string) {
	t.Helper()
	var last event
	for _, e := range parse(t, transcript) {
		index := -1
		if e.OutputIndex != nil {
			index = *e.OutputIndex
		}
		delta := strings.HasSuffix(e.Type, ".delta")
		if delta && e.Type == last.Type && e.ItemID == last.ItemID {
			list[len(list)-1] += e.Delta
			continue
		}
		list = append(list, fmt.Sprint(e.Type, " ", index, " ", e.Delta))
		last = e
	}
	return list
}

// checkItems compares the output of a response with the items of its
// conversation, whose first turn it is.
func checkItems(t *testing.T, a *turns, body string) {
	t.Helper()
	var r struct {
		Status       string
		Conversation struct{ ID string }
		Output       []json.RawMessage
	}
	decode(t, body, &r)
	var list struct{ Data []json.RawMessage }
	decode(t, a.want(200, "GET", "/v1/conversations/"+r.Conversation.ID+"/items?order=asc&limit=100", ""), &list)
	if r.Status != "completed" {
		if len(list.Data) != 0 {
			t.Errorf("a failed turn shows the items %s", list.Data)
		}
		return
	}
	if got := list.Data[1:]; fmt.Sprintf("%s", got) != fmt.Sprintf("%s", r.Output) {
		t.Errorf("output\n%s\nitems\n%s", r.Output, got)
	}
}

// randomAnswers returns the answers of one turn: some rounds of searches, and
// then an answer.
func randomAnswers(r *rand.Rand) (answers []modeltest.Answer) {
	for range r.IntN(3) {
		answers = append(answers, randomAnswer(r, "web_search"))
	}
	last := randomAnswer(r, "weather")
	switch r.IntN(6) {
	case 0:
		last = last.WithFinish(model.Length)
	case 1:
		last.Err = fault.Upstreamf(nil, "The model server failed.")
		last.Events = last.Events[:1+r.IntN(len(last.Events)-1)]
	}
	return append(answers, last)
}

// randomAnswer returns texts and calls of a tool in any order, at least one
// call if it is a search.
func randomAnswer(r *rand.Rand, tool string) modeltest.Answer {
	var events []model.Event
	if r.IntN(2) == 0 {
		events = append(events, model.Started{})
	}
	call := func() {
		events = append(events, model.ToolCallStart{ID: "same", Name: tool})
		for _, piece := range []string{`{"queries":`, `["a"`, `,"b"]}`}[:1+r.IntN(3)] {
			events = append(events, model.ToolCallDelta{Arguments: piece})
		}
	}
	called := tool == "web_search"
	if called {
		call()
	}
	for range r.IntN(5) {
		if r.IntN(2) == 0 {
			call()
			called = true
			continue
		}
		for range 1 + r.IntN(3) {
			events = append(events, model.TextDelta{Text: string(rune('a' + r.IntN(26)))})
		}
	}
	reason := model.Stop
	if called {
		reason = model.ToolCalls
	}
	usage := model.Usage{InputTokens: r.IntN(50), OutputTokens: r.IntN(50)}
	return modeltest.Events(append(events, usage, model.Finish{Reason: reason})...)
}

func TestStreamedAndBlockingTurnsAreTheSame(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { streamedAndBlockingAreTheSame(t, seed) })
	}
}

func streamedAndBlockingAreTheSame(t *testing.T, seed uint64) {
	body := `"input":"Hi","tools":[` + searchTool + `,` + weatherTool + `]}`
	answers := randomAnswers(rand.New(rand.NewPCG(seed, 1)))
	a, b := newTurns(t, answers...), newTurns(t, answers...)
	streamed := a.do("POST", "/v1/responses", `{"model":"svc-preview","stream":true,`+body)
	blocking := b.do("POST", "/v1/responses", `{"model":"svc-preview",`+body)
	if blocking.status != 200 {
		if streamed.status != blocking.status || streamed.body != blocking.body {
			t.Fatalf("streamed\n%+v\nblocking\n%+v", streamed, blocking)
		}
		return
	}
	final := string(checkTranscript(t, streamed.body))
	if final != blocking.body {
		t.Fatalf("streamed\n%s\nblocking\n%s", final, blocking.body)
	}
}

func TestStreamsThatAreRefusedAreAnswers(t *testing.T) {
	a := newTurns(t, modeltest.Fail(&fault.Error{Kind: fault.RateLimited, Code: "rate_limit_exceeded", Message: "Slow down.", RetryAfter: 2e9}))
	got := a.do("POST", "/v1/responses", `{"model":"svc-preview","stream":true,"input":"Hi"}`)
	is := is.New(t)
	is.Equal(got.status, 429)
	is.Equal(got.header.Get("Content-Type"), "application/json")
	is.Equal(got.header.Get("Retry-After"), "2")
	is.Equal(got.body, `{"error":{"message":"Slow down.","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}`)
}

// slow returns what a stream shows whose model takes so long to answer or refuse.
func slow(t *testing.T, wait time.Duration, model modeltest.Answer) (got answer) {
	model.Before = func(context.Context) error {
		time.Sleep(wait)
		return nil
	}
	synctest.Test(t, func(t *testing.T) {
		a := newTurns(t, model)
		w := httptest.NewRecorder()
		got.aborted = a.serve(t.Context(), w, "POST", "/v1/responses", `{"model":"svc-preview","stream":true,"input":"Hi"}`)
		got.status, got.body = w.Code, w.Body.String()
	})
	return got
}

// TestSlowStreams has a model that thinks for long before it answers or refuses:
// after half a second the turn exists, and what fails then is its failure.
func TestSlowStreams(t *testing.T) {
	is := is.New(t)
	fails := modeltest.Fail(fault.Upstreamf(nil, "The model server failed."))
	answered := slow(t, 40*time.Second, modeltest.Text("Yes."))
	is.True(strings.HasPrefix(answered.body, "event: response.created\n"))
	is.Equal(strings.Count(answered.body, ": keepalive\n"), 2)
	is.True(!answered.aborted)
	refused := slow(t, 499*time.Millisecond, fails)
	is.Equal(refused.status, 502)
	is.Equal(refused.body, `{"error":{"message":"The model server failed.","type":"server_error","param":null,"code":"model_error"}}`)
	failed := slow(t, 501*time.Millisecond, fails)
	is.Equal(failed.status, 200)
	is.True(strings.HasPrefix(failed.body, "event: response.created\n"))
	is.True(strings.Contains(failed.body, "event: error\n"+`data: {"type":"error","sequence_number":2,"code":"model_error","message":"The model server failed.","param":null,`+
		`"error":{"message":"The model server failed.","type":"server_error","param":null,"code":"model_error"}}`+"\n\nevent: response.failed\n"))
	is.True(!failed.aborted)
}
