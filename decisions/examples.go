package decisions

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/model"
)

// about returns the question whether one option of q holds.
func (q *question) about(o option) *question {
	part := *q
	part.kind, part.options = Noul, yesOrNo()
	part.instructions = strings.TrimPrefix(q.instructions+"\nDoes this hold? "+describe(Choice, o), "\n")
	return &part
}

// parseExamples returns examples as the model reads them, before the state.
func parseExamples(examples []Example, questions []question) (string, error) {
	if len(examples) > MaxExamples {
		return "", invalid("examples", "must have at most %d examples", MaxExamples)
	}
	var b strings.Builder
	for i, e := range examples {
		path := "examples/" + strconv.Itoa(i)
		state, err := parseState(e.State)
		if err != nil {
			return "", invalid(path+"/state", "must be a string, an object or an array")
		}
		b.WriteString("An example:\n" + model.Quote(state) + "\n")
		for _, a := range e.Answers {
			text, err := rightAnswer(path+"/answers/"+a.Question, a, questions)
			if err != nil {
				return "", err
			}
			b.WriteString(text)
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// rightAnswer returns a question of the request and the answer that is right.
func rightAnswer(path string, a ExampleAnswer, questions []question) (string, error) {
	for i := range questions {
		q := &questions[i]
		if q.name != a.Question {
			continue
		}
		at, err := q.find(path, a.Value)
		if err != nil {
			return "", err
		}
		return q.asked() + "Right: " + indent(describe(q.kind, q.options[at])) + "\n", nil
	}
	return "", invalid(path, "is not a question of the request")
}

// find returns the index of the option that a right answer names.
func (q *question) find(path string, value json.RawMessage) (int, error) {
	text := plainText(value)
	for i, o := range q.options {
		switch {
		case q.kind == Noul && (text == "true" && i == 0 || text == "false" && i == 1):
			return i, nil
		case q.kind != Noul && text == o.name:
			return i, nil
		}
	}
	switch q.kind {
	case Noul:
		return 0, invalid(path, "must be true or false")
	case Score:
		return 0, invalid(path, "must be the index of a level")
	}
	return 0, invalid(path, "must be the name of an option")
}
