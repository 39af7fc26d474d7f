package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/client"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/decisions/calibration"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// boastful is sure of what it is right about in four of five.
func boastful(_ context.Context, req *model.ScoreRequest) (*model.Scores, error) {
	p := 0.02
	if strings.Contains(string(req.State[0].(model.Text)), "yes") {
		p = 0.98
	}
	return &model.Scores{Probabilities: []float64{p, 1 - p}, StateTokens: 1, QuestionTokens: 1}, nil
}

// TestCalibrations makes, uses, reads and deletes a calibration from afar: all is as
// it is with the service itself.
func TestCalibrations(t *testing.T) {
	is := is.New(t)
	c, service := open(t, &modeltest.Script{Scores: boastful})
	ctx := t.Context()
	local, err := service.LocalCaller(ctx)
	is.NoErr(err)
	n := &decisions.NewCalibration{Model: model.DefaultDecider, Question: decisions.NewNoul("q", "Is it?"), Asked: []byte(`{"instructions":"Is it?","type":"noul"}`)}
	for i := range 100 {
		right := i%5 != 0
		state := map[bool]string{true: "yes", false: "no"}[right == (i%2 == 0)]
		n.Rows = append(n.Rows, decisions.LabelledRow{State: decisions.State(fmt.Sprint(state, " ", i)), Answer: decisions.State(i%2 == 0)})
	}
	made, err := c.Calibrate(ctx, client.Caller{}, n)
	is.NoErr(err)
	is.True(made.Map.Method != calibration.Raw)
	is.True(made.Before.ECE > made.After.ECE+0.1)
	same := func(got decisions.Calibration) {
		t.Helper()
		want, err := service.Calibration(ctx, local, made.ID)
		is.NoErr(err)
		want.Map, want.Orders = calibration.Map{Method: want.Map.Method}, 0 // the server's
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		is.Equal(string(a), string(b))
	}
	same(*made)
	found, err := c.Calibration(ctx, client.Caller{}, made.ID)
	is.NoErr(err)
	same(*found)
	list, err := c.Calibrations(ctx, client.Caller{}, client.Page{})
	is.NoErr(err)
	is.Equal(len(list.Items), 1)
	same(list.Items[0])

	req := &decisions.Request{Model: model.DefaultDecider, State: decisions.State("yes, again"), Questions: []decisions.Question{decisions.NewNoul("q", "Is it?")}, AbstainAboveError: 0.01}
	want, err := service.Decide(ctx, local, req)
	is.NoErr(err)
	got, err := c.Decide(ctx, client.Caller{}, req)
	is.NoErr(err)
	is.Equal(got, want)
	is.Equal(got.Answers[0].Calibration, made.ID)
	is.Equal(got.Answers[0].Raw.Noul, 0.98)
	is.True(got.Answers[0].Abstained)

	is.NoErr(c.DeleteCalibration(ctx, client.Caller{}, made.ID))
	_, err = c.Calibration(ctx, client.Caller{}, made.ID)
	is.True(fault.Is(err, fault.NotFound))
}
