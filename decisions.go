package svc

import (
	"context"

	"github.com/seed-506d8e5d/svc/decisions"
)

// StoredDecision returns a stored decision. The error is NotFound.
func (s *Service) StoredDecision(ctx context.Context, caller Caller, id string) (*decisions.Kept, error) {
	return s.decisions.Get(ctx, caller, id)
}

// StoredDecisions returns a page of the organization's stored decisions, 1 to 100, by
// the time of their creation. The error is Invalid.
func (s *Service) StoredDecisions(ctx context.Context, caller Caller, f decisions.Filter, p Page) (List[decisions.Kept], error) {
	f.Model = s.modelID(f.Model)
	return s.decisions.List(ctx, caller, f, p)
}

// LabelDecision replaces labels of a stored decision and returns it; see
// [decisions.Service.Label].
func (s *Service) LabelDecision(ctx context.Context, caller Caller, id string, labels []decisions.Label) (*decisions.Kept, error) {
	return s.decisions.Label(ctx, caller, id, labels)
}

// DeleteDecision removes a stored decision and its labels. The error is NotFound.
func (s *Service) DeleteDecision(ctx context.Context, caller Caller, id string) error {
	return s.decisions.Delete(ctx, caller, id)
}

// Decide answers typed questions about a state with probabilities. The
// organization is charged for the input tokens when it returns without an error.
// See [decisions.Service.Decide] for the errors, and Decisions in the spec.
func (s *Service) Decide(ctx context.Context, caller Caller, req *decisions.Request) (*decisions.Response, error) {
	named := *req
	named.Model = s.modelID(req.Model)
	return run(ctx, s.lifecycle, func(ctx context.Context) (*decisions.Response, error) { return s.decisions.Decide(ctx, caller, &named) })
}
