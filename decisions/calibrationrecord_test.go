package decisions

import (
	"encoding/json"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/decisions/calibration"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// TestStoredCalibrations reads a calibration as the program of commit 8c23509 wrote
// it, when the public type was stored as it is, and writes it the same way.
func TestStoredCalibrations(t *testing.T) {
	const golden = `{"id":"calib_1","model":"svc-snap-preview","question":{"type":"noul"},` +
		`"map":{"method":"isotonic","t":2,"a":3,"b":4,"x":[0.1,0.2],"y":[0.3,0.4]},"rows":40,` +
		`"raw":{"accuracy":1,"chance_corrected":2,"ece":3,"brier":4,"nll":5,"auroc":6},` +
		`"calibrated":{"accuracy":7,"chance_corrected":8,"ece":9,"brier":10,"nll":11,"auroc":12},` +
		`"thresholds":[{"error":0.1,"confidence":0.9,"coverage":0.5}],` +
		`"reliability":[{"from":0,"to":0.5,"count":3,"mean":0.25,"right":0.75}],"created_at":1700000000,"orders":2,` +
		`"key":"k/q/svc-snap-preview 89","canaries":[{"state":"x","p":[0.25,0.75]}]}`
	want := Calibration{
		ID: "calib_1", Model: "svc-snap-preview", Asked: json.RawMessage(`{"type":"noul"}`),
		Map:    calibration.Map{Method: calibration.Isotonic, T: 2, A: 3, B: 4, X: []float64{0.1, 0.2}, Y: []float64{0.3, 0.4}},
		Rows:   40,
		Before: calibration.Metrics{Accuracy: 1, OverGuess: 2, ECE: 3, Brier: 4, NLL: 5, AUROC: 6},
		After:  calibration.Metrics{Accuracy: 7, OverGuess: 8, ECE: 9, Brier: 10, NLL: 11, AUROC: 12},

		Thresholds:  []calibration.Threshold{{Error: 0.1, Confidence: 0.9, Coverage: 0.5}},
		Reliability: []calibration.Bin{{To: 0.5, Count: 3, Mean: 0.25, Right: 0.75}},
		CreatedAt:   1700000000, Orders: 2,
		key: "k/q/svc-snap-preview 89", canaries: []canary{{State: "x", P: []float64{0.25, 0.75}}},
	}
	is := is.New(t)
	f := newFixture(t, &modeltest.Script{})
	is.NoErr(f.store.Update(t.Context(), f.caller.Namespace(), func(tx storage.Tx) error {
		return tx.Set(calibrationKey(want.ID), []byte(golden))
	}))
	got, err := f.Calibration(t.Context(), f.caller, want.ID)
	is.NoErr(err)
	is.Equal(*got, want)
	all, err := f.Calibrations(t.Context(), f.caller, page.Params{})
	is.NoErr(err)
	is.Equal(all.Items, []Calibration{want})
	written, err := jsonout.Marshal(newCalibrationRecord(got))
	is.NoErr(err)
	is.Equal(string(written), golden)
}
