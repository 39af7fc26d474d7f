package model

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/driver"
)

// Hooks are a program's say in every call of a model, whichever interface it is
// for: moderation, redaction, audit. Each field may be nil. Hooks are called
// concurrently. An error of theirs ends the operation: a *fault.Error says whose
// fault it is and what the client is told; any other is Internal.
type Hooks struct {
	// Before is called with what a model is about to be sent. The call is the
	// hook's own copy: what it changes, the model is sent.
	Before func(ctx context.Context, call *Call) error

	// After is called with a whole answer, before anything of it is passed on,
	// and may change its text, the arguments of its calls and its scores. The text
	// of a stream comes in one piece, then.
	After func(ctx context.Context, call *Call, answer *Answer) error

	// Stream passes the pieces of answers on as they come. After is called behind
	// the last of them, when it can end the operation with an error, and what it
	// changes is left out of account.
	Stream bool
}

// Call is a call of a model: of the fields the one is set that says for what.
type Call struct {
	Request  *Request       // to generate
	Score    *ScoreRequest  // to decide about one question
	Decision *DecideRequest // to decide about all questions of a decision at once
	Embed    *EmbedRequest  // to embed
}

// Tenant returns whom the call is for: the ID of an organization.
func (c *Call) Tenant() string {
	switch {
	case c.Score != nil:
		return c.Score.Tenant
	case c.Decision != nil:
		return c.Decision.Tenant
	case c.Embed != nil:
		return c.Embed.Tenant
	}
	return c.Request.Tenant
}

// Answer is what a model answered a [Call] with: Scores or Decision to one
// that decides, Embeddings to one that embeds, the other fields to one that generates.
type Answer struct {
	Text      string
	ToolCalls []ToolCall
	Reason    FinishReason
	Usage     Usage // not to be changed

	Scores     *Scores
	Decision   *Decision
	Embeddings *Embeddings
}

// WithHooks returns b with hooks around each call, or b itself where there are
// none. It generates, scores, decides, embeds, counts tokens and lists its models as b does. What
// else a driver may be able to do is hidden: no call goes past the hooks.
func WithHooks(b Backend, h Hooks) Backend {
	if h.Before == nil && h.After == nil {
		return b
	}
	return hooked{Use(b), h}
}

type hooked struct {
	inner *Models
	hooks Hooks
}

// hookedScorer is a hooked backend that scores.
type hookedScorer struct{ hooked }

// hookedDecider is a hooked backend that decides by itself.
type hookedDecider struct{ hooked }

// hookedEmbedder is a hooked backend that embeds.
type hookedEmbedder struct{ hooked }

var _ driver.Asker = hooked{}

// As implements [driver.Asker]: there is no Unwrap, so that what is not here is
// nowhere.
func (h hooked) As(target any) (ok bool) {
	switch t := target.(type) {
	case *Scorer:
		if _, ok = driver.As[Scorer](h.inner); ok {
			*t = hookedScorer{h}
		}
	case *Decider:
		if _, ok = driver.As[Decider](h.inner); ok {
			*t = hookedDecider{h}
		}
	case *Embedder:
		if _, ok = driver.As[Embedder](h.inner); ok {
			*t = hookedEmbedder{h}
		}
	case *TokenCounter:
		*t, ok = driver.As[TokenCounter](h.inner)
	case *Lister:
		*t, ok = driver.As[Lister](h.inner)
	}
	return ok
}

// Generate implements [Backend].
func (h hooked) Generate(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	call := &Call{Request: req.clone()}
	inner := h.inner.Generate(ctx, call.Request) // one, so that it knows its second use
	return func(yield func(Event, error) bool) {
		if err := h.before(ctx, call); err != nil {
			yield(nil, err)
			return
		}
		a := answering{yield: yield, held: h.hooks.After != nil && !h.hooks.Stream}
		for event, err := range inner {
			finish, last := event.(Finish)
			if err == nil && last && h.hooks.After != nil {
				a.end(finish, h.hooks.After(ctx, call, a.answer(finish)))
				return
			}
			if !a.pass(event, err) || err != nil {
				return
			}
		}
	}
}

func (h hooked) before(ctx context.Context, call *Call) error {
	if h.hooks.Before == nil {
		return nil
	}
	return h.hooks.Before(ctx, call)
}

// Score implements [Scorer].
func (h hookedScorer) Score(ctx context.Context, req *ScoreRequest) (*Scores, error) {
	call := &Call{Score: req.clone()}
	if err := h.before(ctx, call); err != nil {
		return nil, err
	}
	scores, err := h.inner.Score(ctx, call.Score)
	if err != nil || h.hooks.After == nil {
		return scores, err
	}
	answer := &Answer{Scores: scores, Usage: Usage{InputTokens: scores.StateTokens + scores.QuestionTokens, OutputTokens: scores.OutputTokens}}
	if err := h.hooks.After(ctx, call, answer); err != nil {
		return nil, err
	}
	if h.hooks.Stream {
		return scores, nil
	}
	return answer.Scores, nil
}

// Decide implements [Decider].
func (h hookedDecider) Decide(ctx context.Context, req *DecideRequest) (*Decision, error) {
	call := &Call{Decision: req.clone()}
	if err := h.before(ctx, call); err != nil {
		return nil, err
	}
	decision, err := h.inner.Decide(ctx, call.Decision)
	if err != nil || h.hooks.After == nil {
		return decision, err
	}
	answer := &Answer{Decision: decision, Usage: Usage{InputTokens: decision.StateTokens + decision.QuestionTokens, OutputTokens: decision.OutputTokens}}
	if err := h.hooks.After(ctx, call, answer); err != nil {
		return nil, err
	}
	if h.hooks.Stream {
		return decision, nil
	}
	return answer.Decision, nil
}

// Embed implements [Embedder].
func (h hookedEmbedder) Embed(ctx context.Context, req *EmbedRequest) (*Embeddings, error) {
	call := &Call{Embed: req.clone()}
	if err := h.before(ctx, call); err != nil {
		return nil, err
	}
	embeddings, err := h.inner.Embed(ctx, call.Embed)
	if err != nil || h.hooks.After == nil {
		return embeddings, err
	}
	answer := &Answer{Embeddings: embeddings, Usage: Usage{InputTokens: embeddings.InputTokens}}
	if err := h.hooks.After(ctx, call, answer); err != nil {
		return nil, err
	}
	if h.hooks.Stream {
		return embeddings, nil
	}
	return answer.Embeddings, nil
}

// answering is an answer on its way through the hooks.
type answering struct {
	yield func(Event, error) bool
	held  bool // the answer is passed on when it is whole

	begun     bool // that the model answers has been passed on
	text      strings.Builder
	calls     []ToolCall
	arguments strings.Builder // of the last call
	usage     Usage
	whole     *Answer
}

// pass takes an event of the model's and passes on what need not be held.
func (a *answering) pass(event Event, err error) bool {
	switch e := event.(type) {
	case TextDelta:
		a.text.WriteString(e.Text)
	case ToolCallStart:
		a.endCall()
		a.calls = append(a.calls, ToolCall{ID: e.ID, Name: e.Name})
	case ToolCallDelta:
		a.arguments.WriteString(e.Arguments)
	case Usage:
		a.usage = e
		return a.yield(event, err)
	}
	if !a.held || err != nil {
		return a.yield(event, err)
	}
	if a.begun {
		return true
	}
	a.begun = true
	return a.yield(Started{}, nil)
}

func (a *answering) endCall() {
	if n := len(a.calls); n > 0 {
		a.calls[n-1].Arguments = a.arguments.String()
		a.arguments.Reset()
	}
}

// answer is the whole answer.
func (a *answering) answer(finish Finish) *Answer {
	a.endCall()
	a.whole = &Answer{Text: a.text.String(), ToolCalls: slices.Clone(a.calls), Reason: finish.Reason, Usage: a.usage}
	return a.whole
}

// end passes on what was held, and the finish, or what the hook refused it with.
func (a *answering) end(finish Finish, refusal error) {
	if refusal != nil {
		a.yield(nil, refusal)
		return
	}
	if !a.held {
		a.yield(finish, nil)
		return
	}
	if a.whole.Text != "" && !a.yield(TextDelta{Text: a.whole.Text}, nil) {
		return
	}
	for _, c := range a.whole.ToolCalls {
		if !a.yield(ToolCallStart{ID: c.ID, Name: c.Name}, nil) {
			return
		}
		if c.Arguments != "" && !a.yield(ToolCallDelta{Arguments: c.Arguments}, nil) {
			return
		}
	}
	a.yield(Finish{Reason: a.whole.Reason}, nil)
}

// clone copies a request as deep as a hook may change it: its messages and their
// parts, its tools, and its own fields.
func (r *Request) clone() *Request {
	c := *r
	c.Messages = slices.Clone(r.Messages)
	for i := range c.Messages {
		c.Messages[i].Parts = slices.Clone(c.Messages[i].Parts)
		c.Messages[i].ToolCalls = slices.Clone(c.Messages[i].ToolCalls)
	}
	c.Tools, c.Stop = slices.Clone(r.Tools), slices.Clone(r.Stop)
	return &c
}

func (r *ScoreRequest) clone() *ScoreRequest {
	c := *r
	c.State, c.Images, c.Options = slices.Clone(r.State), slices.Clone(r.Images), slices.Clone(r.Options)
	for i := range c.Options {
		c.Options[i].Texts = slices.Clone(c.Options[i].Texts)
	}
	c.Memo = nil // a hook may change what questions share
	return &c
}
