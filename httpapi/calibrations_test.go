package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"
	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

func TestCalibrations(t *testing.T) {
	is := is.New(t)
	var changed atomic.Bool
	a := newDecisionAPI(t, &modeltest.Script{Scores: func(_ context.Context, req *model.ScoreRequest) (*model.Scores, error) {
		p := 0.999 // sport, far surer than right
		if strings.Contains(string(req.State[0].(model.Text)), "song") {
			p = 0.0001
		}
		if changed.Load() {
			p = 0.5
		}
		return &model.Scores{Probabilities: []float64{p, 1 - p}, StateTokens: 1, QuestionTokens: 1}, nil
	}})
	const question = `{"type":"choice","instructions":"About what?","criteria":{"sport":null,"music":null}}`
	var rows []string
	for i := range 100 {
		answer := "sport"
		if i%10 == 0 {
			answer = "music"
		}
		rows = append(rows, fmt.Sprintf(`{"state":"a game","answer":%q},{"state":"a song","answer":"music"}`, answer))
	}
	w := a.send("/v1/calibrations", `{"model":"svc-snap-preview","question":`+question+`,"rows":[`+strings.Join(rows, ",")+`]}`)
	is.Equal(w.Code, 200)
	id := gjson.Get(w.Body.String(), "id").Str
	ask := func(state, more string) gjson.Result {
		w := a.send("/v1/systemone", `{"model":"svc-snap-preview","state":"`+state+`","questions":{"q":`+question+`}`+more+`}`)
		is.Equal(w.Code, 200)
		return gjson.Get(w.Body.String(), "answers.q")
	}
	made := gjson.Parse(send(a.API, a.key, "GET", "/v1/calibrations/"+id, "").Body.String())
	is.Equal(made.Get("object").Str, "calibration")
	is.True(made.Get("metrics.ece.raw").Num > made.Get("metrics.ece.calibrated").Num)
	is.Equal(made.Get("reliability.#").Int(), int64(10))
	is.True(made.Get("thresholds.#").Int() > 0)
	is.Equal(ask("a game", "").Get("calibration").Str, id)
	is.Equal(ask("a song", `,"abstain_above_error":0.05`).Get("abstained").Raw, "false")
	is.Equal(ask("a game", `,"abstain_above_error":0.05`).Get("abstained").Raw, "true")

	// What refuses.
	other := `{"type":"noul","instructions":"Is it?","criteria":{"true":["é"]}}`
	w = a.send("/v1/systemone", `{"model":"svc-snap-preview","state":"x","abstain_above_error":0.1,"questions":{"q":`+other+`}}`)
	is.Equal(w.Body.String(), `{"detail":{"error_type":"validation_error","message":"abstain_above_error: needs a calibration of the question \"q\""}}`)
	for body, want := range map[string]string{
		`"rows":[{"state":"x","answer":true}]`: "rows: must have 20 to 10000 rows",
		`"rows":[` + strings.Repeat(`{"state":"x","answer":true},`, 19) + `{"state":"x","answer":"maybe"}]`: "rows/19/answer: must be true or false",
		``: "rows is required, or file_id or from in its place.",
	} {
		w := a.send("/v1/calibrations", strings.TrimSuffix(`{"model":"svc-snap-preview","question":`+other+`,`+body, ",")+`}`)
		if w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	w = a.send("/v1/calibrations", `{"model":"svc-snap-preview","question":{"type":"choice","criteria":{"a":null}},"rows":[]}`)
	is.Equal(w.Body.String(), errorA("question/criteria: must have 2 to 255 options", "question/criteria", "validation_error"))

	// A file of rows, and the lists.
	file := sendForm(a.API, a.key, form(purpose, formPart{"file", "rows.csv", "text/csv", "\ufeffstate,answer\n" + strings.Repeat("w0,true\nw1,false\n", 15)}))
	var uploaded struct{ ID string }
	is.NoErr(json.Unmarshal(file.Body.Bytes(), &uploaded))
	spelled := strings.Replace(other, `["é"]`, `[ "\u00e9" ]`, 1) // the same question
	w = a.send("/v1/calibrations", `{"model":"svc-snap-preview","question":`+spelled+`,"file_id":"`+uploaded.ID+`"}`)
	is.Equal(w.Code, 200)
	w = send(a.API, a.key, "GET", "/v1/calibrations?limit=1", "")
	is.True(strings.Contains(w.Body.String(), `"has_more":true`))
	is.Equal(send(a.API, a.key, "GET", "/v1/calibrations/"+id, "").Code, 200)

	// Another model behind the same name: nothing is claimed of it.
	changed.Store(true)
	is.Equal(send(a.API, a.key, "DELETE", "/v1/calibrations/"+id, "").Body.String(), `{"id":"`+id+`","object":"calibration.deleted","deleted":true}`)
	is.True(!ask("a game", "").Get("calibration").Exists())
	is.Equal(send(a.API, a.key, "GET", "/v1/calibrations/"+id, "").Code, 404)
	w = a.send("/v1/systemone", `{"model":"svc-snap-preview","state":"w1","questions":{"q":`+other+`}}`)
	is.Equal(w.Body.String(), `{"model":"svc-snap-preview","answers":{"q":{"type":"noul","noul":0.5,"calibration_stale":true}},"usage":{"input_tokens":2,"output_tokens":0}}`)
	w = a.send("/v1/decisions", `{"model":"svc-snap-preview","input":"w1","abstain_above_error":0.5,"questions":[{"type":"predicate","instructions":"Is it?"}]}`)
	is.Equal(w.Code, 400) // another question
}
