package calibration

import (
	"math"
	"slices"
)

// Threshold is a confidence that keeps an error rate: with a probability of 95 %
// over the rows that it was learned from, at most a share Error of all answers with
// at least that confidence is wrong. [Threshold.Admits] compares.
type Threshold struct {
	Error      float64 `json:"error"`
	Confidence float64 `json:"confidence"`
	Coverage   float64 `json:"coverage"` // share of the rows with at least that confidence
}

// Admits reports whether an answer is confident enough.
func (t Threshold) Admits(confidence float64) bool {
	return confidence >= t.Confidence || Tied(confidence, t.Confidence)
}

// Tied reports whether two confidences are the same but for the rounding of
// floating-point arithmetic.
func Tied(a, b float64) bool { return math.Abs(a-b) <= 1e-9 }

// Errors are the error rates that thresholds are given for.
var Errors = []float64{0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5}

const (
	// significance is the probability that a threshold does not keep its error rate.
	significance = 0.05
	// cuts is how many thresholds are tested for each error rate.
	cuts = 10
)

// starts are the cuts at which sequences of tests begin.
var starts = [...]int{0, 3, 6}

// Thresholds returns a threshold for each of [Errors] that the rows support. The
// probabilities are those of the model, before calibration: a map that is fitted to
// the same rows would depend on what it is tested with.
//
// It is Learn then Test (Angelopoulos et al., 2021): the candidates are the deciles
// of the confidence, and each is tested with the exact binomial tail. Three
// sequences of tests, fixed before their outcome, share the significance. Each
// begins at another decile, goes on to less confident ones, and ends at the first
// test that fails.
func Thresholds(rows []Row) []Threshold {
	sorted := byConfidence(rows)
	wrong := wrongAmong(sorted)
	candidates := candidates(sorted)
	found := []Threshold{}
	for _, rate := range Errors {
		if n := lowest(candidates, wrong, rate); n > 0 {
			found = append(found, Threshold{rate, sorted[n-1].confidence, float64(n) / float64(len(sorted))})
		}
	}
	return found
}

// wrongAmong returns how many of the most confident rows are wrong, by their number.
func wrongAmong(sorted []outcome) []int {
	wrong := make([]int, len(sorted)+1)
	for i, o := range sorted {
		if wrong[i+1] = wrong[i]; !o.right {
			wrong[i+1]++
		}
	}
	return wrong
}

// candidates returns how many of the most confident rows each candidate admits,
// rising. Rows with the same confidence are admitted together.
func candidates(sorted []outcome) []int {
	var all []int
	for i := 1; i <= cuts; i++ {
		n := i * len(sorted) / cuts
		for n > 0 && n < len(sorted) && Tied(sorted[n].confidence, sorted[n-1].confidence) {
			n++
		}
		if len(all) == 0 && n > 0 || len(all) > 0 && n > all[len(all)-1] {
			all = append(all, n)
		}
	}
	return all
}

// lowest returns how many rows the lowest threshold that passed its test admits, 0
// if none did.
func lowest(candidates, wrong []int, rate float64) int {
	const level = significance / float64(len(starts))
	// Fewer rows fail the test even if all are right.
	enough := int(math.Ceil(math.Log(level) / math.Log(1-rate)))
	first, _ := slices.BinarySearch(candidates, enough)
	most := 0
	for _, start := range starts {
		for _, n := range candidates[min(max(start, first), len(candidates)):] {
			if tail(wrong[n], n, rate) > level {
				break
			}
			most = max(most, n)
		}
	}
	return most
}

// tail returns the probability that at most wrong of n answers are wrong where each
// is wrong with the probability rate.
func tail(wrong, n int, rate float64) float64 {
	if wrong >= n {
		return 1
	}
	return betaShare(float64(n-wrong), float64(wrong+1), 1-rate)
}

// betaShare is the regularized incomplete beta function: the share of a beta
// distribution that lies below x, computed by its continued fraction.
func betaShare(a, b, x float64) float64 {
	if x <= 0 || x >= 1 {
		return min(max(x, 0), 1)
	}
	if x > (a+1)/(a+b+2) { // the fraction of the other side converges faster here
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
