package modeltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"reflect"
	"sync"
	"testing"

	"github.com/seed-506d8e5d/svc/model"
)

// scoreRules hold for a Scorer.
var scoreRules = []rule{
	{name: "a score has a probability for each option", check: func(t *testing.T, s subject) {
		for _, options := range []int{2, 3, model.MaxLabels} {
			scores, err := s.Score(t.Context(), s.scoreRequest(options))
			checkScores(t, scores, err, options)
		}
	}},
	{name: "an image may be judged", check: func(t *testing.T, s subject) {
		req := s.scoreRequest(2)
		req.State = append(req.State, picture(t))
		scores, err := s.Score(t.Context(), req)
		checkScores(t, scores, err, 2)
	}},
	{name: "a group stands for its members", check: func(t *testing.T, s subject) {
		req := s.scoreRequest(2)
		req.Options[0].Texts = []string{"red", "green", "yellow"}
		scores, err := s.Score(t.Context(), req)
		checkScores(t, scores, err, 2)
	}},
	{name: "the score request is not changed", check: func(t *testing.T, s subject) {
		req := s.scoreRequest(3)
		want := cloneScoreRequest(req)
		scores, err := s.Score(t.Context(), req)
		checkScores(t, scores, err, 3)
		if !reflect.DeepEqual(req, want) {
			t.Errorf("got  %+v\nwant %+v", req, want)
		}
	}},
	{name: "a score with an ended context is its error", check: func(t *testing.T, s subject) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		scores, err := s.Score(ctx, s.scoreRequest(2))
		if scores != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("got %+v, %v", scores, err)
		}
	}},
	{name: "scores may run at the same time", check: func(t *testing.T, s subject) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				scores, err := s.Score(t.Context(), s.scoreRequest(2+i))
				checkScores(t, scores, err, 2+i)
			})
		}
		wg.Wait()
	}},
	{name: "the shared part of a prompt counts the same for every question", check: func(t *testing.T, s subject) {
		short, err := s.Score(t.Context(), s.scoreRequest(2))
		checkScores(t, short, err, 2)
		long, err := s.Score(t.Context(), s.scoreRequest(model.MaxLabels))
		checkScores(t, long, err, model.MaxLabels)
		if t.Failed() {
			return
		}
		if short.StateTokens != long.StateTokens {
			t.Errorf("got %d and %d state tokens", short.StateTokens, long.StateTokens)
		}
	}},
}

var colours = []string{"blue", "red", "green", "yellow", "black", "white", "brown", "orange", "violet", "pink",
	"grey", "gold", "silver", "beige", "olive", "teal", "navy", "ivory", "coral", "indigo"}

// scoreRequest asks for a colour among a number of options.
func (s subject) scoreRequest(options int) *model.ScoreRequest {
	req := &model.ScoreRequest{
		Model:        s.decider,
		Instructions: "Read the text and answer the question with the letter of one option.",
		State:        []model.Part{model.Text("The front door was painted blue last spring.")},
		Question:     "Which colour is the door?\n",
	}
	for i, colour := range colours[:options] {
		label := string(rune('A' + i))
		req.Question += fmt.Sprintf("%s: %s\n", label, colour)
		req.Options = append(req.Options, model.Option{Label: label, Texts: []string{colour}})
	}
	return req
}

func picture(t *testing.T) model.Image {
	t.Helper()
	const side = 8
	m := image.NewRGBA(image.Rect(0, 0, side, side))
	for i := range side * side {
		m.Set(i%side, i/side, color.RGBA{R: 200, B: uint8(i), A: 255})
	}
	var data bytes.Buffer
	if err := png.Encode(&data, m); err != nil {
		t.Fatal(err)
	}
	return model.Image{MediaType: "image/png", Data: data.Bytes(), Width: side, Height: side}
}

// checkScores fails the test where scores break a rule.
func checkScores(t *testing.T, scores *model.Scores, err error, options int) {
	t.Helper()
	if err != nil || scores == nil {
		t.Errorf("Score: %+v, %v", scores, err)
		return
	}
	if len(scores.Probabilities) != options {
		t.Errorf("got %d probabilities for %d options", len(scores.Probabilities), options)
	}
	const slack = 1e-6
	sum := scores.Hidden
	for i, p := range scores.Probabilities {
		if math.IsNaN(p) {
			continue
		}
		if p < 0 || p > 1+slack {
			t.Errorf("option %d has the probability %v", i, p)
		}
		sum += p
	}
	if math.IsNaN(scores.Hidden) || scores.Hidden < 0 || sum > 1+slack {
		t.Errorf("%v with %v hidden is more than 1", scores.Probabilities, scores.Hidden)
	}
	if scores.StateTokens < 0 || scores.QuestionTokens < 0 || scores.OutputTokens < 0 {
		t.Errorf("a token count is negative: %+v", scores)
	}
}
