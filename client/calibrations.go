package client

import (
	"context"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

const calibrationsPath = "/v1/calibrations"

func (c *Client) calibration(ctx context.Context, method, path string, body any) (*decisions.Calibration, error) {
	var w wire.Calibration
	if err := c.Do(ctx, method, path, body, &w); err != nil {
		return nil, err
	}
	k := convert.FromCalibration(&w)
	return &k, nil
}

// Calibrate learns from labelled states what a model's probabilities mean for a
// question. Of the calibration the server keeps the map itself: Map has its method
// alone, as it has in all methods of a Client.
func (c *Client) Calibrate(ctx context.Context, _ Caller, n *decisions.NewCalibration) (*decisions.Calibration, error) {
	return c.calibration(ctx, "POST", calibrationsPath, convert.ToCalibrationRequest(n))
}

// Calibration returns a calibration. The error is NotFound.
func (c *Client) Calibration(ctx context.Context, _ Caller, id string) (*decisions.Calibration, error) {
	return c.calibration(ctx, "GET", under(calibrationsPath, id), nil)
}

// Calibrations returns a page of the organization's calibrations.
func (c *Client) Calibrations(ctx context.Context, _ Caller, p Page) (List[decisions.Calibration], error) {
	return list(ctx, c, calibrationsPath, p, func(w wire.Calibration) decisions.Calibration { return convert.FromCalibration(&w) })
}

// DeleteCalibration removes a calibration. The error is NotFound.
func (c *Client) DeleteCalibration(ctx context.Context, _ Caller, id string) error {
	return c.Do(ctx, "DELETE", under(calibrationsPath, id), nil, nil)
}
