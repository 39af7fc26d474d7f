package calibration

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// truth draws rows whose probabilities are right: the answer is drawn from them.
func truth(random *rand.Rand, n, options int) []Row {
	rows := make([]Row, n)
	for i := range rows {
		p, sum := make([]float64, options), 0.0
		for j := range p {
			p[j] = math.Exp(1.5 * random.NormFloat64())
			sum += p[j]
		}
		at, u := 0, random.Float64()
		for j := range p {
			p[j] /= sum
		}
		for at < options-1 && u > p[at] {
			u -= p[at]
			at++
		}
		rows[i] = Row{p, at}
	}
	return rows
}

// distort bends the probabilities of rows.
func distort(rows []Row, change func([]float64) []float64) []Row {
	bent := slices.Clone(rows)
	for i := range bent {
		bent[i].P = change(bent[i].P)
	}
	return bent
}

// TestCalibration learns distortions from 200 rows and holds 20,000 others against
// what it learned.
func TestCalibration(t *testing.T) {
	for name, c := range map[string]struct {
		options int
		change  func([]float64) []float64
		most    float64 // expected calibration error
	}{
		"right":         {2, func(p []float64) []float64 { return p }, 0.03},
		"overconfident": {4, func(p []float64) []float64 { return temper(p, 0.4) }, 0.03},
		"timid":         {4, func(p []float64) []float64 { return temper(p, 2.5) }, 0.03},
		"one-sided": {2, func(p []float64) []float64 {
			return bend(p, func(x float64) float64 { return sigmoid(2*logit(x) + 1.5) })
		}, 0.05},
		"stepped": {2, func(p []float64) []float64 {
			return bend(p, func(x float64) float64 { return 0.5 + 0.49*math.Tanh(20*(x-0.3)) })
		}, 0.06},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(3, 4))
			learned, held := Choose(distort(truth(random, 200, c.options), c.change))
			if len(held) != 200 {
				t.Fatalf("%d held", len(held))
			}
			fresh := distort(truth(random, 20000, c.options), c.change)
			raw, _ := Measure(fresh)
			got, _ := Measure(learned.ApplyAll(fresh))
			t.Logf("%s: ECE %.3f, was %.3f", learned.Method, got.ECE, raw.ECE)
			if got.ECE > c.most || got.ECE > raw.ECE+0.01 {
				t.Errorf("%s: ECE %.4f, was %.4f", learned.Method, got.ECE, raw.ECE)
			}
			if got.Accuracy < raw.Accuracy-0.02 {
				t.Errorf("accuracy %.3f, was %.3f", got.Accuracy, raw.Accuracy)
			}
		})
	}
}

// TestThresholdsHold draws rows 1,000 times and compares the error above the
// thresholds with the one that the distribution has.
func TestThresholdsHold(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	all := distort(truth(random, 50000, 3), func(p []float64) []float64 { return temper(p, 0.6) })
	sorted := byConfidence(all)
	errorAbove := func(confidence float64) float64 {
		n, _ := slices.BinarySearchFunc(sorted, confidence, func(o outcome, c float64) int {
			if o.confidence >= c {
				return -1
			}
			return 1
		})
		wrong := 0
		for _, o := range sorted[:n] {
			if !o.right {
				wrong++
			}
		}
		return float64(wrong) / float64(max(n, 1))
	}
	broken := map[float64]int{}
	given := map[float64]int{}
	const draws = 1000
	for range draws {
		rows := make([]Row, 500)
		for i := range rows {
			rows[i] = all[random.IntN(len(all))]
		}
		for _, threshold := range Thresholds(rows) {
			if threshold.Error != 0.05 && threshold.Error != 0.1 && threshold.Error != 0.2 {
				continue
			}
			given[threshold.Error]++
			if errorAbove(threshold.Confidence) > threshold.Error {
				broken[threshold.Error]++
			}
		}
	}
	if given[0.2] < draws/2 {
		t.Errorf("only %d thresholds for an error of 0.2", given[0.2])
	}
	for rate, n := range broken {
		if float64(n) > (1-certainty)*draws {
			t.Errorf("the error %v is exceeded in %d of %d draws", rate, n, draws)
		}
	}
	t.Logf("exceeded in %v of %d draws, given in %v", broken, draws, given)
}

func TestMeasure(t *testing.T) {
	rows := []Row{{[]float64{0.9, 0.1}, 0}, {[]float64{0.8, 0.2}, 1}, {[]float64{0.3, 0.7}, 1}, {[]float64{0.45, 0.55}, 0}}
	m, all := Measure(rows)
	want := Metrics{Accuracy: 0.5, OverGuess: 0, ECE: (0.1 + 0.8 + 0.3 + 0.55) / 4, Brier: (0.02 + 1.28 + 0.18 + 0.605) / 4,
		NLL: -(math.Log(0.9) + math.Log(0.2) + math.Log(0.7) + math.Log(0.45)) / 4, AUROC: 0.75}
	for _, pair := range [][2]float64{{m.Accuracy, want.Accuracy}, {m.OverGuess, want.OverGuess}, {m.ECE, want.ECE}, {m.Brier, want.Brier}, {m.NLL, want.NLL}, {m.AUROC, want.AUROC}} {
		if math.Abs(pair[0]-pair[1]) > 1e-9 {
			t.Errorf("got %+v, want %+v", m, want)
			break
		}
	}
	if len(all) != bins || all[9].Count != 1 || all[8].Count != 1 || all[7].Count != 1 || all[5].Right != 0 {
		t.Errorf("got %+v", all)
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
				if got := betaShare(float64(n-wrong), float64(wrong+1), 1-rate); math.Abs(got-want) > 1e-10 {
					t.Errorf("%d of %d at %v: got %v, want %v", wrong, n, rate, got, want)
				}
			}
		}
	}
}
