package svc

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
)

// Calibrate learns from labelled states what a model's probabilities mean for a
// question; see [decisions.Service.Calibrate].
func (s *Service) Calibrate(ctx context.Context, caller Caller, n *decisions.NewCalibration) (*decisions.Calibration, error) {
	named := *n
	named.Model = s.modelID(n.Model)
	return run(ctx, s.lifecycle, func(ctx context.Context) (*decisions.Calibration, error) {
		return s.decisions.Calibrate(ctx, caller, &named)
	})
}

// LabelledDecisions returns the question of that name and the rows of a calibration
// that stored decisions have labels for; see [decisions.Service.Labeled].
func (s *Service) LabelledDecisions(ctx context.Context, caller Caller, question string) (*decisions.NewCalibration, error) {
	return s.decisions.Labeled(ctx, caller, question)
}

// PreviewCalibration says what the labels of stored decisions would make a calibration
// of, without asking the model; see [decisions.Service.Preview].
func (s *Service) PreviewCalibration(ctx context.Context, caller Caller, model, question string) (*decisions.Preview, error) {
	return s.decisions.Preview(ctx, caller, s.modelID(model), question)
}

// LabelledRows reads the rows of a calibration from an uploaded file: CSV with a
// heading and the columns state and answer, or JSONL with those members. The
// error is NotFound or Invalid.
func (s *Service) LabelledRows(ctx context.Context, caller Caller, fileID string) ([]decisions.LabelledRow, error) {
	file, content, err := s.files.Content(ctx, caller, fileID)
	if err != nil {
		return nil, err
	}
	content = transform.NewReader(content, unicode.BOMOverride(transform.Nop)) // UTF-8, or UTF-16 with its mark
	var rows []decisions.LabelledRow
	if strings.HasSuffix(strings.ToLower(file.Filename), ".csv") {
		rows, err = csvRows(content)
	} else {
		rows, err = jsonRows(content)
	}
	if err != nil {
		return nil, fault.Invalidf("file_id", "file_id: the file cannot be read: %s", err)
	}
	return rows, nil
}

// Calibration returns a calibration. The error is NotFound.
func (s *Service) Calibration(ctx context.Context, caller Caller, id string) (*decisions.Calibration, error) {
	return s.decisions.Calibration(ctx, caller, id)
}

// Calibrations returns a page of the organization's calibrations, 1 to 100, by
// the time of their creation. The error is Invalid.
func (s *Service) Calibrations(ctx context.Context, caller Caller, p Page) (List[decisions.Calibration], error) {
	return s.decisions.Calibrations(ctx, caller, p)
}

// DeleteCalibration removes a calibration. The error is NotFound.
func (s *Service) DeleteCalibration(ctx context.Context, caller Caller, id string) error {
	return s.decisions.DeleteCalibration(ctx, caller, id)
}

var errColumns = errors.New("it must have the columns state and answer")

func csvRows(content io.Reader) ([]decisions.LabelledRow, error) {
	r := csv.NewReader(content)
	heading, err := r.Read()
	if err != nil {
		return nil, err
	}
	state, answer := slices.Index(heading, "state"), slices.Index(heading, "answer")
	if state < 0 || answer < 0 {
		return nil, errColumns
	}
	var rows []decisions.LabelledRow
	for len(rows) <= decisions.MaxRows {
		record, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(record[state])
		if err != nil {
			return nil, err
		}
		right, err := json.Marshal(record[answer])
		if err != nil {
			return nil, err
		}
		rows = append(rows, decisions.LabelledRow{State: text, Answer: right})
	}
	return rows, nil
}

func jsonRows(content io.Reader) ([]decisions.LabelledRow, error) {
	data, err := io.ReadAll(content)
	if err != nil {
		return nil, err
	}
	var rows []decisions.LabelledRow
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var row struct{ State, Answer json.RawMessage }
		if err := json.Unmarshal(line, &row); err != nil {
			return nil, err
		}
		if row.State == nil || row.Answer == nil {
			return nil, errColumns
		}
		if rows = append(rows, decisions.LabelledRow(row)); len(rows) > decisions.MaxRows {
			break
		}
	}
	return rows, nil
}
