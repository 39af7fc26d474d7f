package decisions

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// State returns the state of a [Request] that a Go value stands for: a string, or
// anything that marshals to a JSON object or array. One that does not marshal is
// nil, which [Service.Decide] refuses.
func State(v any) json.RawMessage { return raw(v) }

func raw(v any) json.RawMessage {
	data, err := jsonout.Marshal(v)
	if err != nil {
		return nil
	}
	return data
}

// NewNoul returns a yes-or-no question.
func NewNoul(name, instructions string) Question {
	return Question{Name: name, Type: Noul, Instructions: instructions}
}

// Option is an option of a choice. Its Description is a string, or anything that
// marshals to a JSON object or array; nil is none.
type Option struct {
	Name        string
	Description any
}

// NewChoice returns a question for one of several options, in their order.
func NewChoice(name, instructions string, options ...Option) Question {
	var w jsonout.Writer
	w.Object()
	for _, o := range options {
		w.Name(o.Name).Raw(raw(o.Description))
	}
	w.EndObject()
	return Question{Name: name, Type: Choice, Instructions: instructions, Criteria: w.Buf}
}

// NewScore returns a question for a place on a scale, with the descriptions of
// its levels from the lowest to the highest, as those of an [Option].
func NewScore(name, instructions string, levels ...any) Question {
	return Question{Name: name, Type: Score, Instructions: instructions, Criteria: raw(levels)}
}

// Result returns the answer to the question of that name, nil where none was
// asked.
func (r *Response) Result(name string) *Answer {
	for i := range r.Answers {
		if r.Answers[i].Name == name {
			return &r.Answers[i]
		}
	}
	return nil
}

// Probability returns the probability of an option by its name, or of a level by
// its index in decimal; 0 where there is none.
func (a *Answer) Probability(outcome string) float64 {
	for _, o := range a.Outcomes {
		if o.Name == outcome {
			return o.Probability
		}
	}
	return 0
}
