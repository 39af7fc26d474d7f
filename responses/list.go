package responses

import (
	"context"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
)

// List returns a page of the organization's stored responses, 1 to 100, by the
// time of their creation. One that is deleted meanwhile is left out.
func (s *Service) List(ctx context.Context, caller accounts.Caller, p page.Params) (page.Page[*Response], error) {
	ids, err := s.o.Conversations.ListTurns(ctx, caller, p)
	if err != nil {
		return page.Page[*Response]{}, err
	}
	result := page.Page[*Response]{Items: make([]*Response, 0, len(ids.Items)), HasMore: ids.HasMore}
	for _, id := range ids.Items {
		r, err := s.Get(ctx, caller, id)
		if err != nil && fault.From(err).Kind == fault.NotFound {
			continue
		}
		if err != nil {
			return page.Page[*Response]{}, err
		}
		result.Items = append(result.Items, r)
	}
	return result, nil
}
