package evaluation

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/seed-506d8e5d/svc/decisions/calibration"
)

func TestQuantile(t *testing.T) {
	for q, want := range map[float64]float64{0: 1, 0.5: 3, 0.625: 3.5, 1: 5} {
		if got := quantile([]float64{1, 2, 3, 4, 5}, q); got != want {
			t.Errorf("%v: got %v, want %v", q, got, want)
		}
	}
}

func TestCoverage(t *testing.T) {
	var all []calibration.Row
	for i := range 20 { // the 20 most confident are right but for one
		right := 0
		if i == 3 {
			right = 1
		}
		all = append(all, calibration.Row{P: []float64{0.9, 0.1}, Right: right})
	}
	for range 20 {
		all = append(all, calibration.Row{P: []float64{0.6, 0.4}, Right: 1})
	}
	if got := coverage(all, 0.05); got != 0.5 {
		t.Errorf("got %v, want 0.5", got)
	}
	if got := coverage(all, 0.04); got != 0 {
		t.Errorf("rows of one confidence were parted: %v", got)
	}
	if got := coverage(all, 0.6); got != 1 {
		t.Errorf("got %v, want 1", got)
	}
}

// draw returns cases of a model that is right with a probability of p.
func draw(random *rand.Rand, n int, p float64) []Case {
	cases := make([]Case, n)
	for i := range cases {
		cases[i] = Case{Row: calibration.Row{P: []float64{p, 1 - p}}, Flipped: math.NaN(), Cost: 2, Latency: 3}
		if random.Float64() > p {
			cases[i].Row.Right = 1
		}
	}
	return cases
}

// TestCompare holds the interval of an accuracy against the one that the binomial
// distribution has, and the difference of a model to itself against none.
func TestCompare(t *testing.T) {
	cases := draw(rand.New(rand.NewPCG(1, 2)), 1000, 0.8)
	better := append([]Case(nil), cases...)
	for i := range 100 { // always right there
		better[i].Row.Right = 0
	}
	results, differences := Compare([][]Case{cases, cases, better})
	accuracy := results[0].Metrics[0]
	deviation := math.Sqrt(accuracy.Value * (1 - accuracy.Value) / 1000)
	if math.Abs(accuracy.Low-(accuracy.Value-1.96*deviation)) > 0.004 || math.Abs(accuracy.High-(accuracy.Value+1.96*deviation)) > 0.004 {
		t.Errorf("got %+v, deviation %v", accuracy, deviation)
	}
	if flips := results[0].Metrics[7]; !math.IsNaN(flips.Value) || !math.IsNaN(flips.Low) {
		t.Errorf("flips of a question asked once: %+v", flips)
	}
	if results[0].Metrics[8] != (Interval{2000, 2000, 2000}) || results[0].Metrics[9] != (Interval{3, 3, 3}) {
		t.Errorf("got %+v", results[0].Metrics)
	}
	if len(differences) != 3 || differences[0].Metrics[0] != (Interval{}) {
		t.Errorf("a model differs from itself: %+v", differences)
	}
	if d := differences[1].Metrics[0]; d.Value <= 0 || d.Low <= 0 || d.High-d.Low > accuracy.High-accuracy.Low {
		t.Errorf("the better one: %+v", d)
	}
}
