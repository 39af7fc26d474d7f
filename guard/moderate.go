package guard

import (
	"context"
	"encoding/json"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// ModerationRequest asks for moderation, as OpenAI's API does.
type ModerationRequest struct {
	Model  string // that decides
	Inputs []ModerationInput
}

// ModerationInput is a text with images. Either may be missing.
type ModerationInput struct {
	Text   *string
	Images []decisions.Image
}

// ModerationResult says what each input is flagged for.
type ModerationResult struct {
	ID      string // modr-…
	Model   string
	Results []Flags
	Tokens  int // that were charged
}

// Flags are the probabilities of the [Categories], in their order.
type Flags struct {
	Scores       []float64
	Text, Images bool // what the input had
}

// Flagged reports whether the category with an index is flagged.
func (f *Flags) Flagged(i int) bool { return f.Scores[i] >= FlaggedFrom }

// Any reports whether any category is flagged.
func (f *Flags) Any() bool {
	for i := range f.Scores {
		if f.Flagged(i) {
			return true
		}
	}
	return false
}

// Moderate judges inputs by the [Categories]: a decision for each input. Errors are those
// of [decisions.Service.Decide]; what was judged before one is charged.
func (s *Service) Moderate(ctx context.Context, c accounts.Caller, req *ModerationRequest, id string) (*ModerationResult, error) {
	result := &ModerationResult{ID: id, Model: req.Model}
	claim := c.Claim
	for i := range req.Inputs {
		in := &req.Inputs[i]
		if in.Text == nil && len(in.Images) == 0 {
			return nil, fault.Invalidf("input", "input must have a text or an image.")
		}
		text := ""
		if in.Text != nil {
			text = *in.Text
		}
		state, err := jsonout.Marshal(text)
		if err != nil {
			return nil, err
		}
		if c.Claim = nil; i == len(req.Inputs)-1 {
			c.Claim = claim // the request is done with its last decision
		}
		resp, err := s.o.Decider.Decide(ctx, c, &decisions.Request{
			Model: req.Model, State: json.RawMessage(state), Questions: ModerationQuestions(), Images: in.Images,
			Metadata: map[string]string{"moderation": id},
		})
		if err != nil {
			return nil, err
		}
		flags := Flags{Text: in.Text != nil, Images: len(in.Images) > 0}
		for j := range resp.Answers {
			flags.Scores = append(flags.Scores, resp.Answers[j].ProbabilityAt(0))
		}
		result.Results = append(result.Results, flags)
		result.Tokens += resp.Usage.InputTokens
	}
	return result, nil
}
