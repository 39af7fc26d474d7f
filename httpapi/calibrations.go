package httpapi

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/decisions/calibration"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// calibrationObject is a calibration on the wire.
type calibrationObject struct {
	ID          string                      `json:"id"`
	Object      string                      `json:"object"`
	Model       string                      `json:"model"`
	Question    json.RawMessage             `json:"question"`
	Method      calibration.Method          `json:"method"`
	Rows        int                         `json:"rows"`
	Metrics     map[string]rawAndCalibrated `json:"metrics"`
	Thresholds  []calibration.Threshold     `json:"thresholds"`
	Reliability []calibration.Bin           `json:"reliability"`
	CreatedAt   int64                       `json:"created_at"`
}

type rawAndCalibrated struct {
	Raw        float64 `json:"raw"`
	Calibrated float64 `json:"calibrated"`
}

func newCalibrationObject(k decisions.Calibration) (calibrationObject, string) {
	pair := func(of func(calibration.Metrics) float64) rawAndCalibrated {
		return rawAndCalibrated{of(k.Before), of(k.After)}
	}
	return calibrationObject{
		ID: k.ID, Object: "calibration", Model: k.Model, Question: k.Asked, Method: k.Map.Method, Rows: k.Rows,
		Metrics: map[string]rawAndCalibrated{
			"ece":              pair(func(m calibration.Metrics) float64 { return m.ECE }),
			"brier":            pair(func(m calibration.Metrics) float64 { return m.Brier }),
			"nll":              pair(func(m calibration.Metrics) float64 { return m.NLL }),
			"accuracy":         pair(func(m calibration.Metrics) float64 { return m.Accuracy }),
			"chance_corrected": pair(func(m calibration.Metrics) float64 { return m.OverGuess }),
			"auroc":            pair(func(m calibration.Metrics) float64 { return m.AUROC }),
		},
		Thresholds: k.Thresholds, Reliability: k.Reliability, CreatedAt: k.CreatedAt,
	}, k.ID
}

// createCalibration serves POST /v1/calibrations.
func (a *API) createCalibration(c *call) error {
	root, err := c.body(MaxBody, jsonin.Dots)
	if err != nil {
		return err
	}
	question := root.Field("question")
	n := &decisions.NewCalibration{Model: root.Field("model").Text(), Asked: question.Raw(), Question: decisions.Question{
		Type:         decisions.Type(question.Field("type").Text()),
		Instructions: instructions(question.Field("instructions")), Criteria: question.Field("criteria").Raw()}}
	if n.Model == "" {
		root.Field("model").Fail("is required")
	}
	rows, file := root.Field("rows"), root.Field("file_id")
	if rows.Absent() == file.Absent() {
		rows.Fail("is required, or file_id in its place")
	}
	for _, row := range rows.First(decisions.MaxRows + 1) {
		n.Rows = append(n.Rows, decisions.LabelledRow{State: row.Field("state").Raw(), Answer: row.Field("answer").Raw()})
	}
	if fileID := file.Text(); root.Err() == nil && fileID != "" {
		if n.Rows, err = a.service.LabelledRows(c.ctx(), c.caller, fileID); err != nil {
			return err
		}
	}
	if err := root.Err(); err != nil {
		return err
	}
	c.model = n.Model
	if err := a.exists(c, n.Model); err != nil {
		return err
	}
	made, err := a.service.Calibrate(c.ctx(), c.caller, n)
	if err != nil {
		return err
	}
	object, _ := newCalibrationObject(*made)
	return c.json(object)
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
	return c.json(newList(found, newCalibrationObject))
}

func (a *API) getCalibration(c *call) error {
	found, err := a.service.Calibration(c.ctx(), c.caller, c.r.PathValue("calibration_id"))
	if err != nil {
		return err
	}
	object, _ := newCalibrationObject(*found)
	return c.json(object)
}

func (a *API) deleteCalibration(c *call) error {
	id := c.r.PathValue("calibration_id")
	if err := a.service.DeleteCalibration(c.ctx(), c.caller, id); err != nil {
		return err
	}
	return c.json(wire.Deleted{ID: id, Object: "calibration.deleted", Deleted: true})
}
