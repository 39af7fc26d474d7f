// Package generation runs one request on a model backend and holds the answer
// to what model servers promise but do not keep: that an answer asked for as
// JSON is JSON, and satisfies its schema.
package generation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/schema"
	"github.com/seed-506d8e5d/svc/model"
)

// attempts is how often a structured answer is asked for before it fails.
const attempts = 2

// errInvalid is the cause of an answer's failure. What exactly was wrong is for
// the model alone: it quotes the answer and the schema, and causes are logged.
var errInvalid = errors.New("the structured answer is invalid")

// Stream generates an answer to req, whose schema is compiled as s where its
// format is a schema. Text in a free format passes through as it comes. A
// structured answer is held back until it is whole and valid; one that is not
// is asked for once more, with the reason, and then fails with an Upstream
// error. That the text has begun is an event all the same: [model.Started] comes
// first. An answer that was cut or that calls tools is not validated.
//
// The sequence keeps the contract of [model.Backend], but that it has no
// [model.Usage]: what it has used, all attempts together, is added to the meter,
// however it ends. The guard of the request judges it before the model is called,
// and what the sequence yields.
func Stream(ctx context.Context, b model.Backend, req *model.Request, s *schema.Schema, m *Meter) iter.Seq2[model.Event, error] {
	if req.Guard == nil {
		return answer(ctx, b, req, s, m)
	}
	return func(yield func(model.Event, error) bool) {
		if err := req.Guard.Input(ctx, req); err != nil {
			yield(nil, err)
			return
		}
		req.Guard.Output(ctx, req, answer(ctx, b, req, s, m))(yield)
	}
}

// answer is Stream without a guard.
func answer(ctx context.Context, b model.Backend, req *model.Request, s *schema.Schema, m *Meter) iter.Seq2[model.Event, error] {
	if req.Format.Type == model.FormatText || req.Format.Type == "" {
		return withLogprobs(req, m.answer(ctx, b, req))
	}
	return func(yield func(model.Event, error) bool) {
		g := structured{backend: b, schema: s, meter: m, yield: yield}
		for attempt := 1; ; attempt++ {
			again := g.attempt(ctx, req)
			if again == nil {
				return
			}
			if attempt == attempts || !again.affordable(req) {
				yield(nil, fault.Upstreamf(errInvalid, "The model's answer was not valid for the requested format."))
				return
			}
			req = retry(req, again)
		}
	}
}

// invalid is an answer that has to be asked for again.
type invalid struct {
	text   string
	tokens int   // that it took
	reason error // for the model
}

// affordable reports whether the allowance of tokens leaves room for another
// answer.
func (i *invalid) affordable(req *model.Request) bool {
	return req.MaxTokens == 0 || req.MaxTokens > i.tokens
}

// structured is one structured answer in the making.
type structured struct {
	backend model.Backend
	schema  *schema.Schema
	meter   *Meter
	yield   func(model.Event, error) bool
	started bool // an event has been yielded
}

// attempt runs one generation. It returns nil when the answer has ended, in one
// way or another, and what was wrong with it otherwise.
func (g *structured) attempt(ctx context.Context, req *model.Request) *invalid {
	var text strings.Builder
	called := false
	before := g.meter.Usage().OutputTokens
	var reason error           // for asking again
	var tokens []model.Logprob // of the text
	for event, err := range withLogprobs(req, g.meter.answer(ctx, g.backend, req)) {
		if err != nil {
			g.yield(nil, err)
			return nil
		}
		switch e := event.(type) {
		case model.Started:
			if g.started {
				continue
			}
		case model.Logprobs:
			tokens = append(tokens, e.Tokens...)
			continue
		case model.TextDelta:
			text.WriteString(e.Text)
			if g.started {
				continue
			}
			event = model.Started{}
		case model.ToolCallStart:
			called = true
			if !g.flush(&text, &tokens) {
				return nil
			}
		case model.Finish:
			if e.Reason == model.Stop && !called {
				if reason = g.check(ctx, text.String()); reason != nil {
					continue // to the end, which nothing follows
				}
			}
			if !g.flush(&text, &tokens) {
				return nil
			}
		}
		g.started = true
		if !g.yield(event, nil) {
			return nil
		}
	}
	if err := ctx.Err(); err != nil && reason != nil {
		g.yield(nil, err)
		return nil
	}
	if reason != nil {
		return &invalid{text.String(), g.meter.Usage().OutputTokens - before, reason}
	}
	return nil
}

// flush yields the text held back, without the blanks around it that models
// under a grammar run on with.
func (g *structured) flush(text *strings.Builder, tokens *[]model.Logprob) bool {
	whole := strings.TrimSpace(text.String())
	text.Reset()
	kept := trimTokens(*tokens)
	*tokens = nil
	if whole == "" {
		return true
	}
	if kept != nil && !g.yield(model.Logprobs{Tokens: kept}, nil) {
		return false
	}
	return g.yield(model.TextDelta{Text: whole}, nil)
}

func (g *structured) check(ctx context.Context, text string) error {
	if g.schema != nil {
		return g.schema.Validate(ctx, text)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return errors.Join(errors.New("it is not a JSON object"), err)
	}
	return nil
}

// retry returns req with the invalid answer and the reason appended.
func retry(req *model.Request, again *invalid) *model.Request {
	next := *req
	if next.MaxTokens > 0 {
		next.MaxTokens -= again.tokens
	}
	next.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)],
		model.TextMessage(model.Assistant, again.text),
		model.TextMessage(model.User, fmt.Sprintf(
			"That answer cannot be used: %v. Answer again with nothing but JSON in the requested format.", again.reason)))
	return &next
}
