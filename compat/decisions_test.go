package compat

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
)

// decisionAliases is what clients of System One call their model.
var decisionAliases = map[string]string{"jev-latest": model.DefaultDecider}

// TestDecisions decides with OpenAI's client for Go.
func TestDecisions(t *testing.T) {
	client := connectWith(t, svc.Options{Aliases: decisionAliases})
	decision, err := client.Decisions.New(t.Context(), openai.DecisionNewParams{
		Model: "jev-latest",
		Input: openai.DecisionNewParamsInputUnion{OfString: openai.String("I was charged twice.")},
		Questions: []openai.DecisionNewParamsQuestionUnion{
			param.Override[openai.DecisionNewParamsQuestionUnion](map[string]any{"type": "predicate", "instructions": "Is it about money?"}),
			param.Override[openai.DecisionNewParamsQuestionUnion](map[string]any{"type": "choice", "name": "c", "instructions": "Which?",
				"choices": []map[string]any{{"value": "billing"}, {"value": true}}}),
			param.Override[openai.DecisionNewParamsQuestionUnion](map[string]any{"type": "score", "instructions": "How?", "levels": []map[string]any{{"label": "low"}, {"label": "high"}}}),
		},
	})
	check(t, err)
	equal(t, "answers", len(decision.Answers), 3)
	if p := decision.Answers[0].AsPredicate().Probability; p <= 0 || p >= 1 {
		t.Errorf("probability %v", p)
	}
	second := decision.Answers[1].AsChoice()
	equal(t, "name", second.Name, "c")
	equal(t, "first value", second.Probabilities[0].Value.AsString(), "billing")
	equal(t, "second value", second.Probabilities[1].Value.AsBool(), true)
	equal(t, "label", decision.Answers[2].AsScore().Probabilities[1].Label, "high")
	if decision.Usage.InputTokens < 1 {
		t.Errorf("usage %+v", decision.Usage)
	}
}

// TestNodeDecisions decides with the clients of npm: OpenAI's and System One's.
func TestNodeDecisions(t *testing.T) {
	node := nodeBinary(t)
	service, err := svc.New(t.Context(), svc.Options{Aliases: decisionAliases, Logger: slog.New(slog.DiscardHandler)})
	check(t, err)
	key, err := service.Bootstrap(t.Context(), "")
	check(t, err)
	server := httptest.NewServer(httpapi.New(service, httpapi.Options{Logger: slog.New(slog.DiscardHandler)}))
	t.Cleanup(func() {
		server.Close()
		check(t, service.Close())
	})
	t.Setenv("TYPESAFE_BASE_URL", server.URL)
	t.Setenv("TYPESAFE_API_KEY", key)
	g := &gallery{url: server.URL + "/v1", key: key}
	if out := g.run(t, node, "cases/decisions.mjs"); !strings.Contains(out, "ok: decisions") {
		t.Errorf("the case did not come to its end:\n%s", out)
	}
}
