package client

import (
	"context"

	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// Moderate judges inputs by the categories of moderation.
func (c *Client) Moderate(ctx context.Context, _ Caller, req *guard.ModerationRequest) (*guard.ModerationResult, error) {
	body, err := convert.ToModerationRequest(req)
	if err != nil {
		return nil, err
	}
	var answer wire.Moderations
	if err := c.Do(ctx, "POST", "/v1/moderations", body, &answer); err != nil {
		return nil, err
	}
	return convert.FromModerations(&answer), nil
}
