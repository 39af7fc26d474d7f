package client

import (
	"context"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// Decide answers typed questions about a state with probabilities.
func (c *Client) Decide(ctx context.Context, _ Caller, req *decisions.Request) (*decisions.Response, error) {
	body, err := convert.ToDecisionRequest(req)
	if err != nil {
		return nil, err
	}
	var answer wire.Decision
	if err := c.Do(ctx, "POST", "/v1/systemone", body, &answer); err != nil {
		return nil, err
	}
	return convert.FromDecision(&answer, req.Questions)
}
