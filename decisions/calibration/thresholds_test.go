package calibration

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestThresholdsKeepTheirErrorRates draws rows 1,000 times from worlds in which the
// true error of every confidence is known, and holds how often a threshold breaks
// its promise, and how much the thresholds cover.
func TestThresholdsKeepTheirErrorRates(t *testing.T) {
	const draws = 1000
	for name, world := range map[string]struct {
		err   func(confidence float64) float64 // of a confidence, which is uniform from 0.5 to 1
		rows  int
		steps float64             // the confidences are rounded to that many steps; 0 for none
		least map[float64]float64 // coverage by error rate
	}{
		"informative":         {func(c float64) float64 { return 0.8 * (1 - c) }, 200, 0, map[float64]float64{0.2: 0.4, 0.3: 0.9}},
		"hardly informative":  {func(c float64) float64 { return 0.35 - 0.2*c }, 200, 0, map[float64]float64{0.3: 0.6}},
		"not informative":     {func(float64) float64 { return 0.2 }, 200, 0, map[float64]float64{0.3: 0.6}},
		"wrong where surest":  {func(c float64) float64 { return map[bool]float64{true: 0.4, false: 0.18}[c > 0.95] }, 200, 0, map[float64]float64{0.3: 0.55}},
		"on the edge":         {func(float64) float64 { return 0.3 }, 200, 0, nil},
		"in five steps":       {func(c float64) float64 { return 0.8 * (1 - c) }, 200, 10, map[float64]float64{0.3: 0.9}},
		"many rows":           {func(c float64) float64 { return 0.4 * (1 - c) }, 1000, 0, map[float64]float64{0.1: 0.6}},
		"as few rows as ever": {func(c float64) float64 { return 0.4 * (1 - c) }, MinRows, 0, map[float64]float64{0.5: 0.9}},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(5, 6))
			round := func(c float64) float64 {
				if world.steps > 0 {
					return math.Round(c*world.steps) / world.steps
				}
				return c
			}
			above := func(confidence float64) float64 { // the true error rate of all answers that are admitted
				sum, n := 0.0, 0.0
				for c := 0.5; c < 1; c += 0.0005 {
					if (Threshold{Confidence: confidence}).Admits(round(c)) {
						sum, n = sum+world.err(c), n+1
					}
				}
				return sum / max(n, 1)
			}
			coverage, broken := map[float64]float64{}, map[float64]int{}
			for range draws {
				rows := make([]Row, world.rows)
				for i := range rows {
					c := 0.5 + random.Float64()/2
					if random.Float64() < world.err(c) {
						rows[i].Right = 1
					}
					c = round(c)
					rows[i].P = []float64{c, 1 - c}
				}
				for _, threshold := range Thresholds(rows) {
					coverage[threshold.Error] += threshold.Coverage / draws
					if above(threshold.Confidence) > threshold.Error+1e-3 { // the step of the sum
						broken[threshold.Error]++
					}
				}
			}
			t.Logf("coverage %.2f, exceeded %v of %d", coverage, broken, draws)
			for rate, least := range world.least {
				if coverage[rate] < least {
					t.Errorf("an error of %v covers %.2f, want %v", rate, coverage[rate], least)
				}
			}
			for rate, n := range broken {
				if n > significance*draws {
					t.Errorf("the error %v is exceeded in %d of %d draws", rate, n, draws)
				}
			}
		})
	}
}

// TestTiedConfidences has confidences that differ by the rounding of arithmetic
// alone: a threshold admits all of them or none.
func TestTiedConfidences(t *testing.T) {
	rows := make([]Row, 200)
	for i := range rows {
		c := 0.7
		if i%2 == 0 {
			c = math.Nextafter(c, 1)
		}
		rows[i].P = []float64{c, 1 - c}
		if i%10 == 0 { // all among the larger ones
			rows[i].Right = 1
		}
	}
	found := Thresholds(rows)
	if len(found) == 0 {
		t.Fatal("no thresholds")
	}
	for _, threshold := range found {
		if threshold.Coverage != 1 {
			t.Errorf("an error of %v covers %v, want all", threshold.Error, threshold.Coverage)
		}
		if !threshold.Admits(0.7) || !threshold.Admits(math.Nextafter(0.7, 0)) || threshold.Admits(0.69) {
			t.Errorf("%+v parts confidences that are the same", threshold)
		}
	}
	if m, _ := Measure(rows); m.AUROC != 0.5 {
		t.Errorf("AUROC %v of confidences that are all the same", m.AUROC)
	}
}

// TestBinomialTail compares with sums of the binomial distribution.
func TestBinomialTail(t *testing.T) {
	for _, n := range []int{1, 5, 59, 300} {
		for wrong := range min(n, 40) {
			for _, rate := range []float64{0.01, 0.05, 0.3, 0.5} {
				want := 0.0
				for k := range wrong + 1 {
					all, _ := math.Lgamma(float64(n + 1))
					one, _ := math.Lgamma(float64(k + 1))
					other, _ := math.Lgamma(float64(n - k + 1))
					want += math.Exp(all - one - other + float64(k)*math.Log(rate) + float64(n-k)*math.Log(1-rate))
				}
				if got := tail(wrong, n, rate); math.Abs(got-want) > 1e-10 {
					t.Errorf("%d of %d at %v: got %v, want %v", wrong, n, rate, got, want)
				}
			}
		}
	}
}
