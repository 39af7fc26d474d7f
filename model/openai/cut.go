package openai

import (
	"context"

	"github.com/seed-506d8e5d/svc/model"
)

// asked says whether a server is at work for a call that is answered as a whole.
type asked struct{ now bool }

func (a *asked) begin() { a.now = true }

// end notes how an attempt ended. What a server refuses, or fails with, costs
// nothing; where the caller has gone the server has read the prompt for nobody.
func (a *asked) end(ctx context.Context, err error) { a.now = err != nil && ctx.Err() != nil }

// cut is the error of a call that ended with err, which says so where a server was
// at work for it. The prompt is estimated low, as that of a generation is.
func (a *asked) cut(err error, state, question []string) error {
	if !a.now {
		return err
	}
	least := func(texts []string) (sum int) {
		for _, text := range texts {
			sum += model.LeastTokens(text)
		}
		return sum
	}
	return &model.Cut{StateTokens: least(state), QuestionTokens: least(question), Err: err}
}

// textsOf returns the texts among the parts of a prompt.
func textsOf(parts []model.Part) (texts []string) {
	for _, part := range parts {
		texts = append(texts, partText(part))
	}
	return texts
}
