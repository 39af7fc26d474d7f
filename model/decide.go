package model

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
)

// Decider is a [Backend] with models on servers that decide by themselves: all
// questions of a decision are one call.
type Decider interface {
	// Decide answers the questions about a state. The error is ErrUndecided,
	// together with a *fault.Error where there is one, when the model does not
	// decide by itself or not about this: the questions may be scored then. Other
	// errors and cancellation are as for Generate.
	Decide(ctx context.Context, req *DecideRequest) (*Decision, error)
}

// ErrUndecided is the error of [Decider.Decide] for questions that have to be
// scored.
var ErrUndecided = errors.New("model: the model does not decide by itself")

// DecideRequest is a state and questions about it, validated. A backend does not
// change it.
type DecideRequest struct {
	Model     string
	Tenant    string          // as in [Request]
	State     json.RawMessage // a JSON string, object or array
	Images    []Image
	Questions []DecideQuestion // one or more
}

// DecideKind is the type of a [DecideQuestion].
type DecideKind string

// The kinds of questions.
const (
	DecideNoul   DecideKind = "noul"   // its options are yes and no
	DecideChoice DecideKind = "choice" // one of several options
	DecideScore  DecideKind = "score"  // its options are the levels of a scale
)

// DecideQuestion is one question.
type DecideQuestion struct {
	Name         string // distinct within a request
	Kind         DecideKind
	Instructions string // empty where the options speak for themselves
	Options      []DecideOption
	Images       []Image // of the question alone
}

// DecideOption is one possible answer.
type DecideOption struct {
	Name        string          // of a level: its index
	Description json.RawMessage // a JSON string, object or array; nil is none
}

// Decision is the answer to a [DecideRequest].
type Decision struct {
	// Probabilities holds for each question the probabilities of its options, in
	// the order of the request, which sum to 1; nil for a question that has to be
	// scored.
	Probabilities [][]float64

	StateTokens    int // tokens of the state and the images
	QuestionTokens int // tokens of all questions together
	OutputTokens   int

	// Reading names what has answered, as in [Scores].
	Reading string
}

// clone copies a request as deep as a hook may change it.
func (r *DecideRequest) clone() *DecideRequest {
	c := *r
	c.Images, c.Questions = slices.Clone(r.Images), slices.Clone(r.Questions)
	for i := range c.Questions {
		q := &c.Questions[i]
		q.Options, q.Images = slices.Clone(q.Options), slices.Clone(q.Images)
	}
	return &c
}
