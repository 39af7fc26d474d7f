package svc

import (
	"context"

	"github.com/seed-506d8e5d/svc/decisions"
)

// Decide answers typed questions about a state with probabilities. The
// organization is charged for the input tokens when it returns without an error.
// See [decisions.Service.Decide] for the errors, and Decisions in the spec.
func (s *Service) Decide(ctx context.Context, caller Caller, req *decisions.Request) (*decisions.Response, error) {
	named := *req
	named.Model = s.modelID(req.Model)
	return run(ctx, s.lifecycle, func(ctx context.Context) (*decisions.Response, error) { return s.decisions.Decide(ctx, caller, &named) })
}
