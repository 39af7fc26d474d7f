package decisions

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// preferFirst is a model that knows nothing and likes what it is shown first.
func preferFirst(_ context.Context, req *model.ScoreRequest) (*model.Scores, error) {
	n := len(req.Options)
	s := &model.Scores{Probabilities: make([]float64, n), QuestionTokens: 1}
	first := 0
	for i, o := range req.Options {
		// A label stands at the begin of its line.
		if strings.Index(req.Question, "\n"+o.Label) < strings.Index(req.Question, "\n"+req.Options[first].Label) {
			first = i
		}
		s.Probabilities[i] = 0.3 / float64(n)
	}
	s.Probabilities[first] += 0.7
	return s, nil
}

func TestDebiasEvensOutPlaces(t *testing.T) {
	options := map[string]any{}
	for i := range 40 {
		options["option "+strconv.Itoa(i)] = nil
	}
	many, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		question Question
		places   func(p []float64) (a, b float64) // what should be as likely
	}{
		"noul":   {Question{Type: Noul}, func(p []float64) (float64, float64) { return p[0], 0.5 }},
		"choice": {Question{Type: Choice, Criteria: json.RawMessage(`{"a":"x","b":"y"}`)}, func(p []float64) (float64, float64) { return p[0], p[1] }},
		"score":  {Question{Type: Score, Criteria: json.RawMessage(`["low","mid","high"]`)}, func(p []float64) (float64, float64) { return p[0], p[2] }},
		"groups": {Question{Type: Choice, Criteria: many}, func(p []float64) (float64, float64) { return p[0], p[39] }},
	}
	for name, tt := range tests {
		for _, debias := range []bool{false, true} {
			t.Run(name+" "+strconv.FormatBool(debias), func(t *testing.T) {
				f := newFixture(t, &modeltest.Script{Scores: preferFirst, Infos: []model.Info{{ID: model.DefaultDecider, Decides: true, Debias: debias}}})
				tt.question.Name, tt.question.Instructions = "q", "Which?"
				resp, err := f.Decide(t.Context(), f.caller, request(tt.question))
				if err != nil {
					t.Fatal(err)
				}
				p := []float64{resp.Answers[0].Noul}
				for _, o := range resp.Answers[0].Outcomes {
					p = append(p, o.Probability)
				}
				if len(p) > 1 {
					p = p[1:]
				}
				a, b := tt.places(p)
				if even := math.Abs(a-b) < 1e-9; even != debias {
					t.Errorf("got %v and %v", a, b)
				}
				if resp.Usage.InputTokens != 1 {
					t.Errorf("charged %d tokens for one question", resp.Usage.InputTokens)
				}
			})
		}
	}
}
