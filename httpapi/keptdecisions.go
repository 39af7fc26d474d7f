package httpapi

import (
	"strconv"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

func (a *API) listDecisions(c *call) error {
	q := c.r.URL.Query()
	p, err := pageParams(q, true)
	if err != nil {
		return err
	}
	f := decisions.Filter{Question: q.Get("question"), Model: q.Get("model")}
	if text := q.Get("labeled"); text != "" {
		labeled, err := strconv.ParseBool(text)
		if err != nil {
			return fault.Invalidf("labeled", "labeled must be true or false.")
		}
		f.Labeled = &labeled
	}
	found, err := a.service.StoredDecisions(c.ctx(), c.caller, f, p)
	if err != nil {
		return err
	}
	return c.json(convert.ToList(found, convert.ToKeptDecision, func(w *wire.KeptDecision) string { return w.ID }))
}

func (a *API) getDecision(c *call) error {
	found, err := a.service.StoredDecision(c.ctx(), c.caller, c.r.PathValue("decision_id"))
	if err != nil {
		return err
	}
	return c.json(convert.ToKeptDecision(found))
}

func (a *API) deleteDecision(c *call) error {
	id := c.r.PathValue("decision_id")
	if err := a.service.DeleteDecision(c.ctx(), c.caller, id); err != nil {
		return err
	}
	return c.json(wire.Deleted{ID: id, Object: "decision.deleted", Deleted: true})
}

// labelDecision serves POST /v1/decisions/{decision_id}/labels.
func (a *API) labelDecision(c *call) error {
	body := &wire.LabelsRequest{}
	if err := c.request(body); err != nil {
		return err
	}
	found, err := a.service.LabelDecision(c.ctx(), c.caller, c.r.PathValue("decision_id"), convert.FromLabels(body.Labels))
	if err != nil {
		return err
	}
	return c.json(convert.ToKeptDecision(found))
}
