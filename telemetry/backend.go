package telemetry

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/seed-506d8e5d/svc/driver"
	"github.com/seed-506d8e5d/svc/model"
)

// The operations of a model.
const (
	operationChat   = "chat"
	operationScore  = "score"
	operationDecide = "decide"
	operationEmbed  = "embeddings"
)

// otherModel stands for every model that is not listed.
const otherModel = "other"

// Backend returns b with its calls measured. It scores and embeds where b does.
func (t *Telemetry) Backend(b model.Backend) model.Backend {
	return backend{telemetry: t, inner: model.Use(b)}
}

// backend measures a model.Backend.
type backend struct {
	telemetry *Telemetry
	inner     *model.Models
}

// scorer is a backend that scores.
type scorer struct{ backend }

// decider is a backend that decides by itself.
type decider struct{ backend }

// embedder is a backend that embeds.
type embedder struct{ backend }

var _ driver.Asker = backend{}

// Unwrap returns what is measured; see package driver.
func (b backend) Unwrap() any { return b.inner }

// As puts scoring, deciding and embedding through the wrapper where there is any.
func (b backend) As(target any) (ok bool) {
	switch t := target.(type) {
	case *model.Scorer:
		if _, ok = driver.As[model.Scorer](b.inner); ok {
			*t = scorer{b}
		}
	case *model.Decider:
		if _, ok = driver.As[model.Decider](b.inner); ok {
			*t = decider{b}
		}
	case *model.Embedder:
		if _, ok = driver.As[model.Embedder](b.inner); ok {
			*t = embedder{b}
		}
	}
	return ok
}

// Generate implements model.Backend.
func (b backend) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	var once sync.Once
	var answer iter.Seq2[model.Event, error] // one, so that it knows its second use
	return func(yield func(model.Event, error) bool) {
		ctx, call := b.begin(ctx, operationChat, req.Model)
		once.Do(func() { answer = b.inner.Generate(ctx, req) })
		err := context.Canceled // unless the answer comes to its end
		defer func() { call.end(err) }()
		for event, failure := range answer {
			switch e := event.(type) {
			case model.TextDelta, model.ToolCallStart:
				call.answered()
			case model.Usage:
				call.usage = e
			case model.Finish:
				err = nil
			}
			if failure != nil {
				err = failure
			}
			if !yield(event, failure) {
				return
			}
		}
	}
}

// Score implements model.Scorer.
func (b scorer) Score(ctx context.Context, req *model.ScoreRequest) (*model.Scores, error) {
	ctx, call := b.begin(ctx, operationScore, req.Model)
	scores, err := b.inner.Score(ctx, req)
	if err == nil {
		b.telemetry.labelMass.observe(ctx, scores.LabelMass(), call.model)
		call.answered()
		call.usage = model.Usage{InputTokens: scores.StateTokens + scores.QuestionTokens, OutputTokens: scores.OutputTokens}
	} else if none, ok := errors.AsType[*model.NoLabels](err); ok { // the answers that are refused are those to know of
		b.telemetry.labelMass.observe(ctx, none.Mass, call.model)
	}
	call.end(err)
	return scores, err
}

// Decide implements model.Decider. What the model leaves to scoring is no call of
// it.
func (b decider) Decide(ctx context.Context, req *model.DecideRequest) (*model.Decision, error) {
	ctx, call := b.begin(ctx, operationDecide, req.Model)
	decision, err := b.inner.Decide(ctx, req)
	if err == nil {
		call.answered()
		call.usage = model.Usage{InputTokens: decision.StateTokens + decision.QuestionTokens, OutputTokens: decision.OutputTokens}
	}
	if errors.Is(err, model.ErrUndecided) {
		call.leave()
	} else {
		call.end(err)
	}
	return decision, err
}

// Embed implements model.Embedder.
func (b embedder) Embed(ctx context.Context, req *model.EmbedRequest) (*model.Embeddings, error) {
	ctx, call := b.begin(ctx, operationEmbed, req.Model)
	embeddings, err := b.inner.Embed(ctx, req)
	if err == nil {
		call.usage = model.Usage{InputTokens: embeddings.InputTokens}
	}
	call.end(err)
	return embeddings, err
}

// call is a call of a model under way.
type call struct {
	telemetry        *Telemetry
	operation, model string
	ctx              context.Context // which has the span
	span             trace.Span
	start            time.Time
	first            bool // the first piece of the answer has come
	usage            model.Usage
}

func (b backend) begin(ctx context.Context, operation, id string) (context.Context, *call) {
	c := &call{telemetry: b.telemetry, operation: operation, model: b.label(id), start: time.Now()}
	if c.span = (noop.Span{}); c.telemetry.tracing {
		ctx, c.span = c.telemetry.tracer.Start(ctx, operation+" "+c.model, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String("gen_ai.operation.name", operation), attribute.String("gen_ai.request.model", c.model)))
	}
	c.ctx = ctx
	c.telemetry.activeCalls.add(ctx, 1)
	return ctx, c
}

// label returns the ID of a listed model, and otherModel for any other.
func (b backend) label(id string) string {
	for _, info := range b.inner.List() {
		if info.ID == id {
			return id
		}
	}
	return otherModel
}

// answered notes that a piece of the answer has come.
func (c *call) answered() {
	if c.first {
		return
	}
	c.first = true
	c.span.AddEvent("first token")
	c.telemetry.firstTokens.observe(c.ctx, time.Since(c.start).Seconds(), c.operation, c.model)
}

// leave ends a call that was none.
func (c *call) leave() {
	c.telemetry.activeCalls.add(c.ctx, -1)
	endSpan(c.span, nil)
}

func (c *call) end(err error) {
	t := c.telemetry
	t.activeCalls.add(c.ctx, -1)
	t.modelCalls.observe(c.ctx, time.Since(c.start).Seconds(), c.operation, c.model, errorType(err))
	if c.usage != (model.Usage{}) {
		t.tokens.observe(c.ctx, float64(c.usage.InputTokens), c.operation, c.model, "input")
		t.tokens.observe(c.ctx, float64(c.usage.OutputTokens), c.operation, c.model, "output")
		t.cachedTokens.add(c.ctx, float64(c.usage.CachedTokens), c.model)
		if c.span.IsRecording() {
			c.span.SetAttributes(
				attribute.Int("gen_ai.usage.input_tokens", c.usage.InputTokens),
				attribute.Int("gen_ai.usage.output_tokens", c.usage.OutputTokens))
		}
	}
	endSpan(c.span, err)
}
