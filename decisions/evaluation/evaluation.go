// Package evaluation says how good models decide, from cases with known answers,
// and how sure that is. [Compare] computes the metrics of each model and the
// differences between models, with bootstrap intervals: the same cases are drawn
// for all models, so that a difference is not drowned in what they share.
//
// Package decisions/calibration has the metrics of probabilities themselves.
package evaluation

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-506d8e5d/svc/decisions/calibration"
)

// Case is a model's answer to a question whose right answer is known.
type Case struct {
	Row     calibration.Row
	Flipped float64 // 1 where another order of the options gave another answer, else 0; NaN where only one was asked
	Cost    float64 // in dollars
	Latency float64 // in seconds
}

// Metrics are the names of what is computed, in the order of [Result.Metrics].
var Metrics = []string{"accuracy", "chance-corrected", "ECE", "Brier", "NLL", "AUROC", "coverage at 5 % error", "flips by order", "cost per 1,000 rows, $", "latency, s"}

// TargetError is the error rate that coverage is computed for.
const TargetError = 0.05

// draws is how many samples an interval comes from, and outside the share of them
// that is left out at each end.
const (
	draws   = 1000
	outside = 0.025
)

// Interval is a value and the range in which it is with 95 % confidence. A value
// that cannot be computed is NaN, and so are its bounds.
type Interval struct{ Value, Low, High float64 }

// Result is how one model does. Metrics are in the order of [Metrics].
type Result struct {
	Metrics []Interval
	Bins    []calibration.Bin
}

// Difference is what the metrics of the model Than are more than those of the
// model Model; both are indices.
type Difference struct {
	Model, Than int
	Metrics     []Interval
}

// Compare computes the metrics of models from their cases. All models have the
// same cases in the same order, at least one. The same arguments give the same
// result.
func Compare(models [][]Case) ([]Result, []Difference) {
	n := len(models[0])
	random := rand.New(rand.NewPCG(1, uint64(n)))
	samples := make([][][]float64, len(models)) // of each model, metrics by draw
	drawn, picked := make([]int, n), make([]Case, n)
	for range draws {
		for i := range drawn {
			drawn[i] = random.IntN(n)
		}
		for m, cases := range models {
			for i, at := range drawn {
				picked[i] = cases[at]
			}
			samples[m] = append(samples[m], values(picked))
		}
	}
	results := make([]Result, len(models))
	all := make([][]float64, len(models))
	for m, cases := range models {
		all[m] = values(cases)
		_, results[m].Bins = calibration.Measure(rows(cases))
		results[m].Metrics = intervals(all[m], samples[m])
	}
	var differences []Difference
	for a := range models {
		for b := a + 1; b < len(models); b++ {
			between := make([][]float64, draws)
			for i := range between {
				between[i] = minus(samples[b][i], samples[a][i])
			}
			differences = append(differences, Difference{a, b, intervals(minus(all[b], all[a]), between)})
		}
	}
	return results, differences
}

func rows(cases []Case) []calibration.Row {
	all := make([]calibration.Row, len(cases))
	for i, c := range cases {
		all[i] = c.Row
	}
	return all
}

// values returns the metrics of cases.
func values(cases []Case) []float64 {
	all := rows(cases)
	m, _ := calibration.Measure(all)
	var flips, cost, latency float64
	for _, c := range cases {
		flips, cost, latency = flips+c.Flipped, cost+c.Cost, latency+c.Latency
	}
	n := float64(len(cases))
	return []float64{m.Accuracy, m.OverGuess, m.ECE, m.Brier, m.NLL, m.AUROC, coverage(all, TargetError), flips / n, 1000 * cost / n, latency / n}
}

// Confusion counts the answers to cases with that many options: the first index is
// the right one, the second the likeliest.
func Confusion(cases []Case, options int) [][]int {
	counts := make([][]int, options)
	for i := range counts {
		counts[i] = make([]int, options)
	}
	for _, c := range cases {
		counts[c.Row.Right][likeliest(c.Row.P)]++
	}
	return counts
}

// Errors returns the indices of at most n cases whose likeliest answer is wrong, the
// most confident first.
func Errors(cases []Case, n int) []int {
	var wrong []int
	for i, c := range cases {
		if likeliest(c.Row.P) != c.Row.Right {
			wrong = append(wrong, i)
		}
	}
	slices.SortStableFunc(wrong, func(a, b int) int {
		return cmp.Compare(slices.Max(cases[b].Row.P), slices.Max(cases[a].Row.P))
	})
	return wrong[:min(n, len(wrong))]
}

func likeliest(p []float64) int { return slices.Index(p, slices.Max(p)) }

// coverage returns the largest share of the rows, the most confident ones, of
// which no larger share than rate is wrong. Rows of one confidence are not parted.
func coverage(all []calibration.Row, rate float64) float64 {
	type outcome struct{ confidence, wrong float64 }
	sorted := make([]outcome, len(all))
	for i, row := range all {
		top := likeliest(row.P)
		sorted[i].confidence = row.P[top]
		if top != row.Right {
			sorted[i].wrong = 1
		}
	}
	slices.SortFunc(sorted, func(a, b outcome) int { return cmp.Compare(b.confidence, a.confidence) })
	wrong, covered := 0.0, 0
	for i, o := range sorted {
		wrong += o.wrong
		last := i+1 == len(sorted) || !calibration.Tied(sorted[i+1].confidence, o.confidence)
		if last && wrong <= rate*float64(i+1) {
			covered = i + 1
		}
	}
	return float64(covered) / float64(len(all))
}

func minus(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range d {
		d[i] = a[i] - b[i]
	}
	return d
}

// intervals returns the values with the range that the samples of each have.
func intervals(value []float64, samples [][]float64) []Interval {
	all := make([]Interval, len(value))
	column := make([]float64, len(samples))
	for i, v := range value {
		for j, sample := range samples {
			column[j] = sample[i]
		}
		all[i] = Interval{v, math.NaN(), math.NaN()}
		if math.IsNaN(v) {
			continue
		}
		slices.Sort(column)
		all[i].Low, all[i].High = quantile(column, outside), quantile(column, 1-outside)
	}
	return all
}

// quantile returns the value below which a share q of sorted values is, between
// two of them in proportion.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
