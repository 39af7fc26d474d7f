package httpapi

import (
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// createCalibration serves POST /v1/calibrations.
func (a *API) createCalibration(c *call) error {
	body := &wire.CalibrationRequest{}
	err := c.request(body)
	if err != nil {
		return err
	}
	n := convert.FromCalibrationRequest(body)
	if body.FileID != "" {
		if n.Rows, err = a.service.LabelledRows(c.ctx(), c.caller, body.FileID); err != nil {
			return err
		}
	}
	if body.From != "" {
		labelled, err := a.service.LabelledDecisions(c.ctx(), c.caller, body.Question.Name)
		if err != nil {
			return err
		}
		n.Question, n.Asked, n.Rows = labelled.Question, labelled.Asked, labelled.Rows
	}
	c.model = n.Model
	if err := a.exists(c, n.Model); err != nil {
		return err
	}
	made, err := a.service.Calibrate(c.ctx(), c.caller, n)
	if err != nil {
		return err
	}
	return c.json(convert.ToCalibration(made))
}

func (a *API) listCalibrations(c *call) error {
	p, err := pageParams(c.r.URL.Query(), true)
	if err != nil {
		return err
	}
	found, err := a.service.Calibrations(c.ctx(), c.caller, p)
	if err != nil {
		return err
	}
	return c.json(convert.ToList(found, convert.ToCalibration, func(w *wire.Calibration) string { return w.ID }))
}

func (a *API) getCalibration(c *call) error {
	found, err := a.service.Calibration(c.ctx(), c.caller, c.r.PathValue("calibration_id"))
	if err != nil {
		return err
	}
	return c.json(convert.ToCalibration(found))
}

func (a *API) deleteCalibration(c *call) error {
	id := c.r.PathValue("calibration_id")
	if err := a.service.DeleteCalibration(c.ctx(), c.caller, id); err != nil {
		return err
	}
	return c.json(wire.Deleted{ID: id, Object: "calibration.deleted", Deleted: true})
}
