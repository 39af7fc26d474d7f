package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/seed-506d8e5d/svc/model"
)

// decideRules hold for a Decider whose model decides by itself.
var decideRules = []rule{
	{name: "a decision has probabilities for each question or leaves it", check: func(t *testing.T, s subject) {
		req := s.decideRequest()
		d, err := s.Decide(t.Context(), req)
		checkDecision(t, req, d, err)
	}},
	{name: "the decide request is not changed", check: func(t *testing.T, s subject) {
		req, want := s.decideRequest(), s.decideRequest()
		d, err := s.Decide(t.Context(), req)
		checkDecision(t, req, d, err)
		if !reflect.DeepEqual(req, want) {
			t.Errorf("got  %+v\nwant %+v", req, want)
		}
	}},
	{name: "a decision with an ended context is its error", check: func(t *testing.T, s subject) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		d, err := s.Decide(ctx, s.decideRequest())
		if d != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("got %+v, %v", d, err)
		}
	}},
	{name: "decisions may run at the same time", check: func(t *testing.T, s subject) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				req := s.decideRequest()
				d, err := s.Decide(t.Context(), req)
				checkDecision(t, req, d, err)
			})
		}
		wg.Wait()
	}},
	{name: "what a decision costs does not depend on the names of questions", check: func(t *testing.T, s subject) {
		first, again := s.decideRequest(), s.decideRequest()
		for i := range again.Questions {
			again.Questions[i].Name += "2"
		}
		a, err := s.Decide(t.Context(), first)
		checkDecision(t, first, a, err)
		b, err := s.Decide(t.Context(), again)
		checkDecision(t, again, b, err)
		if !t.Failed() && a.StateTokens != b.StateTokens {
			t.Errorf("got %d and %d state tokens", a.StateTokens, b.StateTokens)
		}
	}},
}

// decides reports whether the subject's model decides by itself.
func (s subject) decides(ctx context.Context) bool {
	_, err := s.Decide(ctx, s.decideRequest())
	return !errors.Is(err, model.ErrUndecided)
}

// decideRequest has a question of each kind.
func (s subject) decideRequest() *model.DecideRequest {
	text := func(s string) json.RawMessage {
		data, _ := json.Marshal(s) // text always can be
		return data
	}
	return &model.DecideRequest{
		Model: s.decider, State: text("The front door was painted blue last spring."),
		Questions: []model.DecideQuestion{
			{Name: "painted", Kind: model.DecideNoul, Instructions: "Is the door painted?", Options: []model.DecideOption{{Name: "Yes"}, {Name: "No"}}},
			{Name: "colour", Kind: model.DecideChoice, Instructions: "Which colour is it?", Options: []model.DecideOption{{Name: "blue", Description: text("as the sky")}, {Name: "red"}, {Name: "green"}}},
			{Name: "age", Kind: model.DecideScore, Options: []model.DecideOption{{Name: "0", Description: text("new")}, {Name: "1", Description: text("old")}}},
		},
	}
}

// checkDecision fails the test where a decision breaks a rule.
func checkDecision(t *testing.T, req *model.DecideRequest, d *model.Decision, err error) {
	t.Helper()
	if err != nil || d == nil {
		t.Errorf("Decide: %+v, %v", d, err)
		return
	}
	if len(d.Probabilities) != len(req.Questions) {
		t.Errorf("got %d answers to %d questions", len(d.Probabilities), len(req.Questions))
		return
	}
	if !slices.ContainsFunc(d.Probabilities, func(p []float64) bool { return p != nil }) {
		t.Error("nothing is decided and nothing is said of it")
	}
	for i, p := range d.Probabilities {
		if p == nil {
			continue // it has to be scored
		}
		sum := 0.0
		for _, x := range p {
			if !(x >= 0 && x <= 1) {
				t.Errorf("question %d: %v", i, p)
			}
			sum += x
		}
		if len(p) != len(req.Questions[i].Options) || math.Abs(sum-1) > 1e-6 {
			t.Errorf("question %d of %d options: %v", i, len(req.Questions[i].Options), p)
		}
	}
	if d.StateTokens < 0 || d.QuestionTokens < 0 || d.OutputTokens < 0 {
		t.Errorf("a token count is negative: %+v", d)
	}
}
