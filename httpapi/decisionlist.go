package httpapi

import (
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// createDecisions serves POST /v1/decisions, OpenAI's Decisions API: the same
// decision as POST /v1/systemone with its questions in a list.
func (a *API) createDecisions(c *call) error {
	body := &wire.DecisionListRequest{}
	if err := c.modelRequest(body); err != nil {
		return err
	}
	list, err := convert.FromDecisionList(body)
	if err != nil {
		return err
	}
	resp, err := a.decision(c, list.Request)
	if err != nil {
		return list.Fault(err)
	}
	return c.json(list.Answer(resp))
}
