package route_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/builtin"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/route"
)

func accept() *decisions.Question {
	return &decisions.Question{Type: decisions.Noul, Instructions: "Is it right?"}
}

// TestABackendWithRoutesKeepsTheContract of package model, also of a cascade.
func TestABackendWithRoutesKeepsTheContract(t *testing.T) {
	modeltest.Run(t, func(t *testing.T) model.Backend {
		b, err := route.New(builtin.New(), route.Options{Routes: map[string]route.Route{
			"careful": {Cascade: []string{model.DefaultGenerator, model.DefaultGenerator}, Accept: accept(), Threshold: 0.5},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}, modeltest.Options{})
}

// TestRoutesThatAreRefused name the place of what is wrong.
func TestRoutesThatAreRefused(t *testing.T) {
	const m = model.DefaultGenerator
	choice := &decisions.Question{Type: decisions.Choice, Criteria: []byte(`{"a":null,"b":null}`)}
	for want, r := range map[string]route.Route{
		"routes.r must have either a question or a cascade.":                {},
		"routes.r.cascade must have two models or more.":                    {Cascade: []string{m}, Accept: accept(), Threshold: 0.5},
		`routes.r.cascade[1] is "nobody", which is not a generation model.`: {Cascade: []string{m, "nobody"}, Accept: accept(), Threshold: 0.5},
		`routes.r.decider is "nobody", which is not a decision model.`:      {Cascade: []string{m, m}, Accept: accept(), Threshold: 0.5, Decider: "nobody"},
		"routes.r.question.type must be choice.":                            {Question: accept(), Models: map[string]string{"a": m}, Otherwise: m},
		"routes.r.otherwise must be a model.":                               {Question: choice, Models: map[string]string{"a": m}},
		`routes.r.models.a is "nobody", which is not a generation model.`:   {Question: choice, Models: map[string]string{"a": "nobody"}, Otherwise: m},
		"routes.r.models.c is not an option of the question.":               {Question: choice, Models: map[string]string{"c": m}, Otherwise: m},
		"routes.r must have either min_confidence or error.":                {Question: choice, Models: map[string]string{"a": m}, Otherwise: m, MinConfidence: 0.5, Error: 0.1},
		"routes.r.accept must be a question of the type noul.":              {Cascade: []string{m, m}, Accept: choice, Threshold: 0.5},
		"routes.r must have either threshold or error.":                     {Cascade: []string{m, m}, Accept: accept()},
	} {
		is := is.New(t)
		_, err := route.New(builtin.New(), route.Options{Routes: map[string]route.Route{"r": r}})
		is.True(err != nil)
		is.Equal(err.Error(), want)
	}
	is := is.New(t)
	_, err := route.New(builtin.New(), route.Options{Routes: map[string]route.Route{m: {Cascade: []string{m, m}, Accept: accept(), Threshold: 0.5, Sees: []guard.Sight{guard.History}}}})
	is.Equal(err.Error(), "routes."+m+" is the ID of a model.")
	b, err := route.New(builtin.New(), route.Options{Routes: map[string]route.Route{"r": {Cascade: []string{m, m}, Accept: accept(), Error: 0.1}}})
	is.NoErr(err)
	is.Equal(b.Check(t.Context()).Error(), `routes.r.error: the organization "org_default" has no calibration of the question for the model "svc-snap-preview".`)
}
