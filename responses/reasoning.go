package responses

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/model"
)

// maxThought is how many bytes of reasoning are kept with a call. More than that
// is not kept at all: half a thought is none.
const maxThought = 256 << 10

// thinking is what the model has thought in a round of a turn. The zero value is
// nothing.
type thinking struct {
	text  strings.Builder // since the last call
	shown int             // bytes of it that an item shows
}

func (t *thinking) add(text string) { t.text.WriteString(text) }

// thought is what the model has thought for the call that begins now.
func (t *turn) thought() conversations.Thought {
	text := t.round.thinking.text.String()
	t.round.thinking = thinking{}
	if text == "" || len(text) > maxThought {
		return conversations.Thought{}
	}
	return conversations.Thought{Model: t.settings.Model, Text: text}
}

// showThought puts what the model has thought before what begins now into the
// output, sealed or shown, if the request asks for that. An answer can do without.
func (t *turn) showThought(ctx context.Context) {
	text := t.round.thinking.text.String()[t.round.thinking.shown:]
	t.round.thinking.shown += len(text)
	if text == "" || len(text) > maxThought {
		return
	}
	item := &conversations.Reasoning{}
	if t.req.ReasoningSummary != "" {
		item.Summary = text
	}
	if t.req.EncryptedReasoning {
		item.Sealed = t.sealThought(ctx, text)
	}
	if item.Summary == "" && item.Sealed == "" {
		return
	}
	t.emitter.closeItem(conversations.Completed, conversations.Commentary)
	item.ID = t.o.NewID("rs")
	t.emitter.reasoning(item)
}

// sealThought returns a thought that the service alone can read, empty where that failed.
func (t *turn) sealThought(ctx context.Context, text string) string {
	sealed, err := t.o.Conversations.SealThought(context.WithoutCancel(ctx), t.caller, conversations.Thought{Model: t.settings.Model, Text: text})
	if err != nil {
		t.o.Log.LogAttrs(ctx, slog.LevelError, "responses: reasoning was not sealed", slog.String("response", t.response.ID), slog.Any("err", err))
		return ""
	}
	return sealed
}

// ofTask returns the entries with the thoughts of the task that is being done,
// and of its model, alone: what came before the user's last message is done with,
// and chat templates leave its reasoning out as well. No model has none.
func ofTask(entries []conversations.Entry, model string) []conversations.Entry {
	var own []conversations.Entry // a copy, where one is needed
	done := false
	for i, e := range slices.Backward(entries) {
		thought := thoughtOf(e.Item)
		if thought.Text != "" && (done || thought.Model != model) {
			if own == nil {
				own = slices.Clone(entries)
			}
			own[i].Item = conversations.WithThought(e.Item, conversations.Thought{})
		}
		done = done || asks(e.Item)
	}
	if own == nil {
		return entries
	}
	return own
}

// asks reports whether an item is what a task begins with.
func asks(item conversations.Item) bool {
	m, ok := item.(*conversations.Message)
	return ok && m.Role == model.User
}

func thoughtOf(item conversations.Item) conversations.Thought {
	switch item := item.(type) {
	case *conversations.FunctionCall:
		return item.Thought
	case *conversations.WebSearch:
		return item.Thought
	case *conversations.FileSearch:
		return item.Thought
	case *conversations.MCPCall:
		return item.Thought
	case *conversations.MCPApprovalRequest:
		return item.Thought
	}
	return conversations.Thought{}
}
