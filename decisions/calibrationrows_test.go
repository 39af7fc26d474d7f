package decisions

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// calibrated makes a calibration of a question for the fixture's organization.
func calibrated(t *testing.T, f *fixture, q Question) *Calibration {
	t.Helper()
	n := &NewCalibration{Model: model.DefaultDecider, Question: q, Asked: json.RawMessage(`{}`)}
	for i := range 40 {
		n.Rows = append(n.Rows, LabelledRow{State: raw("x"), Answer: raw(i%10 < 7)})
	}
	made, err := f.Calibrate(t.Context(), f.caller, n)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestTheRowsOfACalibrationAreKept until it is deleted.
func TestTheRowsOfACalibrationAreKept(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, &modeltest.Script{Scores: fixed(0, 0.75, 0.25)})
	q := Question{Name: "q", Type: Noul, Instructions: "Is it?"}
	made := calibrated(t, f, q)
	rows, err := f.CalibrationRows(t.Context(), f.caller, made.ID)
	is.NoErr(err)
	is.Equal(len(rows), 40)
	for i, row := range rows {
		is.Equal(row.P, []float64{0.75, 0.25})
		is.Equal(row.Right == 0, i%10 < 7)
	}
	other := f.organization(t, accounts.Dollar)
	_, err = f.CalibrationRows(t.Context(), other, made.ID)
	is.True(fault.Is(err, fault.NotFound))
	id, err := f.CalibrationOf(t.Context(), f.caller, model.DefaultDecider, &q)
	is.NoErr(err)
	is.Equal(id, made.ID)
	is.NoErr(f.DeleteCalibration(t.Context(), f.caller, made.ID))
	_, err = f.CalibrationRows(t.Context(), f.caller, made.ID)
	is.True(fault.Is(err, fault.NotFound))
	id, err = f.CalibrationOf(t.Context(), f.caller, model.DefaultDecider, &q)
	is.NoErr(err)
	is.Equal(id, "")
}

// TestCalibrationsOfAnotherOrganization are applied where the request names it.
func TestCalibrationsOfAnotherOrganization(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, &modeltest.Script{Scores: fixed(0, 0.75, 0.25)})
	q := Question{Name: "q", Type: Noul, Instructions: "Is it?"}
	made := calibrated(t, f, q)
	other := f.organization(t, accounts.Dollar)
	req := request(q)
	got, err := f.Decide(t.Context(), other, req)
	is.NoErr(err)
	is.Equal(got.Answers[0].Calibration, "")
	req.Calibrations = f.caller.Organization
	got, err = f.Decide(t.Context(), other, req)
	is.NoErr(err)
	is.Equal(got.Answers[0].Calibration, made.ID)
}

// TestTagsFollowFromTheAnswers stores a decision with tags that its answers say.
func TestTagsFollowFromTheAnswers(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, &modeltest.Script{Scores: fixed(0, 0.75, 0.25)})
	yes := true
	req := request(Question{Name: "q", Type: Noul, Instructions: "Is it?"})
	req.Store, req.Metadata = &yes, map[string]string{"a": "b"}
	req.Tags = func(resp *Response) map[string]string {
		return map[string]string{"sure": string(raw(resp.Answers[0].Noul > 0.5))}
	}
	got, err := f.Decide(t.Context(), f.caller, req)
	is.NoErr(err)
	kept, err := f.Get(t.Context(), f.caller, got.ID)
	is.NoErr(err)
	is.Equal(kept.Metadata, map[string]string{"a": "b", "sure": "true"})
	is.Equal(req.Metadata, map[string]string{"a": "b"})
}

// TestDecisionsWithoutAccounts are for everybody and stored nowhere.
func TestDecisionsWithoutAccounts(t *testing.T) {
	is := is.New(t)
	s := New(Options{Backend: &modeltest.Script{Scores: fixed(0, 0.75, 0.25)}})
	yes := true
	req := request(Question{Name: "q", Type: Noul, Instructions: "Is it?"})
	req.Store = &yes
	got, err := s.Decide(context.Background(), accounts.Caller{}, req)
	is.NoErr(err)
	is.Equal(got.Answers[0].Noul, 0.75)
	is.Equal(got.ID, "")
	_, err = s.Calibrate(context.Background(), accounts.Caller{}, &NewCalibration{Model: model.DefaultDecider, Question: req.Questions[0], Asked: json.RawMessage(`{}`),
		Rows: make([]LabelledRow, 20)})
	is.True(err != nil)
}
