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
		for ; j < len(sorted) && sorted[j].confidence == sorted[i].confidence; j++ {
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

// Threshold is the least confidence of answers of which, with a certainty of 95
// %, no larger share than Error is wrong.
type Threshold struct {
	Error      float64 `json:"error"`
	Confidence float64 `json:"confidence"`
	Coverage   float64 `json:"coverage"` // share of the rows with at least that confidence
}

// certainty is that of a [Threshold].
const certainty = 0.95

// Errors are the error rates that thresholds are given for.
var Errors = []float64{0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5}

// Thresholds returns a threshold for each of [Errors] for which the rows are
// enough. Rows are taken in from the most confident on, and for each of them the
// exact binomial bound on the error so far has to hold, beginning where there are
// enough rows for it to hold at all: a sequence of tests that is fixed before
// their outcome, so that looking at many costs no certainty.
func Thresholds(rows []Row) []Threshold {
	sorted := byConfidence(rows)
	found := []Threshold{}
	for _, rate := range Errors {
		first := int(math.Ceil(math.Log(1-certainty) / math.Log(1-rate)))
		wrong, last := 0, 0
		for i, o := range sorted {
			if !o.right {
				wrong++
			}
			if n := i + 1; n >= first {
				if !holds(wrong, n, rate) {
					break
				}
				last = n
			}
		}
		// A threshold does not part rows of one confidence.
		for last > 0 && last < len(sorted) && sorted[last].confidence == sorted[last-1].confidence {
			last--
		}
		if last >= first {
			found = append(found, Threshold{rate, sorted[last-1].confidence, float64(last) / float64(len(sorted))})
		}
	}
	return found
}

// holds reports whether an error rate as high as rate would nearly never show so
// few as wrong of n: in at most 1 of 20 times. It is the exact binomial tail.
func holds(wrong, n int, rate float64) bool {
	return wrong < n && betaShare(float64(n-wrong), float64(wrong+1), 1-rate) <= 1-certainty
}

// betaShare is the regularized incomplete beta function of x: the share of a beta
// distribution below x, by its continued fraction.
func betaShare(a, b, x float64) float64 {
	if x <= 0 || x >= 1 {
		return min(max(x, 0), 1)
	}
	if x > (a+1)/(a+b+2) { // where the fraction of the other side converges faster
		return 1 - betaShare(b, a, 1-x)
	}
	all, _ := math.Lgamma(a + b)
	one, _ := math.Lgamma(a)
	other, _ := math.Lgamma(b)
	front := math.Exp(all-one-other+a*math.Log(x)+b*math.Log(1-x)) / a
	const most, close, small = 10_000, 1e-14, 1e-300
	c, d := 1.0, 1/max(1-(a+b)*x/(a+1), small)
	sum := d
	for m := 1.0; m < most; m++ {
		for _, term := range [2]float64{
			m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m)),
			-(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1)),
		} {
			d, c = 1+term*d, 1+term/c
			if math.Abs(d) < small {
				d = small
			}
			if math.Abs(c) < small {
				c = small
			}
			d = 1 / d
			sum *= d * c
		}
		if math.Abs(d*c-1) < close {
			break
		}
	}
	return front * sum
}
