package svc

import (
	"context"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/route"
)

// openRoutes puts the routes around the models. Their decisions are told with the
// answers, which are charged, and take nothing but calibrations from the store.
func (s *Service) openRoutes(ctx context.Context, o Options) error {
	if len(o.Routes) == 0 {
		return nil
	}
	decider := decisions.New(decisions.Options{Backend: s.models, Store: o.Store, Log: s.log, Concurrency: o.Tuning.DecisionCalls})
	routed, err := route.New(s.models, route.Options{Routes: o.Routes, Decider: decider, Log: s.log})
	if err != nil {
		return err
	}
	s.models = model.Use(routed)
	return routed.Check(ctx)
}
