package guard

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/driver"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// New returns a backend with policies around every generation. It decides, embeds,
// counts and lists its models as b does; those calls are not judged. Thresholds are
// given: there is no store, and so are no calibrations. The answer to a request whose
// output is blocked ends with the reason [model.ContentFilter]. The error names what is
// wrong with a policy.
func New(b model.Backend, policies map[string]Policy) (model.Backend, error) {
	models := model.Use(b)
	s, err := NewService(Options{
		Policies: policies, Defaults: slices.Sorted(maps.Keys(policies)), Decider: decisions.New(decisions.Options{Backend: models}),
	})
	if err != nil {
		return nil, err
	}
	decides := func(id string) bool {
		info, ok := models.Find(id)
		return ok && info.Decides
	}
	organization := func(context.Context, string) error { return fault.Invalidf("", "there are no organizations") }
	if err := s.Check(context.Background(), organization, decides); err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	return &guarded{Backend: models, service: s}, nil
}

// guarded is a backend with policies around it.
type guarded struct {
	model.Backend
	service *Service
}

var _ driver.Wrapper = (*guarded)(nil)

// Unwrap returns the backend.
func (g *guarded) Unwrap() any { return g.Backend }

// Generate implements [model.Backend].
func (g *guarded) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	inner := g.Backend.Generate(ctx, req) // one, so that it knows its second use
	return func(yield func(model.Event, error) bool) {
		organization, background := model.TenantOf(req.Tenant)
		t, err := g.service.Turn(accounts.Caller{Organization: organization, Background: background}, Ask{})
		if err == nil && t == nil {
			inner(yield)
			return
		}
		if err == nil {
			err = t.Input(ctx, req)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		t.Output(ctx, req, inner)(yield)
	}
}
