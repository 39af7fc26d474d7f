package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// bayes is a naive Bayes classifier of generated text as a model: each of two
// topics has words of its own and words that both have. Words come in pairs, which
// it counts as two, so that it is more certain than it should be.
type bayes struct {
	random *rand.Rand
	words  [][2]float64 // probability of each word under each topic
	other  atomic.Bool  // another model answers
}

func newBayes() *bayes {
	b := &bayes{random: rand.New(rand.NewPCG(7, 8))}
	for i := range 40 {
		p := [2]float64{1, 1}
		if i < 12 {
			p[i%2] = 2
		}
		b.words = append(b.words, p)
	}
	return b
}

// text draws a text about a topic.
func (b *bayes) text(topic int) string {
	var text []string
	for len(text) < 60 {
		i := b.random.IntN(len(b.words))
		if b.random.Float64() < b.words[i][topic]/2 {
			word := fmt.Sprintf("w%d", i)
			text = append(text, word, word)
		}
	}
	return strings.Join(text, " ")
}

// scores implements modeltest.Script.
func (b *bayes) scores(_ context.Context, req *model.ScoreRequest) (*model.Scores, error) {
	odds := 0.0
	for _, word := range strings.Fields(string(req.State[0].(model.Text))) {
		var i int
		if n, err := fmt.Sscanf(word, "w%d", &i); err == nil && n == 1 {
			odds += math.Log(b.words[i][0] / b.words[i][1])
		}
	}
	if b.other.Load() {
		odds += 2
	}
	p := 1 / (1 + math.Exp(-odds))
	return &model.Scores{Probabilities: []float64{p, 1 - p}, StateTokens: 5, QuestionTokens: 5}, nil
}

func TestCalibrations(t *testing.T) {
	is := is.New(t)
	b := newBayes()
	a := newDecisionAPI(t, &modeltest.Script{Scores: b.scores})
	const question = `{"type":"choice","instructions":"About what?","criteria":{"sport":null,"music":null}}`
	var rows []string
	for range 200 {
		topic := b.random.IntN(2)
		rows = append(rows, fmt.Sprintf(`{"state":%q,"answer":%q}`, b.text(topic), []string{"sport", "music"}[topic]))
	}
	w := a.send("/v1/calibrations", `{"model":"svc-snap-preview","question":`+question+`,"rows":[`+strings.Join(rows, ",")+`]}`)
	is.Equal(w.Code, 200)
	var made struct {
		ID, Object, Method string
		Metrics            map[string]struct{ Raw, Calibrated float64 }
		Thresholds         []struct{ Error, Confidence, Coverage float64 }
		Reliability        []struct{ Count int }
	}
	is.NoErr(json.Unmarshal(w.Body.Bytes(), &made))
	t.Logf("%s: %+v %+v", made.Method, made.Metrics, made.Thresholds)
	is.Equal(made.Object, "calibration")
	is.True(made.Metrics["ece"].Raw > made.Metrics["ece"].Calibrated)
	is.Equal(len(made.Reliability), 10)
	is.True(len(made.Thresholds) > 0)

	// Fresh texts: what the answers say holds.
	decide := func(state, more string) (answer struct {
		Choice        string
		Probabilities map[string]float64
		Confidence    float64
		Calibration   string
		Abstained     *bool
		Raw           struct{ Confidence float64 }
	}) {
		w := a.send("/v1/systemone", `{"model":"svc-snap-preview","state":"`+state+`","questions":{"q":`+question+`}`+more+`}`)
		is.Equal(w.Code, 200)
		var body struct{ Answers map[string]json.RawMessage }
		is.NoErr(json.Unmarshal(w.Body.Bytes(), &body))
		is.NoErr(json.Unmarshal(body.Answers["q"], &answer))
		return answer
	}
	const fresh = 3000
	type bin struct{ count, mean, right float64 }
	var calibrated, raw [10]bin
	for range fresh {
		topic := b.random.IntN(2)
		answer := decide(b.text(topic), "")
		is.Equal(answer.Calibration, made.ID)
		right := 0.0
		if answer.Choice == []string{"sport", "music"}[topic] {
			right = 1
		}
		for _, one := range []struct {
			bins       *[10]bin
			confidence float64
		}{{&calibrated, answer.Confidence}, {&raw, answer.Raw.Confidence}} {
			bin := &one.bins[min(int(one.confidence*10), 9)]
			bin.count++
			bin.mean += one.confidence
			bin.right += right
		}
	}
	ece := func(bins [10]bin) (sum float64) {
		for _, bin := range bins {
			sum += math.Abs(bin.mean-bin.right) / fresh
		}
		return sum
	}
	t.Logf("ECE %.3f, was %.3f", ece(calibrated), ece(raw))
	is.True(ece(calibrated) <= 0.03)
	is.True(ece(raw) > 0.05)

	is.Equal(*decide(strings.Repeat("w0 w2 w4 ", 20), `,"abstain_above_error":0.3`).Abstained, false)
	is.Equal(*decide("w20", `,"abstain_above_error":0.1`).Abstained, true)

	// What refuses.
	other := `{"type":"noul","instructions":"Is it?"}`
	w = a.send("/v1/systemone", `{"model":"svc-snap-preview","state":"x","abstain_above_error":0.1,"questions":{"q":`+other+`}}`)
	is.Equal(w.Body.String(), `{"detail":{"error_type":"validation_error","message":"abstain_above_error: needs a calibration of the question \"q\""}}`)
	for body, want := range map[string]string{
		`"rows":[{"state":"x","answer":true}]`: "rows: must have 20 to 10000 rows",
		`"rows":[` + strings.Repeat(`{"state":"x","answer":true},`, 19) + `{"state":"x","answer":"maybe"}]`: "rows/19/answer: must be true or false",
		``: "rows is required, or file_id in its place.",
	} {
		w := a.send("/v1/calibrations", strings.TrimSuffix(`{"model":"svc-snap-preview","question":`+other+`,`+body, ",")+`}`)
		if w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}

	// A file of rows, and the lists.
	file := sendForm(a.API, a.key, form(purpose, formPart{"file", "rows.csv", "text/csv", "state,answer\n" + strings.Repeat("w0,true\nw1,false\n", 15)}))
	var uploaded struct{ ID string }
	is.NoErr(json.Unmarshal(file.Body.Bytes(), &uploaded))
	w = a.send("/v1/calibrations", `{"model":"svc-snap-preview","question":`+other+`,"file_id":"`+uploaded.ID+`"}`)
	is.Equal(w.Code, 200)
	w = send(a.API, a.key, "GET", "/v1/calibrations?limit=1", "")
	is.True(strings.Contains(w.Body.String(), `"has_more":true`))
	is.Equal(send(a.API, a.key, "GET", "/v1/calibrations/"+made.ID, "").Code, 200)

	// Another model behind the same name: nothing is claimed of it.
	b.other.Store(true)
	is.Equal(send(a.API, a.key, "DELETE", "/v1/calibrations/"+made.ID, "").Body.String(), `{"id":"`+made.ID+`","object":"calibration.deleted","deleted":true}`)
	is.Equal(decide("w0", "").Calibration, "")
	is.Equal(send(a.API, a.key, "GET", "/v1/calibrations/"+made.ID, "").Code, 404)
	w = a.send("/v1/systemone", `{"model":"svc-snap-preview","state":"w1","questions":{"q":`+other+`}}`)
	is.Equal(w.Code, 409)
	is.True(strings.Contains(w.Body.String(), `"error_type":"model_changed"`))
}
