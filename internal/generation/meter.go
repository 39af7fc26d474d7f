package generation

import (
	"context"
	"iter"

	"github.com/seed-506d8e5d/svc/model"
)

// Meter adds up what answers use, however they end: with their finish, with an
// error, because ctx ended, or because the consumer stopped or panicked. The zero
// value has counted nothing. A Meter belongs to one goroutine and counts an
// answer once its sequence has ended.
type Meter struct {
	used      model.Usage
	answering string
	spent     []model.Spent
}

// Answering returns the model that answers, empty where it is the one of the request.
func (m *Meter) Answering() string { return m.answering }

// Spent returns what other models have used for the answers, which is no part of the
// usage.
func (m *Meter) Spent() []model.Spent { return m.spent }

// Usage returns what all answers have used so far.
func (m *Meter) Usage() model.Usage { return m.used }

// maxLast is how many events a backend may have left for a consumer that wants
// no more of them: the contract asks for one usage and the context's error.
const maxLast = 16

// answer generates one answer and counts what it uses. A consumer that stops
// ends the backend's context and not its sequence, so that it can still say what
// it has used.
func (m *Meter) answer(ctx context.Context, b model.Backend, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		c := counter{req: req}
		defer func() { m.used = m.used.Add(c.usage()) }()
		last := maxLast
		stopped := false
		for event, err := range b.Generate(ctx, req) {
			if m.told(event) {
				continue
			}
			usage := c.count(event)
			if stopped {
				if last--; err != nil || usage || last == 0 {
					return
				}
				continue
			}
			if !usage && !yield(event, err) {
				if err != nil || c.finished {
					return
				}
				stopped = true
				cancel()
			}
		}
	}
}

// told takes what a route says of the models that work for it, and reports whether the
// event is that.
func (m *Meter) told(event model.Event) bool {
	switch e := event.(type) {
	case model.Answering:
		m.answering = e.Model
	case model.Spent:
		m.spent = append(m.spent, e)
	default:
		return false
	}
	return true
}

// counter counts what one answer uses.
type counter struct {
	req       *model.Request
	begun     bool // the model has worked on the request
	finished  bool
	told      model.Usage
	generated int // tokens that what was yielded has at the least
}

// count counts an event, nil for none, and reports whether it is a usage.
func (c *counter) count(event model.Event) (usage bool) {
	if event == nil {
		return false
	}
	c.begun = true
	switch e := event.(type) {
	case model.TextDelta:
		c.generated += model.LeastTokens(e.Text)
	case model.ToolCallStart:
		c.generated += model.LeastTokens(e.Name)
	case model.ToolCallDelta:
		c.generated += model.LeastTokens(e.Arguments)
	case model.Usage:
		c.told = e
		return true
	case model.Finish:
		c.finished = true
	}
	return false
}

// usage is what the backend has told, and where the answer was cut before it told
// anything, no less than what was seen of it.
func (c *counter) usage() model.Usage {
	u := c.told
	if c.finished || !c.begun {
		return u
	}
	if u.InputTokens == 0 {
		u.InputTokens = model.PromptTextTokens(c.req, model.LeastTokens)
	}
	if u.OutputTokens == 0 {
		u.OutputTokens = c.generated
	}
	if c.req.MaxTokens > 0 {
		u.OutputTokens = min(u.OutputTokens, max(c.req.MaxTokens, c.told.OutputTokens))
	}
	return u
}
