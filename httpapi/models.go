package httpapi

import "github.com/seed-506d8e5d/svc/internal/convert"

func (a *API) listModels(c *call) error {
	models, err := a.service.Models(c.ctx(), c.caller)
	if err != nil {
		return err
	}
	if speaksMessages(c.r) {
		return c.json(toMessagesModels(models))
	}
	return c.json(convert.ToModelList(models))
}

func (a *API) getModel(c *call) error {
	info, err := a.service.Model(c.ctx(), c.caller, c.r.PathValue("model"))
	if err != nil {
		return err
	}
	if speaksMessages(c.r) {
		return c.json(toMessagesModel(&info))
	}
	return c.json(convert.ToModel(&info))
}
