package calibration

import (
	"math"
	"slices"
)

// Metrics say how good probabilities are.
type Metrics struct {
	Accuracy  float64
	OverGuess float64 // accuracy, 0 being that of guessing and 1 being always right
	ECE       float64 // mean distance of confidence and accuracy over bins
	Brier     float64 // squared distance to the right answer, over all options
	NLL       float64 // mean negative logarithm of the right answer's probability
	AUROC     float64 // how well confidence tells right from wrong; 0.5 where all are one of them
}

// Bin is a part of the range of confidence.
type Bin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int     `json:"count"`
	Mean  float64 `json:"mean"`  // confidence of its rows
	Right float64 `json:"right"` // share of its rows that are right
}

// bins is how many bins there are.
const bins = 10

// Measure returns the metrics of rows and their bins of equal width. There is at
// least one row.
func Measure(rows []Row) (Metrics, []Bin) {
	n := float64(len(rows))
	var m Metrics
	all := make([]Bin, bins)
	for i := range all {
		all[i].From, all[i].To = float64(i)/bins, float64(i+1)/bins
	}
	chance := 0.0
	for _, row := range rows {
		top := likeliest(row.P)
		bin := &all[min(int(row.P[top]*bins), bins-1)]
		bin.Count++
		bin.Mean += row.P[top]
		if top == row.Right {
			bin.Right++
			m.Accuracy++
		}
		for i, p := range row.P {
			d := p
			if i == row.Right {
				d = 1 - p
			}
			m.Brier += d * d / n
		}
		m.NLL -= math.Log(max(row.P[row.Right], tiny)) / n
		chance += 1 / float64(len(row.P))
	}
	for i := range all {
		if all[i].Count > 0 {
			m.ECE += math.Abs(all[i].Mean-all[i].Right) / n
			all[i].Mean /= float64(all[i].Count)
			all[i].Right /= float64(all[i].Count)
		}
	}
	m.Accuracy /= n
	chance /= n
	m.OverGuess = (m.Accuracy - chance) / (1 - chance)
	m.AUROC = auroc(rows)
	return m, all
}

// auroc is the probability that a right answer is more confident than a wrong
// one.
func auroc(rows []Row) float64 {
	sorted := byConfidence(rows)
	right, wrong, above := 0.0, 0.0, 0.0
	for i := 0; i < len(sorted); {
		j, r, w := i, 0.0, 0.0
		for ; j < len(sorted) && Tied(sorted[j].confidence, sorted[i].confidence); j++ {
			if sorted[j].right {
				r++
			} else {
				w++
			}
		}
		above += w*right + w*r/2 // the more confident come first
		right, wrong, i = right+r, wrong+w, j
	}
	if right == 0 || wrong == 0 {
		return 0.5
	}
	return above / (right * wrong)
}

type outcome struct {
	confidence float64
	right      bool
}

// byConfidence returns the confidence of each row and whether it is right, the
// most confident first.
func byConfidence(rows []Row) []outcome {
	sorted := make([]outcome, len(rows))
	for i, row := range rows {
		top := likeliest(row.P)
		sorted[i] = outcome{row.P[top], top == row.Right}
	}
	slices.SortStableFunc(sorted, func(a, b outcome) int { return compare(b.confidence, a.confidence) })
	return sorted
}
