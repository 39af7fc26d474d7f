package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"
	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/route"
)

// routed are two routes over the models cheap and strong. What is hard has that word.
var routed = map[string]route.Route{
	"auto": {
		Question:  &decisions.Question{Type: decisions.Choice, Instructions: "How hard is it?", Criteria: []byte(`{"easy":null,"hard":null}`)},
		Models:    map[string]string{"easy": "cheap", "hard": "strong"},
		Otherwise: "strong", MinConfidence: 0.6,
	},
	"careful": {
		Cascade: []string{"cheap", "strong"}, Accept: &decisions.Question{Type: decisions.Noul, Instructions: "Is the answer right?"}, Threshold: 0.8,
	},
}

// newRoutes returns an interface with the routes. The cheap model answers with wrong
// where the prompt is hard, the judge sees that, and cannot decide where it has the word
// FAIL.
func newRoutes(t *testing.T) *turns {
	script := &modeltest.Script{
		Infos: []model.Info{{ID: "cheap", Generates: true, ContextWindow: 1000}, {ID: "strong", Generates: true}, {ID: model.DefaultDecider, Decides: true}},
		Respond: func(req *model.Request) modeltest.Answer {
			last := string(req.Messages[len(req.Messages)-1].Parts[0].(model.Text))
			switch {
			case req.Model == "strong":
				return modeltest.Text("strong ", "right")
			case strings.Contains(last, "hard"):
				return modeltest.Text("cheap ", "wrong")
			case strings.Contains(last, "broken"):
				return modeltest.Fail(fault.Upstreamf(nil, "It is away."))
			}
			return modeltest.Text("cheap ", "right")
		},
		Decisions: func(_ context.Context, req *model.DecideRequest) (*model.Decision, error) {
			if strings.Contains(string(req.State), "FAIL") {
				return nil, errors.New("the judge is away")
			}
			yes := 0.95
			if strings.Contains(string(req.State), "unsure") {
				yes = 0.55
			}
			if strings.Contains(string(req.State), "hard") || strings.Contains(string(req.State), "wrong") {
				yes = 1 - yes
			}
			return &model.Decision{Probabilities: [][]float64{{yes, 1 - yes}}, StateTokens: 3, QuestionTokens: 2}, nil
		},
	}
	return newTurnsOver(t, script, options{routes: routed})
}

// used returns what the organization was charged for.
func (a *turns) used(t *testing.T) (list []string) {
	t.Helper()
	books, err := accounts.New(t.Context(), accounts.Options{Store: a.store, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer func() { must(t, books.Close()) }()
	entries, err := books.Usage(t.Context(), a.orgs["rich"], page.Params{Limit: 1000})
	must(t, err)
	for _, e := range entries.Items {
		list = append(list, fmt.Sprintf("%s %d %d+%d", e.Use.Model, e.Use.Kind, e.Use.InputTokens, e.Use.OutputTokens))
	}
	slices.Sort(list)
	return list
}

// TestRoutes asks routes on each interface, streamed and not: the model of the answer
// stays the route, the header says which model answered, and all calls are charged as
// theirs.
func TestRoutes(t *testing.T) {
	const decider = model.DefaultDecider + " 1 5+0"
	const cheap, strong = "cheap 0 11+7", "strong 0 11+7"
	for _, c := range []struct {
		route, said, answers, text string
		used                       []string
	}{
		{"auto", "an easy one", "cheap", "cheap right", []string{cheap, decider}},
		{"auto", "a hard one", "strong", "strong right", []string{strong, decider}},
		{"auto", "an unsure one", "strong", "strong right", []string{strong, decider}},
		{"auto", "FAIL", "strong", "strong right", []string{strong}},
		{"careful", "an easy one", "cheap", "cheap right", []string{cheap, decider}},
		{"careful", "a hard one", "strong", "strong right", []string{cheap, strong, decider}},
		{"careful", "an unsure one", "strong", "strong right", []string{cheap, strong, decider}},
		{"careful", "FAIL", "strong", "strong right", []string{cheap, strong}},
		{"careful", "broken", "strong", "strong right", []string{strong}},
	} {
		for path, body := range map[string]string{
			"/v1/chat/completions": `{"model":%q,"stream":%v,"messages":[{"role":"user","content":%q}]}`,
			"/v1/responses":        `{"model":%q,"stream":%v,"input":%q}`,
			"/v1/messages":         `{"model":%q,"stream":%v,"max_tokens":9,"messages":[{"role":"user","content":%q}]}`,
		} {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprint(c.route, " ", c.said, " ", path, " ", stream), func(t *testing.T) {
					is := is.New(t)
					a := newRoutes(t)
					got := a.do("POST", path, fmt.Sprintf(body, c.route, stream, c.said))
					is.Equal(got.status, 200)
					is.Equal(got.header.Get("Svc-Model"), c.answers)
					is.True(strings.Contains(got.body, `"model":"`+c.route+`"`))
					is.True(!strings.Contains(got.body, "wrong"))
					if !stream {
						is.True(strings.Contains(got.body, `"`+c.text+`"`))
					}
					is.Equal(a.used(t), c.used)
				})
			}
		}
	}
}

// TestARouteIsAModel that is listed, and whose window is that of the smallest of its
// models.
func TestARouteIsAModel(t *testing.T) {
	is := is.New(t)
	a := newRoutes(t)
	is.Equal(gjson.Get(a.do("GET", "/v1/models", "").body, "data.#.id").Raw, `["cheap","strong","svc-snap-preview","auto","careful"]`)
	is.Equal(gjson.Get(a.do("GET", "/v1/models/auto", "").body, "owned_by").Str, "route")
	long := a.do("POST", "/v1/chat/completions", `{"model":"auto","messages":[{"role":"user","content":"`+strings.Repeat("easy ", 2000)+`"}]}`)
	is.Equal(gjson.Get(long.body, "error.code").Str, "context_length_exceeded")
	// A turn is stored under the route, and the next one is routed anew.
	first := a.do("POST", "/v1/responses", `{"model":"auto","input":"an easy one"}`)
	next := a.do("POST", "/v1/responses", `{"model":"auto","previous_response_id":"`+gjson.Get(first.body, "id").Str+`","input":"a hard one"}`)
	is.Equal(next.header.Get("Svc-Model"), "strong")
	is.Equal(gjson.Get(a.do("GET", "/v1/responses/"+gjson.Get(next.body, "id").Str, "").body, "model").Str, "auto")
}
