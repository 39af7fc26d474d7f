// Package builtin is a language model without weights. It needs no network and no files,
// answers in microseconds, and gives the same answer to the same request, so that the
// service runs, is tested and is developed against on a machine that has nothing else.
//
// It is a stand-in: it reads, and does not reason. An answer is made of sentences of the
// conversation, and a tool is called because its name or description has words of the
// question (answer.go); structured output and arguments are values found in the text
// (facts.go) that fit a schema (fill.go); a decision weighs the words that an
// option shares with the state (judge.go), of which images are described (image.go), and an
// embedding has a place for each word (embed.go).
package builtin

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seed-506d8e5d/svc/internal/cpu"
	"github.com/seed-506d8e5d/svc/model"
)

// Backend is the built-in model, of the IDs [model.DefaultGenerator] and
// [model.DefaultDecider]. Its methods may be called concurrently.
type Backend struct {
	// First is called once, when the model is first asked for anything, so that the program
	// can say that a stand-in answers; nil for nothing. Set it before that.
	First func()

	asked sync.Once
}

// reading names this version's way to decide, as [model.Scores] wants it: calibrations made
// from another way do not hold.
const reading = "built-in 2"

func (b *Backend) first() {
	if b.First != nil {
		b.asked.Do(b.First)
	}
}

var (
	_ model.Scorer       = (*Backend)(nil)
	_ model.Embedder     = (*Backend)(nil)
	_ model.Lister       = (*Backend)(nil)
	_ model.TokenCounter = (*Backend)(nil)
)

const released = 1767225600 // 1 January 2026

var (
	generator = model.Info{ID: model.DefaultGenerator, OwnedBy: "built-in", Created: released, Generates: true, Embeds: true, ContextWindow: model.DefaultContextWindow}
	decider   = model.Info{ID: model.DefaultDecider, OwnedBy: "built-in", Created: released, Decides: true, ContextWindow: model.DefaultContextWindow}
)

// New returns the built-in model.
func New() *Backend { return &Backend{} }

// Models implements [model.Lister].
func (b *Backend) Models() []model.Info { return []model.Info{generator, decider} }

// Model implements [model.Lister].
func (b *Backend) Model(id string) (model.Info, bool) {
	info, ok := map[string]model.Info{generator.ID: generator, decider.ID: decider}[id]
	return info, ok
}

// CountTokens implements [model.TokenCounter]. The count is exact: it is what Generate
// reports as its input.
func (b *Backend) CountTokens(ctx context.Context, req *model.Request) (int, error) {
	return model.PromptTokens(req, countTokens), ctx.Err()
}

// Generate implements [model.Backend]. It fails with a Rejected error for a prompt over the
// context window and for a schema that it finds no value for. Sampling parameters and the
// reasoning effort have no effect.
func (b *Backend) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	var used atomic.Bool
	return func(yield func(model.Event, error) bool) {
		if used.Swap(true) {
			yield(nil, errors.New("builtin: the sequence was ranged over before"))
			return
		}
		turn := cpu.Enter(req.Tenant)
		b.first()
		pieces, finish, err := b.answer(ctx, req)
		turn.Leave()
		if err != nil {
			yield(nil, err)
			return
		}
		usage := model.Usage{InputTokens: model.PromptTokens(req, countTokens)}
		left := min(generator.Window()-usage.InputTokens, cmp.Or(req.MaxTokens, generator.Window()))
		for _, p := range pieces {
			if left -= p.tokens; left < 0 {
				finish = model.Finish{Reason: model.Length}
				break
			}
			if err := ctx.Err(); err != nil {
				_ = yield(usage, nil) && yield(nil, err)
				return
			}
			usage.OutputTokens += p.tokens
			if !yield(p.event, nil) {
				return
			}
		}
		_ = yield(usage, nil) && yield(finish, nil)
	}
}

// piece is an event of an answer, and the tokens in it.
type piece struct {
	event  model.Event
	tokens int
}

// answer makes a whole answer: calls or, where there are none, text.
func (b *Backend) answer(ctx context.Context, req *model.Request) (pieces []piece, finish model.Finish, err error) {
	if err := cmp.Or(ctx.Err(), model.Use(b).CheckWindow(ctx, generator, req)); err != nil {
		return nil, finish, err
	}
	add := func(text string, event func(string) model.Event) {
		for ; text != ""; text = text[tokenLen(text):] {
			pieces = append(pieces, piece{event(text[:tokenLen(text)]), 1})
		}
	}
	c := readConversation(req)
	calls, err := c.calls(ctx, req)
	for _, call := range calls {
		pieces = append(pieces, piece{model.ToolCallStart{ID: call.ID, Name: call.Name}, countTokens(call.Name)})
		add(call.Arguments, func(text string) model.Event { return model.ToolCallDelta{Arguments: text} })
	}
	if err != nil || len(calls) > 0 {
		return pieces, model.Finish{Reason: model.ToolCalls}, err
	}
	text := c.answer()
	switch req.Format.Type {
	case model.FormatSchema:
		text, err = fill(ctx, req.Format.Schema, newFacts(c, cmp.Or(strings.TrimSuffix(text, nothingFound), c.message), true))
	case model.FormatObject:
		text = marshal(map[string]any{"answer": text})
	}
	finish.Reason = model.Stop
	for _, sequence := range req.Stop {
		before, _, found := strings.Cut(text, sequence)
		if found && sequence != "" {
			text, finish.StopSequence = before, sequence
		}
	}
	add(text, func(text string) model.Event { return model.TextDelta{Text: text} })
	return pieces, finish, err
}
