package telemetry_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/telemetry"
)

// TestPolicyDecisionsAreCounted by policy, stage and outcome, and the program is told of
// each, too.
func TestPolicyDecisionsAreCounted(t *testing.T) {
	script := modeltest.New(modeltest.Text("Hi"))
	script.Decisions = func(_ context.Context, req *model.DecideRequest) (*model.Decision, error) {
		p := 0.1
		if strings.Contains(string(req.State), "bad") {
			p = 0.9
		}
		return &model.Decision{Probabilities: [][]float64{{p, 1 - p}}, StateTokens: 1, QuestionTokens: 1}, nil
	}
	tel := telemetry.New(telemetry.Options{})
	told := 0
	service, err := svc.New(t.Context(), svc.Options{
		Backend: script, Observer: tel, Logger: slog.New(slog.DiscardHandler), Accounting: svc.NoAccounting,
		PolicyDecided: func(string, guard.Stage, guard.Outcome) { told++ },
		Policies: map[string]guard.Policy{"p": {
			Stage: guard.Both, Questions: []decisions.Question{{Name: "q", Type: decisions.Noul, Instructions: "Is it bad?"}},
			Block: map[string]guard.Block{"q": {When: json.RawMessage("true"), Threshold: 0.5}},
		}},
		DefaultPolicies: []string{"p"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	caller, err := service.LocalCaller(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{"good", "bad", "bad"} {
		service.CompleteChat(t.Context(), caller, &chat.Request{Model: model.DefaultGenerator, Messages: []chat.Message{{Role: model.User, Content: []chat.Part{chat.Text(said)}}}}) // the metrics say what became of it
	}
	w := httptest.NewRecorder()
	tel.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`svc_policy_decisions_total{outcome="passed",policy="p",stage="input"} 1`,
		`svc_policy_decisions_total{outcome="passed",policy="p",stage="output"} 1`,
		`svc_policy_decisions_total{outcome="blocked",policy="p",stage="input"} 2`,
	} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	if told != 4 {
		t.Errorf("the program was told %d times", told)
	}
}
