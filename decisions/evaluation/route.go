package evaluation

import (
	"slices"
	"strconv"

	"github.com/seed-506d8e5d/svc/decisions/calibration"
)

// Routed is a row of a cascade of two models: how sure the judge was that the answer of
// the cheap one is right, and which of them was.
type Routed struct {
	Score         float64
	Cheap, Strong bool
}

// RoutePoint is what a cascade does from a threshold on.
type RoutePoint struct {
	Threshold float64 // what is below is asked of the strong model
	Strong    float64 // share of the rows that the strong model answers
	Accuracy  float64 // share of all rows that are answered rightly
	Random    float64 // the accuracy of sending as large a share to the strong model at random
	Error     float64 // of a guaranteed point: the share of accepted answers that may be wrong; 0 of others
}

// From returns the threshold as a text.
func (p RoutePoint) From() string {
	if p.Threshold > 1 {
		return "none"
	}
	return strconv.FormatFloat(p.Threshold, 'f', 3, 64)
}

// maxRoutePoints is how many points a curve has at most, guaranteed ones apart.
const maxRoutePoints = 21

// RouteCurve returns what a cascade does at thresholds, from one that accepts everything to
// one that accepts nothing, and the guaranteed point of each of [calibration.Errors] that the
// rows support.
func RouteCurve(rows []Routed) (curve, guaranteed []RoutePoint) {
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b Routed) int { // the most certain first
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	})
	n := len(sorted)
	right := make([]int, n+1) // answers that are right where so many rows are accepted
	cheap, strong := 0, 0
	for _, row := range sorted {
		cheap, strong = cheap+one(row.Cheap), strong+one(row.Strong)
	}
	right[0] = strong
	for i, row := range sorted {
		right[i+1] = right[i] + one(row.Cheap) - one(row.Strong)
	}
	point := func(accepted int) RoutePoint {
		p := RoutePoint{Threshold: 2, Strong: 1 - float64(accepted)/float64(n), Accuracy: float64(right[accepted]) / float64(n)} // 2 accepts nothing
		if accepted > 0 {
			p.Threshold = sorted[accepted-1].Score
		}
		p.Random = (p.Strong*float64(strong) + (1-p.Strong)*float64(cheap)) / float64(n)
		return p
	}
	for i := range maxRoutePoints {
		accepted := n - i*n/(maxRoutePoints-1)
		for accepted > 0 && accepted < n && calibration.Tied(sorted[accepted].Score, sorted[accepted-1].Score) {
			accepted++
		}
		if p := point(accepted); len(curve) == 0 || curve[len(curve)-1].Strong != p.Strong {
			curve = append(curve, p)
		}
	}
	scored := make([]calibration.Scored, n)
	for i, row := range rows {
		scored[i] = calibration.Scored{Score: row.Score, Hit: row.Cheap}
	}
	for _, rate := range calibration.Errors {
		if t, ok := calibration.AcceptFrom(scored, rate); ok {
			accepted := 0
			for accepted < n && t.Admits(sorted[accepted].Score) {
				accepted++
			}
			p := point(accepted)
			p.Threshold, p.Error = t.Confidence, rate
			guaranteed = append(guaranteed, p)
		}
	}
	return curve, guaranteed
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
