package decisions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// TestARequestTakesAtMost512Calls refuses what takes more before any is made.
func TestARequestTakesAtMost512Calls(t *testing.T) {
	many := make([]Question, 16)
	for i := range many {
		many[i] = Question{Name: fmt.Sprint(i), Type: Labels, Criteria: optionsJSON(MaxOptions)}
	}
	for name, c := range map[string]struct {
		request *Request
		debias  int
		calls   int // 0: the request is refused
	}{
		"255 options in 255 orders":     {request(one(Choice, string(optionsJSON(MaxOptions)))...), MaxOptions, 0},
		"255 options in 30 orders":      {request(one(Choice, string(optionsJSON(MaxOptions)))...), 30, 30 * 17},
		"16 questions with 255 labels":  {request(many...), 0, 0},
		"2 questions with 255 labels":   {request(many[:2]...), 0, 510},
		"a scale has two orders":        {request(one(Score, `["a","b","c"]`)...), MaxOptions, 2},
		"as many orders as options":     {request(one(Choice, `{"a":null,"b":null,"c":null}`)...), MaxOptions, 3},
		"more questions, each one call": {&Request{Model: model.DefaultDecider, State: json.RawMessage(`"x"`), Questions: nouls(600), MaxQuestions: 1000}, 0, 600},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t, &modeltest.Script{})
			c.request.Debias = c.debias
			_, err := f.Decide(t.Context(), f.caller, c.request)
			if c.calls > 0 {
				is.NoErr(err)
				is.Equal(len(f.script.ScoreCalls()), c.calls)
				return
			}
			is.True(fault.Is(err, fault.Invalid))
			is.Equal(len(f.script.ScoreCalls()), 0)
			is.Equal(len(f.charges(t)), 0)
		})
	}
}

func nouls(n int) []Question {
	questions := make([]Question, n)
	for i := range questions {
		questions[i] = Question{Name: fmt.Sprint(i), Type: Noul, Instructions: "?"}
	}
	return questions
}

// TestCreditsLastAsLongAsADecision has a decision whose calls cost more than the
// organization has: it ends when they are used up, and costs what was used.
func TestCreditsLastAsLongAsADecision(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, &modeltest.Script{Scores: func(context.Context, *model.ScoreRequest) (*model.Scores, error) {
		return &model.Scores{Probabilities: []float64{0.5, 0.5}, StateTokens: 1000, QuestionTokens: 5000}, nil
	}})
	f.concurrency = 1
	f.caller = f.organization(t, accounts.Dollar/100)
	_, err := f.Decide(t.Context(), f.caller, &Request{Model: model.DefaultDecider, State: json.RawMessage(`"x"`), Questions: nouls(300), MaxQuestions: 300})
	is.True(fault.Is(err, fault.NoCredits))
	balance, err := f.accounts.Balance(t.Context(), f.caller.Organization)
	is.NoErr(err)
	is.True(balance <= 0 && balance > -accounts.Dollar/100)
	is.True(len(f.script.ScoreCalls()) < 20)

	// The rows of a calibration are held to the same.
	f.caller = f.organization(t, accounts.Dollar/100)
	n := &NewCalibration{Model: model.DefaultDecider, Question: Question{Type: Noul, Instructions: "?"}}
	for i := range 300 {
		n.Rows = append(n.Rows, LabelledRow{State: raw(fmt.Sprint(i)), Answer: json.RawMessage(`true`)})
	}
	before := len(f.script.ScoreCalls())
	_, err = f.Calibrate(t.Context(), f.caller, n)
	is.True(fault.Is(err, fault.NoCredits))
	is.True(len(f.script.ScoreCalls())-before < 20)
}

// noLabels is a model that does not answer with labels, as a driver says it.
func noLabels(context.Context, *model.ScoreRequest) (*model.Scores, error) {
	return nil, fault.Upstreamf(&model.Cut{StateTokens: 100, QuestionTokens: 10, Err: &model.NoLabels{Mass: 0.01}}, "The model did not answer with a label.")
}

// TestADecisionThatAModelRefusesIsFree is not charged, and the model is not asked
// again for a minute once it has refused three in a row.
func TestADecisionThatAModelRefusesIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		script := &modeltest.Script{Scores: noLabels}
		f := newFixture(t, script)
		other := f.organization(t, accounts.Dollar)
		decide := func(caller accounts.Caller) error {
			_, err := f.Decide(t.Context(), caller, request(Question{Name: "q", Type: Noul, Instructions: "?"}))
			return err
		}
		for range 5 {
			err := decide(f.caller)
			is.True(fault.Is(err, fault.Upstream))
			_, ok := errors.AsType[*model.NoLabels](err)
			is.True(ok)
		}
		is.Equal(len(script.ScoreCalls()), refusalsInARow)
		is.Equal(len(f.charges(t)), 0)
		is.True(decide(other) != nil) // which has its own tries
		is.Equal(len(script.ScoreCalls()), refusalsInARow+1)

		time.Sleep(refusalTime + time.Second) // of the bubble's clock
		script.Scores = nil
		is.NoErr(decide(f.caller))
		is.Equal(len(f.charges(t)), 1)

		// A refusal now and then is no model that never answers.
		for range refusalsInARow {
			script.Scores = noLabels
			is.True(decide(f.caller) != nil)
			script.Scores = nil
			is.NoErr(decide(f.caller))
		}
	})
}

// TestExamplesShowLongTextsOnce has instructions and descriptions that every example
// would repeat.
func TestExamplesShowLongTextsOnce(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, &modeltest.Script{})
	long := strings.Repeat("é is a long instruction. ", 1000)
	req := request(Question{Name: "q", Type: Choice, Instructions: long, Criteria: json.RawMessage(`{"a":"` + long + `","b":"short"}`)})
	for i := range MaxExamples {
		req.Examples = append(req.Examples, Example{State: json.RawMessage(`"y"`), Answers: []ExampleAnswer{{"q", json.RawMessage(`"` + string("ab"[i%2]) + `"`)}}})
	}
	_, err := f.Decide(t.Context(), f.caller, req)
	is.NoErr(err)
	prompt := string(f.script.ScoreCalls()[0].Request.State[0].(model.Text))
	is.Equal(strings.Count(prompt, long), 2)
	is.True(len(prompt) < 3*len(long)+MaxExamples*2*repeatedLength)
	is.Equal(strings.Count(prompt, "Right: b: short\n"), MaxExamples/2)
	is.Equal(strings.Count(prompt, "Right: a: é is a long"), MaxExamples/2)
}
