package decisions

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/model"
)

// about returns the question whether an option of q, which is a Labels question,
// holds.
func (q *question) about(o *option) *question {
	part := *q
	part.kind, part.options, part.holds = Noul, yesOrNo(), o
	return &part
}

// parseExamples returns examples as the model reads them, before the state.
func parseExamples(examples []Example, questions []question) (string, error) {
	if len(examples) > MaxExamples {
		return "", invalid("examples", "must have at most %d examples", MaxExamples)
	}
	var b strings.Builder
	shown := shownTexts{}
	for i, e := range examples {
		path := "examples/" + strconv.Itoa(i)
		state, err := parseState(e.State)
		if err != nil {
			return "", invalid(path+"/state", "must be a string, an object or an array")
		}
		b.WriteString("An example:\n" + model.Quote(state) + "\n")
		for _, a := range e.Answers {
			q, at, err := rightAnswer(path+"/answers/"+a.Question, a, questions)
			if err != nil {
				return "", err
			}
			b.WriteString(shown.shorten(q.asked()))
			b.WriteString("Right: " + shown.shorten(indent(describe(q.kind, q.options[at]))+"\n"))
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// rightAnswer returns the question of an example's answer and the index of the
// option that is right.
func rightAnswer(path string, a ExampleAnswer, questions []question) (*question, int, error) {
	for i := range questions {
		if q := &questions[i]; q.name == a.Question {
			at, err := q.find(path, a.Value)
			return q, at, err
		}
	}
	return nil, 0, invalid(path, "is not a question of the request")
}

// shownTexts are the instructions and descriptions that examples have shown the
// model in full. Examples repeat those of their questions: where they are long,
// their beginning tells which is meant, and the prompt stays about as long as the
// request.
type shownTexts map[string]bool

// repeatedLength is from how many bytes on a text that was shown is shortened.
const repeatedLength = 400

func (shown shownTexts) shorten(text string) string {
	if len(text) <= repeatedLength {
		return text
	}
	if !shown[text] {
		shown[text] = true
		return text
	}
	return strings.ToValidUTF8(text[:repeatedLength], "") + "…\n"
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
