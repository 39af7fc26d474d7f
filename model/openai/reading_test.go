package openai

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model"
)

// isTrue is a decision with one question.
func isTrue() *model.DecideRequest {
	return &model.DecideRequest{Model: model.DefaultDecider, State: []byte(`"It rains."`), Questions: []model.DecideQuestion{
		{Name: "q", Kind: model.DecideNoul, Instructions: "Does it?", Options: []model.DecideOption{{Name: "Yes"}, {Name: "No"}}}}}
}

// TestAServerThatDecidesForEveryModelIsAskedForLabels has a vLLM and an SGLang with
// the route, and another server with it.
func TestAServerThatDecidesForEveryModelIsAskedForLabels(t *testing.T) {
	is := is.New(t)
	for _, exact := range []string{"vllm", "sglang"} {
		b := (&double{exact: exact, judges: true}).serve(t).backend(t)
		_, err := b.Decide(t.Context(), isTrue())
		is.Equal(err, model.ErrUndecided)
		s, err := b.Score(t.Context(), question("Yes", "No"))
		is.NoErr(err)
		is.True(strings.HasSuffix(s.Reading, " labels"))
		is.True(strings.HasPrefix(strings.ToLower(s.Reading), exact+" "))
	}
	b := (&double{judges: true}).serve(t).backend(t)
	d, err := b.Decide(t.Context(), isTrue())
	is.NoErr(err)
	is.Equal(d.Reading, "other double systemone")
	asked := (&double{exact: "vllm", judges: true}).serve(t).backend(t, withModel(func(m *Model) { m.Decides = SystemOne }))
	d, err = asked.Decide(t.Context(), isTrue())
	is.NoErr(err)
	is.True(strings.HasSuffix(d.Reading, " double systemone")) // the operator has said so
}

// TestAReadingStays has a server that answers /v1/systemone from some time on, as
// after an upgrade, and later is another one.
func TestAReadingStays(t *testing.T) {
	is := is.New(t)
	var judges, sgLang atomic.Bool
	labels, both := &double{}, &double{judges: true}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/get_model_info" && sgLang.Load():
			fmt.Fprint(w, `{"model_path":"other/model"}`)
		case judges.Load():
			both.ServeHTTP(w, r)
		default:
			labels.ServeHTTP(w, r)
		}
	}))
	defer s.Close()
	b := (&double{url: s.URL + "/v1"}).backend(t)
	expired := func() {
		for _, m := range b.all() {
			m.targets[0].facts.forget()
			m.targets[0].known.Store(nil)
		}
	}
	_, err := b.Decide(t.Context(), isTrue())
	is.Equal(err, model.ErrUndecided)
	first, err := b.Score(t.Context(), question("Yes", "No"))
	is.NoErr(err)
	judges.Store(true)
	expired()
	_, err = b.Decide(t.Context(), isTrue())
	is.Equal(err, model.ErrUndecided) // it stays
	again, err := b.Score(t.Context(), question("Yes", "No"))
	is.NoErr(err)
	is.Equal(again.Reading, first.Reading)
	sgLang.Store(true)
	expired()
	_, err = b.Decide(t.Context(), isTrue())
	is.Equal(err, model.ErrUndecided)
	other, err := b.Score(t.Context(), question("Yes", "No"))
	is.NoErr(err)
	is.Equal(other.Reading, "SGLang other/model labels")
	is.True(other.Reading != first.Reading)
}

// TestTheLabelMassOfADecisionHasAFloor has a server that reports it.
func TestTheLabelMassOfADecisionHasAFloor(t *testing.T) {
	for mass, want := range map[string]bool{"0.9": true, "0.2": false} {
		for name, answer := range map[string]string{
			"with the answer": `{"answers":{"q":{"type":"noul","noul":0.7,"label_mass":%s}}}`,
			"for all":         `{"label_mass":%s,"answers":{"q":{"type":"noul","noul":0.7}}}`,
		} {
			t.Run(name, func(t *testing.T) {
				is := is.New(t)
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, answer, mass)
				}))
				defer s.Close()
				b := (&double{url: s.URL + "/v1"}).backend(t, withModel(func(m *Model) { m.Decides = SystemOne }))
				d, err := b.Decide(t.Context(), isTrue())
				if !want {
					is.True(d == nil && err != nil) // the question is left for labels
					return
				}
				is.NoErr(err)
				is.Equal(d.Probabilities[0], []float64{0.7, 0.30000000000000004})
			})
		}
	}
}
