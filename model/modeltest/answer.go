package modeltest

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/model"
)

// DefaultUsage is the usage that the answers of [Text] and [Calls] report.
var DefaultUsage = model.Usage{InputTokens: 11, OutputTokens: 7}

// Answer is what a [Script] does with one request: it calls Before, replays
// Events, and then blocks, fails, or ends. Its context is checked before every
// event, so that a cancelled answer ends with the context's error.
//
// An Answer with neither Block nor Err must have a usage and a finish among its
// events; the constructors see to that.
type Answer struct {
	Before func(context.Context) error // nil does nothing; an error ends the answer
	Events []model.Event
	Block  bool  // after the events, wait until the context ends
	Err    error // after the events, fail
}

// play yields the answer. It stops when yield returns false.
func (a Answer) play(ctx context.Context, yield func(model.Event, error) bool) {
	if err := a.before(ctx); err != nil {
		yield(nil, err)
		return
	}
	for i, event := range a.Events {
		if err := ctx.Err(); err != nil {
			if used, ok := a.until(i); !ok || yield(used, nil) {
				yield(nil, err)
			}
			return
		}
		if !yield(event, nil) {
			return
		}
	}
	if a.Block {
		<-ctx.Done()
		yield(nil, ctx.Err())
		return
	}
	if a.Err != nil {
		yield(nil, a.Err)
	}
}

// until returns what the answer has used before the event i where it is to
// report that later: an output token for each event.
func (a Answer) until(i int) (model.Usage, bool) {
	for _, event := range a.Events[i:] {
		if u, ok := event.(model.Usage); ok && i > 0 {
			u.OutputTokens = min(u.OutputTokens, i)
			u.ReasoningTokens = min(u.ReasoningTokens, u.OutputTokens)
			return u, true
		}
	}
	return model.Usage{}, false
}

func (a Answer) before(ctx context.Context) error {
	if err := ctx.Err(); err != nil || a.Before == nil {
		return err
	}
	return a.Before(ctx)
}

// Text answers with text in the given pieces, none of which may be empty.
func Text(deltas ...string) Answer {
	var events []model.Event
	for _, delta := range deltas {
		events = append(events, model.TextDelta{Text: delta})
	}
	return Events(append(events, DefaultUsage, model.Finish{Reason: model.Stop})...)
}

// Calls answers with tool calls. The arguments of each arrive in two pieces.
func Calls(calls ...model.ToolCall) Answer {
	var events []model.Event
	for _, call := range calls {
		events = append(events, model.ToolCallStart{ID: call.ID, Name: call.Name})
		half := len(call.Arguments) / 2
		for half > 0 && !utf8.RuneStart(call.Arguments[half]) {
			half--
		}
		for _, piece := range []string{call.Arguments[:half], call.Arguments[half:]} {
			if piece != "" {
				events = append(events, model.ToolCallDelta{Arguments: piece})
			}
		}
	}
	return Events(append(events, DefaultUsage, model.Finish{Reason: model.ToolCalls})...)
}

// Events answers with exactly these events.
func Events(events ...model.Event) Answer { return Answer{Events: events} }

// Fail answers with the events and then fails with err.
func Fail(err error, events ...model.Event) Answer { return Answer{Events: events, Err: err} }

// Block answers with the events and then waits until the context ends.
func Block(events ...model.Event) Answer { return Answer{Events: events, Block: true} }

// WithUsage returns the answer with every usage it reports replaced.
func (a Answer) WithUsage(usage model.Usage) Answer {
	events := make([]model.Event, len(a.Events))
	for i, event := range a.Events {
		if _, ok := event.(model.Usage); ok {
			event = usage
		}
		events[i] = event
	}
	a.Events = events
	return a
}

// WithFinish returns the answer with another reason for its end.
func (a Answer) WithFinish(reason model.FinishReason) Answer {
	events := make([]model.Event, len(a.Events))
	for i, event := range a.Events {
		if _, ok := event.(model.Finish); ok {
			event = model.Finish{Reason: reason}
		}
		events[i] = event
	}
	a.Events = events
	return a
}

// Distribution returns a function for [Script] that scores from a table of
// weights by option text. A text of an option stands in the table when it is a
// key or begins with one at the end of a word, as "billing: invoices" begins
// with "billing"; the longest such key counts, a text without one weighs
// nothing. An option weighs what its texts weigh together, and its probability
// is its share of the weight of all options of the request.
func Distribution(weights map[string]float64) func(context.Context, *model.ScoreRequest) (*model.Scores, error) {
	return func(_ context.Context, req *model.ScoreRequest) (*model.Scores, error) {
		return scoresOf(req, func(option model.Option) float64 {
			sum := 0.0
			for _, text := range option.Texts {
				sum += weights[longestKey(weights, text)]
			}
			return sum
		}), nil
	}
}

func longestKey(weights map[string]float64, text string) string {
	longest := ""
	for key := range weights {
		rest, ok := strings.CutPrefix(text, key)
		next, _ := utf8.DecodeRuneInString(rest)
		ends := rest == "" || !unicode.IsLetter(next) && !unicode.IsDigit(next)
		if ok && ends && len(key) > len(longest) {
			longest = key
		}
	}
	return longest
}

// scoresOf shares out a probability of 1 by weight; options that all weigh
// nothing share it equally.
func scoresOf(req *model.ScoreRequest, weight func(model.Option) float64) *model.Scores {
	probabilities := make([]float64, len(req.Options))
	sum := 0.0
	for i, option := range req.Options {
		probabilities[i] = weight(option)
		sum += probabilities[i]
	}
	for i := range probabilities {
		if sum > 0 {
			probabilities[i] /= sum
		} else {
			probabilities[i] = 1 / float64(len(probabilities))
		}
	}
	return &model.Scores{
		Probabilities:  probabilities,
		StateTokens:    stateTokens(req),
		QuestionTokens: model.EstimateTokens(req.Question),
		OutputTokens:   1,
	}
}

func stateTokens(req *model.ScoreRequest) int {
	tokens := model.EstimateTokens(req.Instructions)
	for _, part := range req.State {
		switch p := part.(type) {
		case model.Text:
			tokens += model.EstimateTokens(string(p))
		case model.Document:
			tokens += model.EstimateTokens(p.Name) + model.EstimateTokens(p.Text)
		case model.Image:
			tokens += p.Tokens()
		}
	}
	return tokens
}
