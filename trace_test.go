package svc_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
)

// TestResultsKeepTheirTrace holds that a response, a completion and a decision are
// stored with who asked, what the ledger charged, and how long it took; the time until
// the first piece with those alone that are streamed.
func TestResultsKeepTheirTrace(t *testing.T) {
	now := time.Now()
	service, err := svc.New(t.Context(), svc.Options{Now: func() time.Time { now = now.Add(20 * time.Millisecond); return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	key, err := service.Bootstrap(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	caller, err := service.Authenticate(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	check := func(kind string, got accounts.Trace, streamed bool) {
		t.Helper()
		page, err := service.Ledger(t.Context(), caller.Organization, svc.Page{Limit: 1, Desc: true})
		if err != nil {
			t.Fatal(err)
		}
		charged := page.Items[0].Cost()
		if got.Key != caller.Key || got.Cost != charged || charged == 0 || got.Latency <= 0 || streamed != (got.FirstToken > 0) || got.FirstToken >= got.Latency {
			t.Errorf("%s: %+v of a call that cost %s", kind, got, charged)
		}
	}
	whole, err := service.CreateResponse(t.Context(), caller, &responses.Request{Model: model.DefaultGenerator, Input: responses.Text("Hello")})
	if err != nil {
		t.Fatal(err)
	}
	check("response", whole.Trace, false)
	events, err := service.StreamResponse(t.Context(), caller, &responses.Request{Model: model.DefaultGenerator, Input: responses.Text("Hello")})
	if err != nil {
		t.Fatal(err)
	}
	id := ""
	for event, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		if event.Response != nil {
			id = event.Response.ID
		}
	}
	streamed, err := service.Response(t.Context(), caller, id)
	if err != nil {
		t.Fatal(err)
	}
	check("streamed response", streamed.Trace, true)
	chunks, err := service.StreamChat(t.Context(), caller, &chat.Request{Model: model.DefaultGenerator, Messages: []chat.Message{{Role: model.User, Content: []chat.Part{chat.Text("Hello")}}}})
	if err != nil {
		t.Fatal(err)
	}
	for chunk, err := range chunks {
		if err != nil {
			t.Fatal(err)
		}
		id = chunk.ID
	}
	completion, err := service.ChatCompletion(t.Context(), caller, id)
	if err != nil {
		t.Fatal(err)
	}
	check("completion", completion.Trace, true)
	store := true
	decision, err := service.Decide(t.Context(), caller, &decisions.Request{Model: model.DefaultDecider, State: json.RawMessage(`"Hello"`), Store: &store,
		Questions: []decisions.Question{{Name: "greeting", Type: decisions.Noul, Instructions: "Is it a greeting?"}}})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := service.StoredDecision(t.Context(), caller, decision.ID)
	if err != nil {
		t.Fatal(err)
	}
	check("decision", kept.Trace, false)
}
