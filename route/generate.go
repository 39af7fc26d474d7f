package route

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/decisions/calibration"
	"github.com/seed-506d8e5d/svc/driver"
	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
)

var (
	_ model.Backend = (*Backend)(nil)
	_ driver.Asker  = (*Backend)(nil)
)

// As implements [driver.Asker]: routes are listed, and their prompts counted.
func (b *Backend) As(target any) bool {
	switch t := target.(type) {
	case *model.Lister:
		*t = lister{b}
		return true
	case *model.TokenCounter:
		*t = counter{b}
		return true
	}
	return false
}

// Unwrap returns the backend without routes.
func (b *Backend) Unwrap() any { return b.Models }

type lister struct{ b *Backend }

// Models implements [model.Lister].
func (l lister) Models() []model.Info { return l.b.infos }

// Model implements [model.Lister].
func (l lister) Model(id string) (model.Info, bool) {
	if _, ok := l.b.routes[id]; !ok {
		return l.b.Models.Find(id)
	}
	for _, info := range l.b.infos {
		if info.ID == id {
			return info, true
		}
	}
	return model.Info{}, false
}

type counter struct{ b *Backend }

// CountTokens implements [model.TokenCounter]: the prompt of a route is counted for the
// first of its models.
func (c counter) CountTokens(ctx context.Context, req *model.Request) (int, error) {
	if r, ok := c.b.routes[req.Model]; ok {
		ids, _ := r.models()
		req = c.b.request(req, ids[0])
	}
	return c.b.Models.CountTokens(ctx, req)
}

// request returns the request to one of a route's models. An effort that the model does
// not take is left to it.
func (b *Backend) request(req *model.Request, id string) *model.Request {
	one := *req
	one.Model, one.Memo, one.Same = id, nil, 0
	if info, ok := b.Models.Find(id); ok && one.ReasoningEffort != "" && !info.TakesEffort(one.ReasoningEffort) {
		one.ReasoningEffort = ""
	}
	return &one
}

// Generate implements [model.Backend].
func (b *Backend) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	r, ok := b.routes[req.Model]
	if !ok {
		return b.Models.Generate(ctx, req)
	}
	return func(yield func(model.Event, error) bool) {
		if r.Question == nil {
			b.cascade(ctx, r, req, yield)
			return
		}
		id, spent, err := b.choose(ctx, r, req)
		if err != nil {
			yield(nil, err)
			return
		}
		if spent.InputTokens == 0 || yield(spent, nil) {
			b.pass(ctx, req, id, yield)
		}
	}
}

// pass has a model answer.
func (b *Backend) pass(ctx context.Context, req *model.Request, id string, yield func(model.Event, error) bool) {
	if yield(model.Answering{Model: id}, nil) {
		b.Models.Generate(ctx, b.request(req, id))(yield)
	}
}

// choose returns the model that a router has answer, and what deciding cost. The error is
// that of ctx.
func (b *Backend) choose(ctx context.Context, r *route, req *model.Request) (id string, spent model.Spent, err error) {
	answer, spent, err := b.decide(ctx, r, req, r.Question, guard.State(req, r.Sees), r.Error)
	if ctx.Err() != nil {
		return "", spent, ctx.Err()
	}
	if err != nil {
		b.o.Log.WarnContext(ctx, "route: a router could not decide and takes its otherwise", "route", r.id, "err", err)
		return r.Otherwise, spent, nil
	}
	chosen, ok := r.Models[answer.Choice]
	if !ok || answer.Abstained || answer.Confidence < r.MinConfidence {
		chosen = r.Otherwise
	}
	return chosen, spent, nil
}

// decide asks one question.
func (b *Backend) decide(ctx context.Context, r *route, req *model.Request, q *decisions.Question, state []byte, abstain float64) (*decisions.Answer, model.Spent, error) {
	ctx, cancel := context.WithTimeout(ctx, guard.Timeout)
	defer cancel()
	asked := *q
	asked.Name = r.id[:min(len(r.id), decisions.MaxQuestionName/4)]
	organization, background := model.TenantOf(req.Tenant)
	resp, err := b.o.Decider.Decide(ctx, accounts.Caller{Organization: organization, Background: background}, &decisions.Request{
		Model: r.Decider, State: state, Questions: []decisions.Question{asked}, AbstainAboveError: abstain, Calibrations: r.Calibrations,
	})
	if err != nil {
		return nil, model.Spent{}, err
	}
	return &resp.Answers[0], model.Spent{Model: r.Decider, Decision: true, Usage: model.Usage{InputTokens: resp.Usage.InputTokens}}, nil
}

// cascade asks models until an answer is accepted. The last one's is not judged, and
// passes on as it comes.
func (b *Backend) cascade(ctx context.Context, r *route, req *model.Request, yield func(model.Event, error) bool) {
	last := len(r.Cascade) - 1
	for _, id := range r.Cascade[:last] {
		h := held{}
		for event, err := range b.Models.Generate(ctx, b.request(req, id)) {
			h.take(event, err)
		}
		if ctx.Err() != nil {
			if yield(h.usage, nil) {
				yield(nil, ctx.Err())
			}
			return
		}
		accepted, spent := false, model.Spent{}
		if h.err == nil {
			accepted, spent = b.accepted(ctx, r, req, &h)
		} else {
			b.o.Log.WarnContext(ctx, "route: a model of a cascade failed, and the next one is asked", "route", r.id, "model", id, "err", h.err)
		}
		if spent.InputTokens > 0 && !yield(spent, nil) {
			return
		}
		if accepted {
			h.pass(id, yield)
			return
		}
		if h.usage != (model.Usage{}) && !yield(model.Spent{Model: id, Usage: h.usage}, nil) {
			return
		}
	}
	b.pass(ctx, req, r.Cascade[last], yield)
}

// accepted reports whether the judgment of an answer accepts it. One that cannot be had
// does not.
func (b *Backend) accepted(ctx context.Context, r *route, req *model.Request, h *held) (bool, model.Spent) {
	state := guard.AnswerState(req, r.Sees, h.text, h.calls)
	answer, spent, err := b.decide(ctx, r, req, r.Accept, state, 0)
	if err != nil {
		b.o.Log.WarnContext(ctx, "route: an answer of a cascade could not be judged, and the next model is asked", "route", r.id, "err", err)
		return false, spent
	}
	if r.Error == 0 {
		return answer.Noul >= r.Threshold, spent
	}
	if answer.Calibration == "" {
		b.o.Log.WarnContext(ctx, "route: no calibration holds for a cascade, and the next model is asked", "route", r.id, "stale", answer.CalibrationStale)
		return false, spent
	}
	from, err := b.accepts(ctx, r, answer.Calibration)
	if err != nil {
		b.o.Log.WarnContext(ctx, "route: a cascade has no threshold, and the next model is asked", "route", r.id, "err", err)
		return false, spent
	}
	return calibration.Threshold{Confidence: from}.Admits(answer.Raw.Noul), spent // rows are as the model answered them
}

// held is an answer that waits for its judgment.
type held struct {
	events []model.Event
	text   string
	calls  []model.ToolCall
	usage  model.Usage
	err    error
}

func (h *held) take(event model.Event, err error) {
	if err != nil {
		h.err = err
		return
	}
	switch e := event.(type) {
	case model.TextDelta:
		h.text += e.Text
	case model.ToolCallStart:
		h.calls = append(h.calls, model.ToolCall{ID: e.ID, Name: e.Name})
	case model.ToolCallDelta:
		if n := len(h.calls); n > 0 {
			h.calls[n-1].Arguments += e.Arguments
		}
	case model.Usage:
		h.usage = e
	}
	h.events = append(h.events, event)
}

// pass passes the answer on, of the model with an ID.
func (h *held) pass(id string, yield func(model.Event, error) bool) {
	if !yield(model.Answering{Model: id}, nil) {
		return
	}
	for _, event := range h.events {
		if !yield(event, nil) {
			return
		}
	}
}

// jsonText returns a text as JSON.
func jsonText(text string) json.RawMessage {
	data, err := jsonout.Marshal(text)
	if err != nil {
		return nil // texts always encode
	}
	return data
}
