package decisions

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/decisions/calibration"
	"github.com/seed-506d8e5d/svc/storage"
)

// calibrationRecord is what is stored of a Calibration.
type calibrationRecord struct {
	ID          string            `json:"id"`
	Model       string            `json:"model"`
	Question    json.RawMessage   `json:"question"`
	Map         mapRecord         `json:"map"`
	Rows        int               `json:"rows"`
	Raw         metricsRecord     `json:"raw"`
	Calibrated  metricsRecord     `json:"calibrated"`
	Thresholds  []thresholdRecord `json:"thresholds"`
	Reliability []binRecord       `json:"reliability"`
	CreatedAt   int64             `json:"created_at"`
	Orders      int               `json:"orders,omitempty"`
	Key         string            `json:"key"`
	Canaries    []canaryRecord    `json:"canaries"`

	RawThresholds bool     `json:"raw_thresholds,omitempty"`
	Prompts       string   `json:"prompts,omitempty"`
	Readings      []string `json:"readings,omitempty"`
}

// Their fields are those of the types that they are converted from.
type (
	mapRecord struct {
		Method calibration.Method `json:"method"`
		T      float64            `json:"t,omitempty"`
		A      float64            `json:"a,omitempty"`
		B      float64            `json:"b,omitempty"`
		X      []float64          `json:"x,omitempty"`
		Y      []float64          `json:"y,omitempty"`
	}

	metricsRecord struct {
		Accuracy  float64 `json:"accuracy"`
		OverGuess float64 `json:"chance_corrected"`
		ECE       float64 `json:"ece"`
		Brier     float64 `json:"brier"`
		NLL       float64 `json:"nll"`
		AUROC     float64 `json:"auroc"`
	}

	thresholdRecord struct {
		Error      float64 `json:"error"`
		Confidence float64 `json:"confidence"`
		Coverage   float64 `json:"coverage"`
	}

	binRecord struct {
		From  float64 `json:"from"`
		To    float64 `json:"to"`
		Count int     `json:"count"`
		Mean  float64 `json:"mean"`
		Right float64 `json:"right"`
	}

	canaryRecord struct {
		State string    `json:"state"`
		JSON  bool      `json:"json,omitempty"`
		P     []float64 `json:"p"`
	}
)

func newCalibrationRecord(k *Calibration) calibrationRecord {
	return calibrationRecord{
		ID: k.ID, Model: k.Model, Question: k.Asked, Map: mapRecord(k.Map), Rows: k.Rows,
		Raw: metricsRecord(k.Before), Calibrated: metricsRecord(k.After),
		Thresholds:  each(k.Thresholds, func(t calibration.Threshold) thresholdRecord { return thresholdRecord(t) }),
		Reliability: each(k.Reliability, func(b calibration.Bin) binRecord { return binRecord(b) }),
		CreatedAt:   k.CreatedAt, Orders: k.Orders, Key: k.key,
		Canaries:      each(k.canaries, func(c canary) canaryRecord { return canaryRecord(c) }),
		RawThresholds: k.rawThresholds, Prompts: k.Prompts, Readings: k.readings,
	}
}

func (r calibrationRecord) calibration() *Calibration {
	return &Calibration{
		ID: r.ID, Model: r.Model, Asked: r.Question, Map: calibration.Map(r.Map), Rows: r.Rows,
		Before: calibration.Metrics(r.Raw), After: calibration.Metrics(r.Calibrated),
		Thresholds:  each(r.Thresholds, func(t thresholdRecord) calibration.Threshold { return calibration.Threshold(t) }),
		Reliability: each(r.Reliability, func(b binRecord) calibration.Bin { return calibration.Bin(b) }),
		CreatedAt:   r.CreatedAt, Orders: r.Orders, key: r.Key,
		canaries:      each(r.Canaries, func(c canaryRecord) canary { return canary(c) }),
		rawThresholds: r.RawThresholds, Prompts: r.Prompts, Readings: told(r.Readings), readings: r.Readings,
	}
}

// told returns the readings that are not empty, nil for none.
func told(readings []string) (known []string) {
	for _, reading := range readings {
		if reading != "" {
			known = append(known, reading)
		}
	}
	return known
}

// each converts what is in a list.
func each[From, To any](list []From, convert func(From) To) []To {
	converted := make([]To, len(list))
	for i, v := range list {
		converted[i] = convert(v)
	}
	return converted
}

// readCalibration returns a stored calibration, or [storage.ErrNotFound].
func readCalibration(tx storage.Tx, id string) (*Calibration, error) {
	var record calibrationRecord
	if err := storage.GetJSON(tx, calibrationKey(id), &record); err != nil {
		return nil, err
	}
	return record.calibration(), nil
}
