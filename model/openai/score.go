package openai

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// manyTokens is how many tokens an answer may have where the label does not come
// where it was expected.
const manyTokens = 16

var (
	errNoLogprobs = errors.New("the server returns no log-probabilities; where it cannot, " +
		"ask_probabilities in the configuration of the model makes decisions by asking for probabilities in words")
	errNoLabel = errors.New("the model does not begin its answer with a label; where it thinks before it answers, " +
		"no_thinking in the configuration says how it is kept from that")
)

// Score implements [model.Scorer].
func (b *Backend) Score(ctx context.Context, req *model.ScoreRequest) (*model.Scores, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m := b.find(req.Model)
	if m == nil {
		return nil, notFound(req.Model, nil)
	}
	if !m.Vision && (len(req.Images) > 0 || slices.ContainsFunc(req.State, isImage)) {
		return nil, errNoVision()
	}
	read := b.readScores
	if m.AskProbabilities {
		read = b.askScores
	}
	var scores *model.Scores
	err := m.do(ctx, req.Tenant, func(ctx context.Context, t *target) error {
		var err error
		if scores, err = read(ctx, t, req); err == nil {
			t.health.well()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return scores, nil
}

// readScores reads the distribution at the first token of the answer.
func (b *Backend) readScores(ctx context.Context, t *target, req *model.ScoreRequest) (*model.Scores, error) {
	labels := make([]string, len(req.Options))
	for i, o := range req.Options {
		labels[i] = o.Label
	}
	tokens := max(1, int(t.lead.Load()))
	for {
		w := newScoreRequest(t, req)
		w.Logprobs, w.TopLogprobs = true, t.TopLogprobs
		w.limit(t.server, tokens)
		answer, x, err := t.ask(ctx, w)
		if err != nil {
			return nil, hint(err, errNoLogprobs)
		}
		positions := parsePositions(answer.Get("choices.0.logprobs"))
		if len(positions) == 0 {
			return nil, x.unusable(errNoLogprobs)
		}
		r, used := readLabels(positions, labels)
		if used > 0 {
			if used > int(t.lead.Load()) {
				t.lead.Store(int32(used))
			}
			scores := &model.Scores{Probabilities: r.masses, Hidden: min(r.hidden, 1)}
			b.count(t, req, scores, parseUsage(answer.Get("usage")), len(positions))
			return scores, nil
		}
		if tokens >= manyTokens {
			return nil, x.unusable(errNoLabel)
		}
		tokens = manyTokens
	}
}

// newScoreRequest returns the request that asks a question. What questions share
// comes first and is the same to the byte.
func newScoreRequest(t *target, req *model.ScoreRequest) *wireRequest {
	parts := slices.Clip(req.State)
	for _, image := range req.Images {
		parts = append(parts, image)
	}
	parts = append(parts, model.Text(req.Question))
	zero := 0.0
	w := &wireRequest{
		Model: t.model(req.Model),
		Messages: []wireMessage{
			{Role: model.System, Content: req.Instructions},
			{Role: model.User, Content: content(parts, "")},
		},
		Temperature: &zero,
	}
	switch t.noThinking {
	case "", EffortNone:
		if !t.keepEffort.Load() {
			w.ReasoningEffort = "none"
		}
	case TemplateOff:
		w.ChatTemplateKwargs = map[string]bool{"enable_thinking": false}
	case Prefill:
		yes, no := true, false
		w.Messages = append(w.Messages, wireMessage{Role: model.Assistant, Content: thinkOpen + "\n\n" + thinkClose + "\n\n"})
		w.ContinueFinal, w.AddGenerationPrompt = &yes, &no
	}
	return w
}

// ask sends a request and returns the whole answer. A server that refuses a
// reasoning effort is asked without one, now and from then on.
func (t *target) ask(ctx context.Context, w *wireRequest) (gjson.Result, *exchange, error) {
	answer, x, err := t.complete(ctx, w)
	if f, ok := errors.AsType[*failure](err); ok && f.refuses() && w.ReasoningEffort != "" && t.noThinking == "" {
		w.ReasoningEffort = ""
		if answer, x, err = t.complete(ctx, w); err == nil {
			t.keepEffort.Store(true)
		}
	}
	return answer, x, err
}

// complete sends a request and returns the whole answer, and the exchange, which
// is closed, to make errors of.
func (t *target) complete(ctx context.Context, w *wireRequest) (gjson.Result, *exchange, error) {
	x, err := t.chat(ctx, w)
	if err != nil {
		return gjson.Result{}, nil, err
	}
	defer x.close()
	data, err := x.read()
	if err != nil {
		return gjson.Result{}, nil, err
	}
	if !gjson.ValidBytes(data) {
		return gjson.Result{}, nil, x.nonsense(errNotJSON)
	}
	answer := gjson.ParseBytes(data)
	if report := answer.Get("error"); report.Exists() && report.Type != gjson.Null {
		return gjson.Result{}, nil, x.reported(report, data)
	}
	return answer, x, nil
}

// unusable returns the error for an answer that makes no decision, whoever is
// asked.
func (x *exchange) unusable(cause error) error {
	return &failure{fault: fault.Upstreamf(x.named(cause), "The model cannot be used for decisions.")}
}

// hint adds what an operator may do to the cause of a refusal.
func hint(err, what error) error {
	f, ok := errors.AsType[*failure](err)
	if !ok || f.fault.Kind != fault.Rejected || f.fault.Code == fault.CodeContextLength {
		return err
	}
	g := *f.fault
	g.Err = fmt.Errorf("%w (if it is about logprobs: %w)", g.Err, what)
	return &failure{fault: &g, status: f.status}
}

// count fills in the tokens. Servers tell those of the whole prompt: where they
// split into state and question is estimated once for a state, and its questions
// get the rest.
func (b *Backend) count(t *target, req *model.ScoreRequest, s *model.Scores, told model.Usage, generated int) {
	s.OutputTokens = max(told.OutputTokens, generated)
	key := b.states.stateKey(t, req)
	state, known := b.states.get(key)
	question := b.estimateText(req.Question)
	if !known || told.InputTokens == 0 {
		state = b.estimateState(req)
	}
	if told.InputTokens == 0 {
		s.StateTokens, s.QuestionTokens = state, question
		return
	}
	if !known {
		share := float64(question) / float64(max(question+state, 1))
		state = told.InputTokens - int(share*float64(told.InputTokens)+0.5)
		b.states.put(key, state)
	}
	s.StateTokens = min(state, told.InputTokens)
	s.QuestionTokens = told.InputTokens - s.StateTokens
}

func (b *Backend) estimateState(req *model.ScoreRequest) int {
	tokens := b.estimateText(req.Instructions)
	for _, part := range req.State {
		if image, ok := part.(model.Image); ok {
			tokens += image.Tokens()
			continue
		}
		tokens += b.estimateText(partText(part))
	}
	return tokens
}
