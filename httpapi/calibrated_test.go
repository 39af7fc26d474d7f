package httpapi

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"
	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// TestCalibratedAnswersOnBothWires shows the raw numbers and the calibration beside
// the calibrated ones, under the names of each wire, and only where the question is
// asked as it was when the calibration was made.
func TestCalibratedAnswersOnBothWires(t *testing.T) {
	is := is.New(t)
	a := newDecisionAPI(t, &modeltest.Script{Scores: func(_ context.Context, req *model.ScoreRequest) (*model.Scores, error) {
		p := 0.02
		if strings.Contains(string(req.State[0].(model.Text)), "yes") {
			p = 0.98
		}
		s := &model.Scores{Probabilities: []float64{p, 1 - p}, StateTokens: 1, QuestionTokens: 1}
		if strings.Contains(req.Question, "\nB: bad") { // the other order
			s.Probabilities = []float64{1 - p, p}
		}
		return s, nil
	}})
	var rows []string
	for i := range 100 {
		good, right := i%2 == 0, i%5 != 0
		rows = append(rows, fmt.Sprintf(`{"state":"%v %d","answer":%q}`, map[bool]string{true: "yes", false: "no"}[good == right], i, map[bool]string{true: "good", false: "bad"}[good]))
	}
	const question = `{"type":"choice","instructions":"How?","criteria":{"good":null,"bad":null}}`
	made := a.send("/v1/calibrations", `{"model":"svc-snap-preview","question":`+question+`,"rows":[`+strings.Join(rows, ",")+`]}`)
	is.Equal(made.Code, 200)
	id := gjson.Get(made.Body.String(), "id").Str

	one := gjson.Get(a.send("/v1/systemone", `{"model":"svc-snap-preview","state":"yes","abstain_above_error":0.01,"questions":{"q":`+question+`}}`).Body.String(), "answers.q")
	is.Equal(one.Get("calibration").Str, id)
	is.Equal(one.Get("raw").Raw, `{"choice":"good","probabilities":{"good":0.98,"bad":0.020000000000000018},"confidence":0.98}`)
	is.Equal(one.Get("abstained").Raw, "true")
	p := one.Get("probabilities.good").Num
	is.True(p > 0.6 && p < 0.9)

	const asked = `"questions":[{"type":"choice","instructions":"How?","choices":[{"value":"good"},{"value":"bad"}]}]`
	two := gjson.Get(a.send("/v1/decisions", `{"model":"svc-snap-preview","input":"yes","abstain_above_error":0.01,`+asked+`}`).Body.String(), "answers.0")
	is.Equal(two.Get("calibration").Str, id)
	is.Equal(two.Get("raw").Raw, `{"choice":"good","confidence":0.98,"probabilities":[{"value":"good","probability":0.98},{"value":"bad","probability":0.020000000000000018}]}`)
	is.Equal(two.Get("probabilities.0.probability").Num, p)
	is.Equal(two.Get("abstained").Raw, "true")

	// Asked otherwise, the calibration says nothing.
	three := a.send("/v1/decisions", `{"model":"svc-snap-preview","input":"yes","debias":2,`+asked+`}`)
	answer := gjson.Get(three.Body.String(), "answers.0")
	is.True(!answer.Get("calibration").Exists())
	is.Equal(answer.Get("order_variation").Num, 0.0)
	is.True(answer.Get("confidence").Num > 0.979)
	four := a.send("/v1/systemone", `{"model":"svc-snap-preview","state":"yes","examples":[{"state":"x","answers":{"q":"bad"}}],"questions":{"q":`+question+`}}`)
	is.True(!gjson.Get(four.Body.String(), "answers.q.calibration").Exists())
	is.Equal(a.send("/v1/decisions", `{"model":"svc-snap-preview","input":"yes","examples":[],`+asked+`}`).Body.String(),
		`{"error":{"message":"examples is taken by /v1/systemone alone.","type":"invalid_request_error","param":"examples","code":"validation_error"}}`)
}
