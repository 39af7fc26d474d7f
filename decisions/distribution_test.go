package decisions

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/seed-506d8e5d/svc/model"
)

var notShown = math.NaN()

func TestDistribution(t *testing.T) {
	for _, c := range []struct {
		name   string
		shown  []float64
		hidden float64
		want   []float64
	}{
		{"all shown", []float64{0.2, 0.8}, 0, []float64{0.2, 0.8}},
		{"mass on other tokens", []float64{0.1, 0.3}, 0.4, []float64{0.25, 0.75}},
		{"shown with no mass", []float64{0, 0.5}, 0, []float64{0, 1}},
		{"hidden share the rest", []float64{0.6, 0.2, notShown, notShown}, 0.2, []float64{0.6, 0.2, 0.1, 0.1}},
		{"hidden no likelier than shown", []float64{0.5, 0.1, notShown}, 0.4, []float64{5. / 7, 1. / 7, 1. / 7}},
		{"a shown zero does not bound them", []float64{0, 0.5, notShown}, 0.5, []float64{0, 0.5, 0.5}},
		{"nothing hidden is not nothing", []float64{1, notShown}, 0, []float64{1 / (1 + 1e-9), 1e-9 / (1 + 1e-9)}},
		{"less than nothing hidden", []float64{1, notShown}, -0.1, []float64{1 / (1 + 1e-9), 1e-9 / (1 + 1e-9)}},
		{"nothing shown", []float64{notShown, notShown}, 0.9, []float64{0.5, 0.5}},
		{"nothing shown or hidden", []float64{notShown, notShown, notShown, notShown}, 0, []float64{0.25, 0.25, 0.25, 0.25}},
		{"all zero", []float64{0, 0}, 0, []float64{0.5, 0.5}},
		{"out of range", []float64{math.Inf(1), 3, -1, math.Inf(-1)}, math.NaN(), []float64{0.5, 0.5, 0, 0}},
		{"tiny", []float64{5e-324, notShown}, 1, []float64{0.5, 0.5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := distribution(&model.Scores{Probabilities: c.shown, Hidden: c.hidden})
			if !slices.EqualFunc(got, c.want, near) {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
		})
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12 }

func TestCombine(t *testing.T) {
	got := combine([]float64{0.6, 0.1, 0.3}, [][]float64{{0.5, 0.5}, nil, {0.1, 0.9}}, []int{2, 4, 2})
	want := []float64{0.3, 0.3, 0.025, 0.025, 0.025, 0.025, 0.03, 0.27}
	if !slices.EqualFunc(got, want, near) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestLikeliestPrefersTheFirst(t *testing.T) {
	if got := likeliest([]float64{0.1, 0.45, 0.45}); got != 1 {
		t.Errorf("got %d, want 1", got)
	}
}

// checkClean fails unless p are probabilities that sum to 1.
func checkClean(t *testing.T, p []float64) {
	t.Helper()
	sum := 0.0
	for i, x := range p {
		if !(x >= 0 && x <= 1) {
			t.Fatalf("probability %d is %v", i, x)
		}
		sum += x
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Fatalf("the sum of %v is %v", p, sum)
	}
}

func FuzzDistribution(f *testing.F) {
	seed := func(hidden float64, shown ...float64) {
		var b []byte
		for _, x := range shown {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
		f.Add(hidden, b)
	}
	seed(0, 0.5, 0.5)
	seed(1, notShown, 5e-324)
	seed(1, 1, 1, notShown, 5e-324)
	seed(math.Inf(1), math.MaxFloat64, math.Inf(-1), notShown)
	f.Fuzz(func(t *testing.T, hidden float64, raw []byte) {
		var shown []float64
		for len(raw) >= 8 && len(shown) < model.MaxLabels {
			shown = append(shown, math.Float64frombits(binary.LittleEndian.Uint64(raw)))
			raw = raw[8:]
		}
		if len(shown) < 2 {
			return
		}
		got := distribution(&model.Scores{Probabilities: shown, Hidden: hidden})
		checkClean(t, got)
		for i, mass := range shown {
			if math.IsNaN(mass) && got[i] == 0 {
				t.Fatalf("a label that was not shown has no probability: %v of %v", got, shown)
			}
		}
	})
}
