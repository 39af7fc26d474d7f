package httpapi_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/matryer/is"
	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/page"
)

// violent is a script that finds violence where the state has the word kill.
func violent(answers ...modeltest.Answer) *modeltest.Script {
	script := modeltest.New(answers...)
	script.Decisions = func(_ context.Context, req *model.DecideRequest) (*model.Decision, error) {
		d := &model.Decision{StateTokens: 3, QuestionTokens: 7}
		for _, q := range req.Questions {
			p := 0.25
			if strings.HasSuffix(q.Name, "violence") && strings.Contains(string(req.State), "kill") {
				p = 0.75
			}
			d.Probabilities = append(d.Probabilities, []float64{p, 1 - p})
		}
		return d, nil
	}
	return script
}

// TestModerations has each text judged by all categories in one decision.
func TestModerations(t *testing.T) {
	is := is.New(t)
	a := newTurnsOver(t, violent(), options{})
	got := a.do("POST", "/v1/moderations", `{"model":"omni-moderation-latest","input":["hello","kill"]}`)
	is.Equal(got.status, 200)
	is.True(strings.HasPrefix(gjson.Get(got.body, "id").Str, "modr-"))
	is.Equal(gjson.Get(got.body, "model").Str, model.DefaultDecider)
	is.Equal(gjson.Get(got.body, "results.#").Int(), int64(2))
	is.Equal(gjson.Get(got.body, "results.#.flagged").Raw, "[false,true]")
	second := gjson.Get(got.body, "results.1")
	is.Equal(len(second.Get("category_scores").Map()), 13)
	for _, c := range guard.Categories {
		flagged := c.Name == "violence"
		name := gjson.Escape(c.Name)
		is.Equal(second.Get("categories."+name).Bool(), flagged)
		is.Equal(second.Get("category_scores."+name).Num, map[bool]float64{true: 0.75, false: 0.25}[flagged])
		is.Equal(second.Get("category_applied_input_types."+name).Raw, `["text"]`)
	}
	is.Equal(a.decisions(t), 2)
	for body, param := range map[string]string{
		`{}`:           "input",
		`{"input":[]}`: "input",
		`{"input":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}`: "input[0].image_url.url",
		`{"input":[{"type":"video"}]}`:   "input[0].type",
		`{"input":"x","model":"nobody"}`: "model",
	} {
		refused := a.do("POST", "/v1/moderations", body)
		is.Equal(refused.status, 400)
		is.Equal(gjson.Get(refused.body, "error.param").Str, param)
	}
}

// TestModerationInARequest is the policy of that name, for the stages that the request
// names.
func TestModerationInARequest(t *testing.T) {
	for _, path := range []string{"/v1/chat/completions", "/v1/responses"} {
		for stage, want := range map[string]string{"input": "kill", "output": "kill", "": ""} {
			is := is.New(t)
			a := newTurnsOver(t, violent(modeltest.Text("I kill.")), options{})
			said := "Hi"
			if stage == "input" {
				said = want
			}
			field := ""
			if stage != "" {
				field = `"moderation":{"model":"omni-moderation-latest","policy":{"` + stage + `":{"mode":"block"}}},`
			}
			body := `{` + field + `"model":"svc-preview","messages":[{"role":"user","content":"` + said + `"}]}`
			if path == "/v1/responses" {
				body = `{` + field + `"model":"svc-preview","input":"` + said + `"}`
			}
			got := a.do("POST", path, body)
			switch stage {
			case "input":
				is.Equal(got.status, 400)
				is.Equal(gjson.Get(got.body, "error.policy").Str, "moderation")
				is.Equal(gjson.Get(got.body, "error.question").Str, "violence")
			case "output":
				is.Equal(got.status, 200)
				is.True(!strings.Contains(got.body, "I kill."))
				is.Equal(got.header.Get("Svc-Policy"), "moderation=blocked")
			default:
				is.Equal(got.status, 200)
				is.True(strings.Contains(got.body, "I kill."))
				is.Equal(got.header.Get("Svc-Policy"), "")
			}
		}
	}
	a := newTurnsOver(t, violent(), options{})
	got := a.do("POST", "/v1/responses", `{"model":"svc-preview","input":"Hi","moderation":{"policy":{"input":{"mode":"Block"}}}}`)
	is.New(t).Equal(gjson.Get(got.body, "error.param").Str, "moderation.policy.input.mode")
}

// decisions returns how many decisions the organization was charged for.
func (a *turns) decisions(t *testing.T) (n int) {
	t.Helper()
	books, err := accounts.New(t.Context(), accounts.Options{Store: a.store, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer func() { must(t, books.Close()) }()
	entries, err := books.Usage(t.Context(), a.orgs["rich"], page.Params{Limit: 1000})
	must(t, err)
	for _, e := range entries.Items {
		if e.Use.Kind == accounts.Decision {
			n++
		}
	}
	return n
}
