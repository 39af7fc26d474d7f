// Package builtin is a language model without weights. It needs no network and
// no files, answers in microseconds, and gives the same answer to the same
// request, so that the service runs, is tested and is developed against on a
// machine that has nothing else.
//
// It reads; it does not reason. An answer is made of sentences that stand in
// the conversation, a tool is called because its name or description has words
// of the question, the fields of structured output are values found in the
// text, a decision weighs the words that an option shares with the state, and an
// embedding has a place for each word.
// Nothing is inferred, composed or known beyond the request and a few short
// word lists of English.
//
// [New] returns the backend. It serves the models [model.DefaultGenerator] and
// [model.DefaultDecider] and has every optional interface of package model.
package builtin

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/seed-506d8e5d/svc/model"
)

// Backend is the built-in model. Its methods may be called concurrently.
type Backend struct {
	infos    []model.Info
	lexicon  *lexicon
	analyses *cache
}

var (
	_ model.Backend      = (*Backend)(nil)
	_ model.Scorer       = (*Backend)(nil)
	_ model.Embedder     = (*Backend)(nil)
	_ model.Lister       = (*Backend)(nil)
	_ model.TokenCounter = (*Backend)(nil)
)

// released is the Created time of the models: 1 January 2026.
const released = 1767225600

// New returns the built-in model.
func New() *Backend {
	return &Backend{
		infos: []model.Info{
			{ID: model.DefaultGenerator, OwnedBy: "built-in", Created: released, Generates: true, Embeds: true, ContextWindow: model.DefaultContextWindow},
			{ID: model.DefaultDecider, OwnedBy: "built-in", Created: released, Decides: true, ContextWindow: model.DefaultContextWindow},
		},
		lexicon:  newLexicon(),
		analyses: newCache(),
	}
}

// Models implements [model.Lister].
func (b *Backend) Models() []model.Info { return b.infos }

// Model implements [model.Lister].
func (b *Backend) Model(id string) (model.Info, bool) {
	i := slices.IndexFunc(b.infos, func(info model.Info) bool { return info.ID == id })
	if i < 0 {
		return model.Info{}, false
	}
	return b.infos[i], true
}

// CountTokens implements [model.TokenCounter]. The count is exact: it is what
// Generate reports as its input.
func (b *Backend) CountTokens(ctx context.Context, req *model.Request) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return model.PromptTokens(req, countTokens), nil
}

var errUsed = errors.New("builtin: the sequence was ranged over before")

// Generate implements [model.Backend]. It fails with a Rejected error for a
// prompt over the context window and for a schema that no value satisfies.
// Sampling parameters and the reasoning effort have no effect.
func (b *Backend) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	var used atomic.Bool
	return func(yield func(model.Event, error) bool) {
		if used.Swap(true) {
			yield(nil, errUsed)
			return
		}
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		if err := model.Use(b).CheckWindow(ctx, b.infos[0], req); err != nil {
			yield(nil, err)
			return
		}
		reply, err := b.reply(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		newStream(ctx, req, b.infos[0].Window(), yield).send(reply)
	}
}

// reply is a whole answer: calls or, where there are none, text.
type reply struct {
	calls []model.ToolCall
	text  string
}

// reply makes the answer to a request.
func (b *Backend) reply(ctx context.Context, req *model.Request) (reply, error) {
	c := readConversation(req)
	calls, err := b.chooseCalls(ctx, req, c)
	if err != nil || len(calls) > 0 {
		return reply{calls: calls}, err
	}
	if err := ctx.Err(); err != nil {
		return reply{}, err
	}
	text, err := b.answerText(ctx, req, c)
	return reply{text: text}, err
}

// answerText makes the text of an answer in the form that the request wants.
func (b *Backend) answerText(ctx context.Context, req *model.Request, c *conversation) (string, error) {
	switch req.Format.Type {
	case model.FormatSchema:
		return b.fillFormat(ctx, req.Format, c)
	case model.FormatObject:
		return objectText(c), nil
	}
	return c.answer(), nil
}
