package decisions

import (
	"math"
	"slices"

	"github.com/seed-506d8e5d/svc/model"
)

// leastShare is the mass of a label that was not shown though nothing is said
// to be hidden, before normalization: less than the rounding of log-probabilities
// in 32 bits can tell from nothing, and not nothing.
const leastShare = 1e-9

// leastMass is what a shown label has at least, unless it has nothing. A mass so
// small that half of it is 0 would leave labels that were not shown without any.
const leastMass = 1e-300

// distribution returns the probabilities of the options of one call, in its
// order. They are finite, 0 to 1, and sum to 1.
//
// Labels that were not shown share the hidden mass evenly, each getting at most
// what the least likely shown label has: a server shows the likeliest tokens, so
// that one which is not shown is no likelier than one which is. What is left
// over lies on tokens that are no label. Where nothing is known of any option
// all are as likely.
func distribution(s *model.Scores) []float64 {
	p := make([]float64, len(s.Probabilities))
	missing, least := 0, math.Inf(1)
	for i, mass := range s.Probabilities {
		if math.IsNaN(mass) {
			missing++
			continue
		}
		p[i] = clamp(mass)
		if p[i] > 0 {
			p[i] = max(p[i], leastMass)
			least = min(least, p[i])
		}
	}
	if math.IsInf(least, 1) {
		return uniform(p)
	}
	share := 0.0
	if missing > 0 {
		share = min(max(clamp(s.Hidden)/float64(missing), leastShare), least)
	}
	for i, mass := range s.Probabilities {
		if math.IsNaN(mass) {
			p[i] = share
		}
	}
	return normalize(p)
}

// clamp returns the nearest number from 0 to 1; NaN is 0.
func clamp(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(x, 1)
}

// normalize scales p, which has a positive element, to sum to 1.
func normalize(p []float64) []float64 {
	sum := 0.0
	for _, x := range p {
		sum += x
	}
	for i := range p {
		p[i] = clamp(p[i] / sum)
	}
	return p
}

func uniform(p []float64) []float64 {
	for i := range p {
		p[i] = 1 / float64(len(p))
	}
	return p
}

// logOf returns the logarithm of a probability, of no less than leastMass.
func logOf(p float64) float64 { return math.Log(max(p, leastMass)) }

// softmax returns the probabilities with these logarithms, up to a common term.
func softmax(logs []float64) []float64 {
	most := slices.Max(logs)
	p := make([]float64, len(logs))
	for i, x := range logs {
		p[i] = math.Exp(x - most)
	}
	return normalize(p)
}

// skipBelow is the mass under which a group is not asked about: its options
// share the mass evenly. One of [MaxOptions] options has at least 1/255, so an
// option in such a group is never the most likely one.
const skipBelow = 1.0 / (MaxOptions + 1)

// combine returns P(option) = P(group) × P(option | group) for all options in
// order. within holds each group's own distribution, or nil for a group that
// was skipped; sizes are the numbers of their options.
func combine(groups []float64, within [][]float64, sizes []int) []float64 {
	var p []float64
	for g, mass := range groups {
		if within[g] == nil {
			within[g] = uniform(make([]float64, sizes[g]))
		}
		for _, x := range within[g] {
			p = append(p, mass*x)
		}
	}
	return normalize(p)
}

// likeliest returns the index of the largest probability, the first of several.
func likeliest(p []float64) int {
	best := 0
	for i, x := range p {
		if x > p[best] {
			best = i
		}
	}
	return best
}

// expectation returns the mean of the indices under p.
func expectation(p []float64) float64 {
	mean := 0.0
	for i, x := range p {
		mean += float64(i) * x
	}
	return min(mean, float64(len(p)-1))
}
