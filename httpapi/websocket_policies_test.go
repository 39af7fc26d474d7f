package httpapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"
	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// TestPoliciesOverAWebSocket block an input before a turn begins, and an output in its
// last event, and the connection goes on.
func TestPoliciesOverAWebSocket(t *testing.T) {
	is := is.New(t)
	script := modeltest.New(modeltest.Text("You are ", "bad"), modeltest.Text("Hello"))
	script.Decisions = func(_ context.Context, req *model.DecideRequest) (*model.Decision, error) {
		p := 0.1
		if strings.Contains(string(req.State), "bad") {
			p = 0.9
		}
		return &model.Decision{Probabilities: [][]float64{{p, 1 - p}}, StateTokens: 1, QuestionTokens: 1}, nil
	}
	a := newBareAPI(t, svc.Options{Backend: script, DefaultPolicies: []string{"p"}, Policies: map[string]guard.Policy{"p": {
		Stage: guard.Both, Questions: []decisions.Question{{Name: "q", Type: decisions.Noul, Instructions: "Is it bad?"}},
		Block: map[string]guard.Block{"q": {When: json.RawMessage("true"), Threshold: 0.5}},
	}}}, Options{Logger: slog.New(slog.DiscardHandler)})
	_, key := newLimited(t, a, 0, 0)
	c := &client{httptest.NewServer(a), key}
	defer c.Close()
	conn := c.dial(t)
	events, last := ask(t, conn, `{"type":"response.create","model":"svc-preview","input":"bad"}`)
	is.Equal(len(events), 1)
	is.Equal(last.Status, 400)
	is.Equal(last.Code, "policy_blocked")
	is.Equal(gjson.Get(events[0], "error.policy").Str, "p")
	is.Equal(len(script.Requests()), 0)
	events, last = ask(t, conn, `{"type":"response.create","model":"svc-preview","input":"Hi"}`)
	is.Equal(last.Type, "response.incomplete")
	is.True(!strings.Contains(strings.Join(events, ""), "You are"))
	_, last = ask(t, conn, `{"type":"response.create","model":"svc-preview","input":"Hi"}`)
	is.Equal(last.Type, "response.completed")
	is.Equal(last.Response.Output[0].Content[0].Text, "Hello")
}
