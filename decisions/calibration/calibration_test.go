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
