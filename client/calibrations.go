package client

import (
	"context"
	"encoding/json"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/decisions/calibration"
)

const calibrationsPath = "/v1/calibrations"

// wireCalibration is a calibration as the server shows it: what it learned stays
// with it.
type wireCalibration struct {
	ID          string
	Model       string
	Question    json.RawMessage
	Method      calibration.Method
	Rows        int
	Metrics     map[string]struct{ Raw, Calibrated float64 }
	Thresholds  []calibration.Threshold
	Reliability []calibration.Bin
	CreatedAt   int64 `json:"created_at"`
}

func (w wireCalibration) calibration() decisions.Calibration {
	c := decisions.Calibration{
		ID: w.ID, Model: w.Model, Asked: w.Question, Map: calibration.Map{Method: w.Method}, Rows: w.Rows,
		Thresholds: w.Thresholds, Reliability: w.Reliability, CreatedAt: w.CreatedAt,
	}
	for name, metric := range map[string]func(*calibration.Metrics) *float64{
		"ece":              func(m *calibration.Metrics) *float64 { return &m.ECE },
		"brier":            func(m *calibration.Metrics) *float64 { return &m.Brier },
		"nll":              func(m *calibration.Metrics) *float64 { return &m.NLL },
		"accuracy":         func(m *calibration.Metrics) *float64 { return &m.Accuracy },
		"chance_corrected": func(m *calibration.Metrics) *float64 { return &m.OverGuess },
		"auroc":            func(m *calibration.Metrics) *float64 { return &m.AUROC },
	} {
		*metric(&c.Before), *metric(&c.After) = w.Metrics[name].Raw, w.Metrics[name].Calibrated
	}
	return c
}

// Calibrate learns from labelled states what a model's probabilities mean for a
// question. Of the calibration the server keeps the map itself: Map has its method
// alone, as it has in all methods of a Client.
func (c *Client) Calibrate(ctx context.Context, _ Caller, n *decisions.NewCalibration) (*decisions.Calibration, error) {
	question := object{"type": n.Question.Type}
	set(question, "instructions", n.Question.Instructions)
	if n.Question.Criteria != nil {
		question["criteria"] = n.Question.Criteria
	}
	rows := make([]object, len(n.Rows))
	for i, row := range n.Rows {
		rows[i] = object{"state": row.State, "answer": row.Answer}
	}
	var made wireCalibration
	if err := c.Do(ctx, "POST", calibrationsPath, object{"model": n.Model, "question": question, "rows": rows}, &made); err != nil {
		return nil, err
	}
	result := made.calibration()
	return &result, nil
}

// Calibration returns a calibration. The error is NotFound.
func (c *Client) Calibration(ctx context.Context, _ Caller, id string) (*decisions.Calibration, error) {
	var found wireCalibration
	if err := c.Do(ctx, "GET", under(calibrationsPath, id), nil, &found); err != nil {
		return nil, err
	}
	result := found.calibration()
	return &result, nil
}

// Calibrations returns a page of the organization's calibrations.
func (c *Client) Calibrations(ctx context.Context, _ Caller, p Page) (List[decisions.Calibration], error) {
	return list(ctx, c, calibrationsPath, p, wireCalibration.calibration)
}

// DeleteCalibration removes a calibration. The error is NotFound.
func (c *Client) DeleteCalibration(ctx context.Context, _ Caller, id string) error {
	return c.Do(ctx, "DELETE", under(calibrationsPath, id), nil, nil)
}
