package telemetry_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/driver"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/telemetry"
)

// judge is a backend that decides by itself, but for nobody without a name.
type judge struct{ *modeltest.Script }

func (judge) Decide(_ context.Context, req *model.DecideRequest) (*model.Decision, error) {
	if req.Tenant == "" {
		return nil, model.ErrUndecided
	}
	return &model.Decision{StateTokens: 5}, nil
}

// TestWholeDecisionsAreMeasured counts those that a model has made, and not what
// it left to scoring.
func TestWholeDecisionsAreMeasured(t *testing.T) {
	tel := telemetry.New(telemetry.Options{})
	if _, ok := driver.As[model.Decider](tel.Backend(modeltest.Plain(&modeltest.Script{}))); ok {
		t.Error("a backend that cannot decide can, once wrapped")
	}
	models := model.Use(tel.Backend(judge{&modeltest.Script{}}))
	if _, err := models.Decide(t.Context(), &model.DecideRequest{Model: model.DefaultDecider}); !errors.Is(err, model.ErrUndecided) {
		t.Errorf("got %v", err)
	}
	if d, err := models.Decide(t.Context(), &model.DecideRequest{Model: model.DefaultDecider, Tenant: "org_1"}); err != nil || d.StateTokens != 5 {
		t.Errorf("got %+v, %v", d, err)
	}
	w := httptest.NewRecorder()
	tel.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{
		`gen_ai_server_request_duration_seconds_count{error_type="",gen_ai_operation_name="decide",gen_ai_request_model="svc-snap-preview"} 1`,
		`svc_model_active_calls 0`,
	} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("there is no line %s in\n%s", line, w.Body)
		}
	}
}
