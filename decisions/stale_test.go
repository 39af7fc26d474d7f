package decisions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/storage"
)

// TestACalibrationThatDoesNotHoldIsNotApplied changes the reading, the prompts and
// the model under a calibration.
func TestACalibrationThatDoesNotHoldIsNotApplied(t *testing.T) {
	question := Question{Name: "q", Type: Noul, Instructions: "Is it?"}
	for name, change := range map[string]func(f *fixture, k *Calibration, answer *model.Scores){
		"another reading":    func(_ *fixture, _ *Calibration, answer *model.Scores) { answer.Reading = "systemone" },
		"an unknown reading": func(_ *fixture, _ *Calibration, answer *model.Scores) { answer.Reading = "" },
		"another model":      func(_ *fixture, _ *Calibration, answer *model.Scores) { answer.Probabilities = []float64{0.5, 0.5} },
		"other prompts": func(f *fixture, k *Calibration, _ *model.Scores) {
			f.rewrite(t, k, func(k *Calibration) { k.Prompts = "old" })
		},
		"": func(*fixture, *Calibration, *model.Scores) {},
		"of an older version": func(f *fixture, k *Calibration, _ *model.Scores) {
			f.rewrite(t, k, func(k *Calibration) { k.Prompts, k.readings = "", nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				answer := model.Scores{Probabilities: []float64{0.9, 0.1}, Reading: "labels"}
				f := newFixture(t, &modeltest.Script{Scores: func(context.Context, *model.ScoreRequest) (*model.Scores, error) {
					now := answer
					return &now, nil
				}})
				n := &NewCalibration{Model: model.DefaultDecider, Question: question, Asked: json.RawMessage(`{}`)}
				for i := range 200 {
					n.Rows = append(n.Rows, LabelledRow{State: raw("x"), Answer: raw(i%10 < 7)})
				}
				made, err := f.Calibrate(t.Context(), f.caller, n)
				is.NoErr(err)
				decide := func(abstain float64) Answer {
					req := request(question)
					req.AbstainAboveError = abstain
					resp, err := f.Decide(t.Context(), f.caller, req)
					is.NoErr(err)
					return resp.Answers[0]
				}
				is.Equal(decide(0).Calibration, made.ID)
				is.Equal(decide(0.5).Abstained, false)
				var log bytes.Buffer
				f.log = slog.New(slog.NewTextHandler(&log, nil))
				change(f, made, &answer)
				time.Sleep(canaryTime + time.Second) // of the bubble's clock
				a := decide(0.5)
				stale := name != "" && name != "of an older version"
				is.Equal(a.CalibrationStale, stale)
				is.Equal(a.Calibration == "", stale)
				is.Equal(a.Abstained, stale)
				if stale {
					is.Equal(a.Raw, nil)
					is.Equal(a.Noul, answer.Probabilities[0])
				}
				asked := len(f.script.ScoreCalls())
				decide(0)
				is.Equal(len(f.script.ScoreCalls())-asked, 1) // the outcome is remembered
				logged := 0
				if stale {
					logged = 1
				}
				is.Equal(strings.Count(log.String(), "calibration_stale=true calibration="+made.ID), logged)
			})
		})
	}
}

// rewrite changes a stored calibration.
func (f *fixture) rewrite(t *testing.T, k *Calibration, change func(*Calibration)) {
	changed := *k
	change(&changed)
	err := f.store.Update(context.Background(), f.caller.Namespace(), func(tx storage.Tx) error {
		return storage.SetJSON(tx, calibrationKey(k.ID), newCalibrationRecord(&changed))
	})
	if err != nil {
		t.Error(fmt.Errorf("the calibration was not rewritten: %w", err))
	}
}
