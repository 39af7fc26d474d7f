package httpapi

import (
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// createModeration serves POST /v1/moderations as in the OpenAI API.
func (a *API) createModeration(c *call) error {
	body := &wire.ModerationRequest{}
	if err := c.modelRequest(body); err != nil {
		return err
	}
	req := convert.FromModerationRequest(body)
	c.model = req.Model
	result, err := a.service.Moderate(c.ctx(), c.caller, req)
	if err != nil {
		return err
	}
	c.model, c.inputTokens = result.Model, result.Tokens
	return c.json(convert.ToModerations(result))
}
