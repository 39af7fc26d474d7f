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
	// hook's own copy: what it changes, the model is sent. A driver that is a
	// [Decider] is asked for a whole decision first, which is a call, too, where it
	// leaves the questions to be scored.
	Before func(ctx context.Context, call *Call) error

	// After is called with a whole answer, before anything of it is passed on,
	// and may change its text, the arguments of its calls and its scores. The text
	// of a stream comes in one piece, then, behind all that the model has thought. A
	// text that is changed has no log-probabilities, which were those of another.
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
	tenant := ""
	switch {
	case c.Score != nil:
		tenant = c.Score.Tenant
	case c.Decision != nil:
		tenant = c.Decision.Tenant
	case c.Embed != nil:
		tenant = c.Embed.Tenant
	default:
		tenant = c.Request.Tenant
	}
	return strings.TrimPrefix(tenant, backgroundPrefix)
}

// Answer is what a model answered a [Call] with: Scores or Decision to one
// that decides, Embeddings to one that embeds, the other fields to one that generates.
type Answer struct {
	Text      string
	Reasoning string // what the model has thought, where the request asks for it; no caller is shown it
	ToolCalls []ToolCall
	Reason    FinishReason
	Usage     Usage // not to be changed

	Scores     *Scores
	Decision   *Decision
	Embeddings *Embeddings
}

// WithHooks returns b with hooks around each call, or b itself where there are
// none. It generates, scores with the same labels, decides, embeds, counts tokens
// and lists its models as b does. What else a driver may be able to do is hidden: no
// call goes past the hooks.
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
	case *Labeler:
		*t, ok = driver.As[Labeler](h.inner)
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
		if h.hooks.Before != nil {
			if err := h.hooks.Before(ctx, call); err != nil {
				yield(nil, err)
				return
			}
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

// Score implements [Scorer].
func (h hookedScorer) Score(ctx context.Context, req *ScoreRequest) (*Scores, error) {
	call := &Call{Score: req.clone()}
	return whole(ctx, h.hooks, call, func() (*Scores, error) { return h.inner.Score(ctx, call.Score) })
}

// Decide implements [Decider].
func (h hookedDecider) Decide(ctx context.Context, req *DecideRequest) (*Decision, error) {
	call := &Call{Decision: req.clone()}
	return whole(ctx, h.hooks, call, func() (*Decision, error) { return h.inner.Decide(ctx, call.Decision) })
}

// Embed implements [Embedder].
func (h hookedEmbedder) Embed(ctx context.Context, req *EmbedRequest) (*Embeddings, error) {
	call := &Call{Embed: req.clone()}
	return whole(ctx, h.hooks, call, func() (*Embeddings, error) { return h.inner.Embed(ctx, call.Embed) })
}

// piece is an answer that comes in one piece: a *Scores, *Decision or *Embeddings.
type piece[T any] interface {
	// show returns what After is called with, a copy, and where the answer is in it.
	show() (*Answer, *T)
	// charge has another answer cost what this one did.
	charge(T)
	// cut is the error of this answer where it may not be had.
	cut(error) *Cut
}

// whole makes a call, whose answer comes in one piece, with hooks.
func whole[T piece[T]](ctx context.Context, hooks Hooks, call *Call, ask func() (T, error)) (T, error) {
	var none T
	if hooks.Before != nil {
		if err := hooks.Before(ctx, call); err != nil {
			return none, err
		}
	}
	answer, err := ask()
	if err != nil || hooks.After == nil {
		return answer, err
	}
	shown, changed := answer.show()
	if err := hooks.After(ctx, call, shown); err != nil {
		return none, answer.cut(err)
	}
	if hooks.Stream {
		return answer, nil
	}
	answer.charge(*changed)
	return *changed, nil
}

func (s *Scores) show() (*Answer, **Scores) {
	c := *s
	a := &Answer{Scores: &c, Usage: Usage{InputTokens: s.StateTokens + s.QuestionTokens, OutputTokens: s.OutputTokens}}
	return a, &a.Scores
}

func (s *Scores) charge(c *Scores) {
	c.StateTokens, c.QuestionTokens, c.OutputTokens = s.StateTokens, s.QuestionTokens, s.OutputTokens
}

func (s *Scores) cut(err error) *Cut {
	return &Cut{StateTokens: s.StateTokens, QuestionTokens: s.QuestionTokens, Err: err}
}

func (d *Decision) show() (*Answer, **Decision) {
	c := *d
	a := &Answer{Decision: &c, Usage: Usage{InputTokens: d.StateTokens + d.QuestionTokens, OutputTokens: d.OutputTokens}}
	return a, &a.Decision
}

func (d *Decision) charge(c *Decision) {
	c.StateTokens, c.QuestionTokens, c.OutputTokens = d.StateTokens, d.QuestionTokens, d.OutputTokens
}

func (d *Decision) cut(err error) *Cut {
	return &Cut{StateTokens: d.StateTokens, QuestionTokens: d.QuestionTokens, Err: err}
}

func (e *Embeddings) show() (*Answer, **Embeddings) {
	c := *e
	a := &Answer{Embeddings: &c, Usage: Usage{InputTokens: e.InputTokens}}
	return a, &a.Embeddings
}

func (e *Embeddings) charge(c *Embeddings) { c.InputTokens = e.InputTokens }

func (e *Embeddings) cut(err error) *Cut { return &Cut{QuestionTokens: e.InputTokens, Err: err} }

// answering is an answer on its way through the hooks.
type answering struct {
	yield func(Event, error) bool
	held  bool // the answer is passed on when it is whole

	begun     bool // that the model answers has been passed on
	text      strings.Builder
	tokens    []Logprob // of the text; nil where there are none
	reasoning strings.Builder
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
	case Logprobs:
		a.tokens = append(a.tokens, e.Tokens...)
	case Reasoning:
		a.reasoning.WriteString(e.Text)
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
	a.whole = &Answer{Text: a.text.String(), Reasoning: a.reasoning.String(), ToolCalls: slices.Clone(a.calls), Reason: finish.Reason, Usage: a.usage}
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
	if a.whole.Reasoning != "" && !a.yield(Reasoning{Text: a.whole.Reasoning}, nil) {
		return
	}
	if !a.endText() {
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
	a.yield(Finish{Reason: a.whole.Reason, StopSequence: finish.StopSequence}, nil)
}

// endText passes on the text that was held, and reports whether anybody wants more.
func (a *answering) endText() bool {
	if a.whole.Text == "" {
		return true
	}
	if a.tokens != nil {
		if a.whole.Text != a.text.String() {
			a.tokens = nil
		}
		if !a.yield(Logprobs{Tokens: a.tokens}, nil) {
			return false
		}
	}
	return a.yield(TextDelta{Text: a.whole.Text}, nil)
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
	c.Memo, c.Same = nil, 0 // a hook may change what requests have in common
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
