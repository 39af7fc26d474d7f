package responses

import (
	"context"
	"encoding/json"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
)

// List returns a page of the organization's stored responses, 1 to 100, by the
// time of their creation.
func (s *Service) List(ctx context.Context, caller accounts.Caller, p page.Params) (page.Page[*Response], error) {
	turns, err := s.o.Conversations.ListTurns(ctx, caller, p, true)
	if err != nil {
		return page.Page[*Response]{}, err
	}
	result := page.Page[*Response]{Items: make([]*Response, 0, len(turns.Items)), HasMore: turns.HasMore}
	for _, t := range turns.Items {
		var r *Response
		if t.Running {
			r, err = s.Get(ctx, caller, t.ID) // which ends a turn whose process has died
		} else {
			r, err = newResponse(t.Turn, t.Output)
		}
		if err == nil {
			r.Input = t.Input
		}
		if fault.Is(err, fault.NotFound) {
			continue // deleted meanwhile
		}
		if err != nil {
			return page.Page[*Response]{}, err
		}
		result.Items = append(result.Items, r)
	}
	return result, nil
}

// Expired returns the IDs of the responses of a page, oldest first, that were made
// before a time in Unix seconds, and the cursor of the next page, empty where no
// later one has any.
func (s *Service) Expired(ctx context.Context, caller accounts.Caller, before int64, p page.Params) (ids []string, next string, err error) {
	turns, err := s.o.Conversations.ListTurns(ctx, caller, p, false)
	if err != nil {
		return nil, "", err
	}
	for _, t := range turns.Items {
		var b struct {
			CreatedAt int64 `json:"created"`
		}
		if err := json.Unmarshal(t.Body, &b); err != nil {
			return nil, "", err
		}
		if b.CreatedAt >= before {
			return ids, "", nil
		}
		ids, next = append(ids, t.ID), t.ID
	}
	if !turns.HasMore {
		next = ""
	}
	return ids, next, nil
}
