package responses

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// Fate says what became of an item in a turn's prompt.
type Fate string

// The fates of items.
const (
	Shown      Fate = ""           // the model has read it
	Truncated  Fate = "truncated"  // it was left out, since the prompt was over the context window
	Summarized Fate = "summarized" // a compaction stands in its place
)

// PromptItem is an item that a turn could have shown its model.
type PromptItem struct {
	Item conversations.Item
	Fate Fate
	New  bool // it is of the turn's own input
}

// Prompt returns what a stored turn showed its model behind the instructions, in
// order, and what it left out. Items that were deleted since are missing. The error is
// NotFound, or Rejected where the history is longer than any context window.
func (s *Service) Prompt(ctx context.Context, caller accounts.Caller, id string) ([]PromptItem, error) {
	t, input, output, err := s.o.Conversations.GetTurn(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	r, err := newResponse(t, output)
	if err != nil {
		return nil, err
	}
	entries, err := s.o.Conversations.History(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	items := make([]PromptItem, 0, len(entries)+len(input))
	for _, e := range entries {
		items = append(items, PromptItem{Item: e.Item})
	}
	for _, item := range input {
		items = append(items, PromptItem{Item: item, New: true})
	}
	for i := range slices.Backward(items) {
		if _, ok := items[i].Item.(*conversations.Compaction); ok {
			mark(items[:i], Summarized, i)
			break
		}
	}
	if len(output) > 0 {
		if _, ok := output[0].(*conversations.Compaction); ok { // the turn itself has made it
			mark(items[:len(entries)], Summarized, len(entries))
		}
	}
	mark(items, Truncated, r.Truncated)
	return items, nil
}

// mark gives the first n items that are still shown a fate. Instructions among them
// stay.
func mark(items []PromptItem, fate Fate, n int) {
	for i := range items {
		if n == 0 {
			return
		}
		if m, ok := items[i].Item.(*conversations.Message); ok && m.Role == model.System || items[i].Fate != Shown {
			continue
		}
		items[i].Fate = fate
		n--
	}
}

// Branches returns the newest responses of a conversation, at most so many, oldest
// first, without their items. Those that fork have the same PreviousResponseID.
func (s *Service) Branches(ctx context.Context, caller accounts.Caller, conversation string, most int) ([]*Response, error) {
	turns, err := s.o.Conversations.TurnsOf(ctx, caller, conversation, most)
	if err != nil {
		return nil, err
	}
	all := make([]*Response, 0, len(turns))
	for _, t := range turns {
		r, err := newResponse(t, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *Response) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// Running returns the responses of the caller's organization that are being made, by
// whichever process, without their items.
func (s *Service) Running(ctx context.Context, caller accounts.Caller) ([]*Response, error) {
	ids, err := s.o.Conversations.Running(ctx, caller.Namespace())
	if err != nil {
		return nil, err
	}
	var all []*Response
	for _, id := range ids {
		r, err := s.Get(ctx, caller, id) // which ends a turn whose process has died
		if fault.Is(err, fault.NotFound) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		if r.Status == InProgress {
			all = append(all, r)
		}
	}
	return all, nil
}
