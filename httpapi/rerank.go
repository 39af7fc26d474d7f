package httpapi

import (
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
)

// rerank serves POST /v1/rerank.
func (a *API) rerank(c *call) error {
	body := &wire.RerankRequest{}
	if err := c.request(body); err != nil {
		return err
	}
	req, err := convert.FromRerankRequest(body)
	if err != nil {
		return err
	}
	resp, err := a.decision(c, req)
	if err != nil {
		return err
	}
	ranking, err := convert.ToRanking(resp, body)
	if err != nil {
		return err
	}
	return c.json(ranking)
}

// decision asks for the decision of an interface that answers 404 for a model
// that does not exist.
func (a *API) decision(c *call, req *decisions.Request) (*decisions.Response, error) {
	c.model = req.Model
	if err := a.exists(c, req.Model); err != nil {
		return nil, err
	}
	resp, err := a.service.Decide(c.ctx(), c.caller, req)
	if err != nil {
		return nil, err
	}
	c.inputTokens, c.outputTokens = resp.Usage.InputTokens, resp.Usage.OutputTokens
	return resp, nil
}

// exists returns an error where there is no model with an ID that a request
// names, unless the key may not use it, which is another one.
func (a *API) exists(c *call, id string) error {
	if _, err := a.service.Model(c.ctx(), c.caller, id); fault.Is(err, fault.NotFound) && c.caller.Allow(id) == nil {
		e := fault.Missing(model.CodeNotFound, "model", id)
		e.Param = "model"
		return e
	}
	return nil
}
