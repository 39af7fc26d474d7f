package responses

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
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
	text := t.thinking.text.String()
	t.thinking = thinking{}
	if text == "" || len(text) > maxThought {
		return conversations.Thought{}
	}
	return conversations.Thought{Model: t.settings.Model, Text: text}
}

// showThought puts what the model has thought before what begins now into the
// output, sealed, if the request asks for that. An answer can do without.
func (t *turn) showThought(ctx context.Context) {
	text := t.thinking.text.String()[t.thinking.shown:]
	t.thinking.shown += len(text)
	if !t.req.EncryptedReasoning || text == "" || len(text) > maxThought {
		return
	}
	data, err := jsonout.Marshal(sealedThought{Model: t.settings.Model, Text: text})
	var sealed string
	if err == nil {
		sealed, err = t.o.Conversations.Seal(context.WithoutCancel(ctx), t.caller, thoughtMark+string(data))
	}
	if err != nil {
		t.o.Log.LogAttrs(ctx, slog.LevelError, "responses: reasoning was not sealed", slog.String("response", t.response.ID), slog.Any("err", err))
		return
	}
	t.emitter.closeItem(conversations.Completed, conversations.Commentary)
	item := &conversations.Reasoning{ID: t.o.NewID("rs"), Sealed: sealed}
	t.emitter.add(item, item)
	t.emitter.done(item, true)
}

// sealedThought is a [conversations.Thought] as it is sealed.
type sealedThought struct {
	Model string `json:"model"`
	Text  string `json:"text"`
}

// thoughtMark is what a sealed thought begins with, so that it is not taken for a
// compaction, nor the other way round.
const thoughtMark = "\x00reasoning\x00"

// thoughts returns the items of an input with the reasoning among them opened,
// and kept with the call that it led to. What led to an answer is not needed any
// more.
func (t *turn) thoughts(ctx context.Context, items []conversations.Item) ([]conversations.Item, error) {
	kept := make([]conversations.Item, 0, len(items))
	var thought conversations.Thought
	for _, item := range items {
		switch given := item.(type) {
		case *conversations.Reasoning:
			next, err := t.openThought(ctx, given.Sealed)
			if err != nil {
				return nil, err
			}
			if next.Model == thought.Model {
				next.Text = thought.Text + next.Text
			}
			thought = next
			continue
		case *conversations.FunctionCall, *conversations.WebSearch:
			if thought.Text != "" {
				item, thought = withThought(item, thought), conversations.Thought{}
			}
		case *conversations.Message:
			if given.Role != model.Assistant {
				thought = conversations.Thought{}
			}
		default:
			thought = conversations.Thought{}
		}
		kept = append(kept, item)
	}
	return kept, nil
}

func (t *turn) openThought(ctx context.Context, sealed string) (thought conversations.Thought, err error) {
	data, err := t.o.Conversations.Unseal(ctx, t.caller, sealed)
	if err != nil {
		return thought, err
	}
	text, ok := strings.CutPrefix(data, thoughtMark)
	if !ok {
		return thought, errNotReasoning()
	}
	var opened sealedThought
	err = json.Unmarshal([]byte(text), &opened)
	return conversations.Thought(opened), err
}

// errNotReasoning refuses what is sealed and is something else.
func errNotReasoning() error {
	return fault.Invalidf("input", "encrypted_content is not what this service has returned for an item of this type.")
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
			own[i].Item = withThought(e.Item, conversations.Thought{})
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
	}
	return conversations.Thought{}
}

// withThought returns a copy of a call or a search with another thought.
func withThought(item conversations.Item, thought conversations.Thought) conversations.Item {
	switch item := item.(type) {
	case *conversations.FunctionCall:
		call := *item
		call.Thought = thought
		return &call
	case *conversations.WebSearch:
		search := *item
		search.Thought = thought
		return &search
	}
	return item
}
