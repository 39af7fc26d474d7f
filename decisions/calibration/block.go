package calibration

import (
	"math"
	"slices"
)

// Scored is a row as a yes/no filter sees it: the score that a model gave it, and
// whether it is of the kind that the filter looks for.
type Scored struct {
	Score float64
	Hit   bool
}

// ScoresOf returns the probability that each row's model gave an option, and whether
// that option is right.
func ScoresOf(rows []Row, option int) []Scored {
	scored := make([]Scored, len(rows))
	for i, row := range rows {
		scored[i] = Scored{row.P[option], row.Right == option}
	}
	return scored
}

// Above is a threshold on a score. What exceeds it is blocked.
type Above struct{ Score float64 }

// Exceeded reports whether a score is above the threshold.
func (a Above) Exceeded(score float64) bool { return score > a.Score && !Tied(score, a.Score) }

// BlockAbove returns the lowest threshold that keeps a rate of false blocks, whatever
// the distribution of the scores and however badly they are calibrated: with a
// certainty of 95 % over the rows, at most a share rate of the rows that are no hits
// is above it, both of all there may ever be and of as many as the rows have or more.
// ok is false where there are too few rows for that.
//
// The threshold is the score of one of the rows without a hit, of which j are above
// it. The share of all others above it is distributed as Beta(j+1, n-j) at the most,
// and the number above it among m others as that Beta's mixture of binomials. The
// largest j is taken for which both exceed the rate in 5 % of all cases.
func BlockAbove(rows []Scored, rate float64) (threshold Above, ok bool) {
	scores := goodScores(rows)
	j := mostAbove(len(scores), rate)
	if j < 0 {
		return Above{}, false
	}
	return Above{scores[len(scores)-1-j]}, true
}

// LeastFalseBlocks is the lowest rate of false blocks that a threshold can be asked to
// keep.
const LeastFalseBlocks = 0.001

// FewestGood returns how many rows without a hit a threshold takes that keeps a rate of
// false blocks, [LeastFalseBlocks] or more.
func FewestGood(rate float64) int {
	n := int(math.Log(significance) / math.Log(1-rate))
	for !keepsRate(n, 0, rate) {
		n++
	}
	return n
}

// searchInts is the smallest n below most for which fits is true, most where none is.
func searchInts(most int, fits func(int) bool) int {
	low := 0
	for low < most {
		middle := (low + most) / 2
		if fits(middle) {
			most = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// goodScores are the scores of rows without a hit, rising.
func goodScores(rows []Scored) []float64 {
	var scores []float64
	for _, row := range rows {
		if !row.Hit {
			scores = append(scores, row.Score)
		}
	}
	slices.Sort(scores)
	return scores
}

// mostAbove returns how many of n rows may be above a threshold that keeps a rate, -1
// where not even none may.
func mostAbove(n int, rate float64) int {
	if n == 0 || !(rate >= LeastFalseBlocks && rate < 1) {
		return -1
	}
	return searchInts(n, func(j int) bool { return !keepsRate(n, j, rate) }) - 1
}

// keepsRate reports whether a threshold with j of n rows above it keeps a rate.
func keepsRate(n, j int, rate float64) bool {
	return tail(j, n, rate) <= significance && exceeds(n, j, rate) <= significance
}

// exceeds returns the probability that of n more rows a larger share than rate is
// above the threshold that j of n rows are above.
func exceeds(n, j int, rate float64) float64 {
	a, b, m := float64(j+1), float64(n-j), float64(n)
	most := math.Floor(rate*m + 1e-9)
	within := 0.0
	for k := 0.0; k <= most; k++ {
		within += math.Exp(logChoose(m, k) + logBeta(k+a, m-k+b) - logBeta(a, b))
	}
	return 1 - within
}

func logBeta(a, b float64) float64 {
	x, _ := math.Lgamma(a)
	y, _ := math.Lgamma(b)
	z, _ := math.Lgamma(a + b)
	return x + y - z
}

func logChoose(n, k float64) float64 { return -math.Log(n+1) - logBeta(n-k+1, k+1) }

// BlockPoint is what a threshold for a rate of false blocks does.
type BlockPoint struct {
	FalseBlocks float64 // the rate that it keeps
	Threshold   Above
	Blocked     float64 // share of the hits among the rows that are above it
}

// BlockRates are the rates of false blocks that a curve has points for.
var BlockRates = []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5}

// BlockCurve returns a point for each of [BlockRates] that the rows support.
func BlockCurve(rows []Scored) []BlockPoint {
	hits := 0.0
	for _, row := range rows {
		if row.Hit {
			hits++
		}
	}
	points := []BlockPoint{}
	for _, rate := range BlockRates {
		threshold, ok := BlockAbove(rows, rate)
		if !ok {
			continue
		}
		p := BlockPoint{FalseBlocks: rate, Threshold: threshold}
		for _, row := range rows {
			if row.Hit && threshold.Exceeded(row.Score) {
				p.Blocked += 1 / hits
			}
		}
		points = append(points, p)
	}
	return points
}

// AcceptFrom returns the lowest score from which on, with a certainty of 95 % over the
// rows, at most a share rate of what is accepted is no hit. It is tested as
// [Thresholds] are. ok is false where no score keeps the rate.
func AcceptFrom(rows []Scored, rate float64) (threshold Threshold, ok bool) {
	sorted := make([]outcome, len(rows))
	for i, row := range rows {
		sorted[i] = outcome{row.Score, row.Hit}
	}
	slices.SortFunc(sorted, func(a, b outcome) int { return compare(b.confidence, a.confidence) })
	n := lowest(candidates(sorted), wrongAmong(sorted), rate)
	if n == 0 {
		return Threshold{}, false
	}
	return Threshold{rate, sorted[n-1].confidence, float64(n) / float64(len(sorted))}, true
}
