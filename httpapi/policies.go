package httpapi

import (
	"errors"
	"net/http"

	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/model"
)

// policyHeader says what the policies of a request said, as far as that is known when
// the answer begins: NAME=OUTCOME, with commas between.
const policyHeader = "Svc-Policy"

// guard returns the policies of the request, nil for none, and has the answer's header
// say what they said.
func (c *call) guard(policies []string, moderate string) (model.Guard, error) {
	turn, err := c.api.service.Guard(c.caller, guard.Ask{Policies: policies, Moderate: guard.Stage(moderate)})
	if err != nil {
		if r, ok := errors.AsType[*guard.Refusal](err); ok {
			c.w.Header().Set(policyHeader, r.Policy+"="+string(guard.Failed))
		}
		return nil, err
	}
	if turn == nil {
		return nil, nil
	}
	c.w.Before = func(h http.Header) {
		if verdicts := turn.Header(); verdicts != "" {
			h.Set(policyHeader, verdicts)
		}
	}
	return turn, nil
}

// modelHeader says which model answers for a route.
const modelHeader = "Svc-Model"

// answered notes which model answers for the one of the request, empty for none, before
// the answer begins.
func (c *call) answered(modelID string) {
	if modelID != "" {
		c.w.Header().Set(modelHeader, modelID)
	}
}
