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
			orders := 1
			if debias {
				orders = 40
			}
			t.Run(name+" "+strconv.FormatBool(debias), func(t *testing.T) {
				f := newFixture(t, &modeltest.Script{Scores: preferFirst, Infos: []model.Info{{ID: model.DefaultDecider, Decides: true, Debias: orders}}})
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
				if calls := len(f.script.ScoreCalls()); resp.Usage.InputTokens != calls {
					t.Errorf("charged %d tokens for %d prompts of one", resp.Usage.InputTokens, calls)
				}
			})
		}
	}
}

// biased is a model that knows the weights of options and likes places.
func biased(weights map[string]float64, place func(int) float64) func(context.Context, *model.ScoreRequest) (*model.Scores, error) {
	return func(_ context.Context, req *model.ScoreRequest) (*model.Scores, error) {
		s := &model.Scores{QuestionTokens: 1}
		sum := 0.0
		for i, o := range req.Options {
			p := weights[o.Texts[0]] * place(i)
			s.Probabilities = append(s.Probabilities, p)
			sum += p
		}
		for i := range s.Probabilities {
			s.Probabilities[i] /= sum
		}
		return s, nil
	}
}

// TestDebiasedAnswersDoNotDependOnTheOrder asks a model with a strong preference
// for places the same in different orders.
func TestDebiasedAnswersDoNotDependOnTheOrder(t *testing.T) {
	weights := map[string]float64{"a": 5, "b": 3, "c": 1, "d": 1}
	f := newFixture(t, &modeltest.Script{Scores: biased(weights, func(i int) float64 { return math.Exp(-1.5 * float64(i)) })})
	for _, order := range []string{"abcd", "dcba", "bdac", "cabd"} {
		var criteria []string
		for _, name := range order {
			criteria = append(criteria, `"`+string(name)+`":null`)
		}
		req := request(Question{Name: "q", Type: Choice, Criteria: json.RawMessage("{" + strings.Join(criteria, ",") + "}")})
		req.Debias = 4
		resp, err := f.Decide(t.Context(), f.caller, req)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range resp.Answers[0].Outcomes {
			if want := weights[o.Name] / 10; math.Abs(o.Probability-want) > 1e-9 {
				t.Errorf("%s: %s has %v, want %v", order, o.Name, o.Probability, want)
			}
		}
		if v := resp.Answers[0].OrderVariation; v < 0.3 || v > 1 {
			t.Errorf("%s: the orders differ by %v", order, v)
		}
	}
}

// TestPriorIsTakenOut has a model that likes an option whatever the state is.
func TestPriorIsTakenOut(t *testing.T) {
	f := newFixture(t, &modeltest.Script{
		Infos:  []model.Info{{ID: model.DefaultDecider, Decides: true, PriorStates: 20}},
		Scores: biased(map[string]float64{"a": 9, "b": 1}, func(int) float64 { return 1 }),
	})
	req := request(Question{Name: "q", Type: Choice, Criteria: json.RawMessage(`{"a":null,"b":null}`)})
	for i := range 12 {
		resp, err := f.Decide(t.Context(), f.caller, req)
		if err != nil {
			t.Fatal(err)
		}
		want := 0.9
		if i >= leastStates {
			want = 0.5
		}
		if got := resp.Answers[0].Outcomes[0].Probability; math.Abs(got-want) > 1e-9 {
			t.Errorf("state %d: got %v, want %v", i, got, want)
		}
	}
	if len(f.priors.last) != 1 {
		t.Errorf("%d priors", len(f.priors.last))
	}
	for key := range f.priors.last {
		if !strings.HasPrefix(key, f.caller.Organization+" ") {
			t.Errorf("the prior %q is nobody's", key)
		}
	}
}
