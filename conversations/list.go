package conversations

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// List returns a page of the organization's conversations, 1 to [MaxPage], by
// the time of their creation.
func (s *Service) List(ctx context.Context, caller accounts.Caller, p page.Params) (page.Page[Conversation], error) {
	return list(ctx, s, caller, p, conversationPrefix, "conv", func(id string, e storage.Entry) (Conversation, error) {
		var r conversationRecord
		err := json.Unmarshal(e.Value, &r)
		return r.of(id), err
	})
}

// ListIdle returns the IDs of the conversations of a page, oldest first, in which
// nothing was said since a time in Unix seconds, and the cursor of the next page,
// empty after the last. A conversation without the time of its last turn, as the
// first format stored it, counts as fresh.
func (s *Service) ListIdle(ctx context.Context, caller accounts.Caller, before int64, p page.Params) (idle []string, next string, err error) {
	conversations, err := s.List(ctx, caller, p)
	if err != nil {
		return nil, "", err
	}
	err = s.view(ctx, caller, func(tx storage.Tx) error {
		idle, next = nil, ""
		for _, c := range conversations.Items {
			if c.CreatedAt >= before {
				return nil // and so are all that come after it
			}
			h, err := readHead(tx, c.ID)
			if err != nil {
				return err
			}
			if h.Next == 0 || h.At != 0 && h.At < before {
				idle = append(idle, c.ID)
			}
			next = c.ID
		}
		if !conversations.HasMore {
			next = ""
		}
		return nil
	})
	return idle, next, err
}

// list reads a page of the objects whose keys are a prefix and their ID, which
// begins with kind.
func list[T any](ctx context.Context, s *Service, caller accounts.Caller, p page.Params, prefix, kind string,
	decode func(id string, e storage.Entry) (T, error)) (result page.Page[T], err error) {
	p, err = page.Within(p, MaxPage, kind)
	if err != nil {
		return page.Page[T]{}, err
	}
	var after []byte
	if p.After != "" {
		after = []byte(prefix + p.After)
	}
	err = s.view(ctx, caller, func(tx storage.Tx) error {
		result, err = page.Read(tx, page.Range(p, []byte(prefix), after), p.Limit, func(e storage.Entry) (T, bool, error) {
			item, err := decode(strings.TrimPrefix(string(e.Key), prefix), e)
			return item, true, err
		})
		return err
	})
	return result, err
}
