package telemetry

import (
	"context"
	"iter"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/seed-506d8e5d/svc/model"
)

// The operations of a model.
const (
	operationChat  = "chat"
	operationScore = "score"
)

// otherModel stands for every model that is not listed.
const otherModel = "other"

// Backend returns b with its calls measured. It scores where b does.
func (t *Telemetry) Backend(b model.Backend) model.Backend {
	wrapped := backend{telemetry: t, inner: b}
	if s, ok := b.(model.Scorer); ok {
		return scoringBackend{wrapped, s}
	}
	return wrapped
}

// backend measures a model.Backend. That it is a Lister and a TokenCounter
// changes nothing for one that is neither: package model's functions answer as
// they would without the wrapper.
type backend struct {
	telemetry *Telemetry
	inner     model.Backend
}

// scoringBackend is a backend that is a Scorer.
type scoringBackend struct {
	backend
	scorer model.Scorer
}

var (
	_ model.Lister       = backend{}
	_ model.TokenCounter = backend{}
	_ model.Scorer       = scoringBackend{}
)

// Models implements model.Lister.
func (b backend) Models() []model.Info { return model.List(b.inner) }

// Model implements model.Lister.
func (b backend) Model(id string) (model.Info, bool) { return model.Find(b.inner, id) }

// CountTokens implements model.TokenCounter.
func (b backend) CountTokens(ctx context.Context, req *model.Request) (int, error) {
	return model.CountTokens(ctx, b.inner, req)
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
func (b scoringBackend) Score(ctx context.Context, req *model.ScoreRequest) (*model.Scores, error) {
	ctx, call := b.begin(ctx, operationScore, req.Model)
	scores, err := b.scorer.Score(ctx, req)
	if err == nil {
		call.answered()
		call.usage = model.Usage{InputTokens: scores.StateTokens + scores.QuestionTokens, OutputTokens: scores.OutputTokens}
	}
	call.end(err)
	return scores, err
}

// call is a call of a model under way.
type call struct {
	telemetry        *Telemetry
	operation, model string
	span             trace.Span
	start            time.Time
	first            bool // the first piece of the answer has come
	usage            model.Usage
}

func (b backend) begin(ctx context.Context, operation, id string) (context.Context, *call) {
	c := &call{telemetry: b.telemetry, operation: operation, model: b.label(id), start: time.Now()}
	ctx, c.span = c.telemetry.tracer.Start(ctx, operation+" "+c.model, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", operation), attribute.String("gen_ai.request.model", c.model)))
	c.telemetry.activeCalls.Inc()
	return ctx, c
}

// label returns the ID of a listed model, and otherModel for any other.
func (b backend) label(id string) string {
	for _, info := range model.List(b.inner) {
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
	c.telemetry.firstTokens.WithLabelValues(c.operation, c.model).Observe(time.Since(c.start).Seconds())
}

func (c *call) end(err error) {
	t := c.telemetry
	t.activeCalls.Dec()
	t.modelCalls.WithLabelValues(c.operation, c.model, errorType(err)).Observe(time.Since(c.start).Seconds())
	if c.usage != (model.Usage{}) {
		t.tokens.WithLabelValues(c.operation, c.model, "input").Observe(float64(c.usage.InputTokens))
		t.tokens.WithLabelValues(c.operation, c.model, "output").Observe(float64(c.usage.OutputTokens))
		t.cachedTokens.WithLabelValues(c.model).Add(float64(c.usage.CachedTokens))
		c.span.SetAttributes(
			attribute.Int("gen_ai.usage.input_tokens", c.usage.InputTokens),
			attribute.Int("gen_ai.usage.output_tokens", c.usage.OutputTokens))
	}
	endSpan(c.span, err)
}
