// Package calibration makes probabilities mean what they say: it learns from rows
// with right answers how a model's probabilities have to be bent so that of all
// answers with a probability of p a share of p is right.
//
// [Choose] fits the ways there are to bend them and keeps the one that holds best
// on rows it was not fitted to; [Map.Apply] bends. [Measure] says how well
// probabilities hold, and [Thresholds] from which confidence on an error rate is
// kept. The package is statistics alone: it knows nothing of models or storage.
package calibration

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Row is one answer of a model and the right one.
type Row struct {
	P     []float64 // probabilities of the options, which sum to 1
	Right int       // the index of the right option
}

// Method is a way to bend probabilities.
type Method string

// The methods, the simplest first.
const (
	Raw         Method = "raw"         // leaves them as they are
	Temperature Method = "temperature" // divides all log-probabilities by one number
	Platt       Method = "platt"       // a line in the log odds
	Isotonic    Method = "isotonic"    // any curve that rises
)

// Map bends probabilities. Platt and isotonic maps bend the probability of the
// first of two options, and of more the largest, the others sharing what is left
// as before. The zero value leaves them as they are.
type Map struct {
	Method Method
	T      float64
	A      float64
	B      float64
	X      []float64 // isotonic: where the curve is given, rising
	Y      []float64
}

// tiny keeps logarithms finite.
const tiny = 1e-12

// Apply returns p bent. p is not changed; the result sums to 1.
func (m *Map) Apply(p []float64) []float64 {
	switch m.Method {
	case Temperature:
		return temper(p, m.T)
	case Platt:
		return bend(p, func(x float64) float64 { return sigmoid(m.A*logit(x) + m.B) })
	case Isotonic:
		return bend(p, m.curve)
	}
	return slices.Clone(p)
}

// ApplyAll returns rows with the map applied to each.
func (m *Map) ApplyAll(rows []Row) []Row {
	fitted := slices.Clone(rows)
	for i := range fitted {
		fitted[i].P = m.Apply(fitted[i].P)
	}
	return fitted
}

func temper(p []float64, t float64) []float64 {
	q, sum := make([]float64, len(p)), 0.0
	for i, x := range p {
		q[i] = math.Pow(max(x, tiny), 1/t)
		sum += q[i]
	}
	for i := range q {
		q[i] /= sum
	}
	return q
}

// bend replaces the probability that a curve is about. The most likely of more
// than two options stays the most likely.
func bend(p []float64, curve func(float64) float64) []float64 {
	at := subject(p)
	x := curve(p[at])
	rest := 1 - p[at]
	if len(p) > 2 {
		second := 0.0
		for i, y := range p {
			if i != at {
				second = max(second, y)
			}
		}
		share := 1 / float64(len(p)-1)
		if rest > tiny {
			share = second / rest
		}
		x = max(x, share/(1+share))
	}
	q := make([]float64, len(p))
	for i, y := range p {
		switch {
		case i == at:
			q[i] = x
		case rest > tiny:
			q[i] = y / rest * (1 - x)
		default:
			q[i] = (1 - x) / float64(len(p)-1)
		}
	}
	return q
}

// subject is the option whose probability a curve bends.
func subject(p []float64) int {
	if len(p) == 2 {
		return 0
	}
	return likeliest(p)
}

func likeliest(p []float64) int {
	best := 0
	for i, x := range p {
		if x > p[best] {
			best = i
		}
	}
	return best
}

func logit(x float64) float64 {
	x = min(max(x, tiny), 1-tiny)
	return math.Log(x / (1 - x))
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// curve returns the value of an isotonic map, in between those given on a line.
func (m *Map) curve(x float64) float64 {
	if len(m.X) == 0 {
		return x
	}
	i, _ := slices.BinarySearch(m.X, x)
	switch {
	case i == 0:
		return m.Y[0]
	case i == len(m.X):
		return m.Y[i-1]
	}
	along := (x - m.X[i-1]) / (m.X[i] - m.X[i-1])
	return m.Y[i-1] + along*(m.Y[i]-m.Y[i-1])
}

// folds is into how many parts rows are divided to choose a method.
const folds = 5

// MinRows is how many rows a calibration takes at least.
const MinRows = 4 * folds

// Choose returns the map that gave the right answers the most probability on rows
// that it was not fitted to, fitted to all rows, and the probabilities that maps of
// its method gave to the rows they were not fitted to. There are at least [MinRows]
// rows, all with the same number of options, in any order: which of them a map is
// not fitted to is drawn, the same each time. A simpler method is kept unless
// another is better by more than chance explains.
func Choose(rows []Row) (Map, [][]float64) {
	best, bestLoss := Map{Method: Raw}, []float64(nil)
	var bestHeld [][]float64
	place := rand.New(rand.NewPCG(1, uint64(len(rows)))).Perm(len(rows))
	for _, method := range []Method{Raw, Temperature, Platt, Isotonic} {
		held, losses := make([][]float64, len(rows)), make([]float64, len(rows))
		for fold := range folds {
			var others []Row
			for i, row := range rows {
				if place[i]%folds != fold {
					others = append(others, row)
				}
			}
			m := fit(method, others)
			for i := range rows {
				if place[i]%folds == fold {
					held[i] = m.Apply(rows[i].P)
					losses[i] = -math.Log(max(held[i][rows[i].Right], tiny))
				}
			}
		}
		if bestLoss == nil || better(losses, bestLoss) {
			best, bestLoss, bestHeld = Map{Method: method}, losses, held
		}
	}
	return fit(best.Method, rows), bestHeld
}

// better reports whether losses are lower than others by more than a standard
// error of the difference.
func better(losses, others []float64) bool {
	n := float64(len(losses))
	mean, square := 0.0, 0.0
	for i := range losses {
		d := others[i] - losses[i]
		mean += d / n
		square += d * d / n
	}
	return mean > math.Sqrt(max(square-mean*mean, 0)/n)
}

func fit(method Method, rows []Row) Map {
	m := Map{Method: method}
	switch method {
	case Temperature:
		m.T = coolest(rows)
	case Platt:
		m.A, m.B = line(rows)
	case Isotonic:
		m.X, m.Y = rising(rows)
	}
	return m
}

func loss(rows []Row, change func([]float64) []float64) float64 {
	sum := 0.0
	for _, row := range rows {
		sum -= math.Log(max(change(row.P)[row.Right], tiny))
	}
	return sum
}

// coolest returns the temperature that gives the right answers the most
// probability, by golden sections of its logarithm.
func coolest(rows []Row) float64 {
	const most, steps = 4.0, 50 // e⁴ is nearly no difference between options
	golden := (math.Sqrt(5) - 1) / 2
	at := func(x float64) float64 {
		return x*x/2 + loss(rows, func(p []float64) []float64 { return temper(p, math.Exp(x)) }) // a little against what few rows cannot show
	}
	low, high := -most, most
	a, b := high-golden*(high-low), low+golden*(high-low)
	fa, fb := at(a), at(b)
	for range steps {
		if fa < fb {
			high, b, fb = b, a, fa
			a = high - golden*(high-low)
			fa = at(a)
		} else {
			low, a, fa = a, b, fb
			b = low + golden*(high-low)
			fb = at(b)
		}
	}
	return math.Exp((low + high) / 2)
}

// line returns the line in the log odds that gives the right answers the most
// probability, by Newton's steps from the one that changes nothing. A little is
// taken off for every step away from that: no line becomes infinitely steep.
func line(rows []Row) (a, b float64) {
	const steps, ridge = 50, 0.1
	a = 1
	for range steps {
		ga, gb := ridge*(a-1), ridge*b
		haa, hab, hbb := ridge, 0.0, ridge
		for _, row := range rows {
			at := subject(row.P)
			x := logit(row.P[at])
			q := sigmoid(a*x + b)
			wrong := q
			if row.Right == at {
				wrong = q - 1
			}
			ga, gb = ga+wrong*x, gb+wrong
			w := q * (1 - q)
			haa, hab, hbb = haa+w*x*x, hab+w*x, hbb+w
		}
		det := haa*hbb - hab*hab
		da, db := (hbb*ga-hab*gb)/det, (haa*gb-hab*ga)/det
		if scale := max(math.Abs(da), math.Abs(db)); scale > 1 { // far off, the parabola is not to be trusted
			da, db = da/scale, db/scale
		}
		a, b = a-da, b-db
	}
	return max(a, 0), b
}

// rising fits the curve that rises and is nearest to the rows, by pooling
// neighbours that fall. Each pool has half a right and half a wrong row more than
// it has, so that nothing is certain.
func rising(rows []Row) (x, y []float64) {
	type pool struct{ from, to, right, count float64 }
	sorted := make([]pool, len(rows))
	for i, row := range rows {
		at := subject(row.P)
		sorted[i] = pool{from: row.P[at], to: row.P[at], count: 1}
		if row.Right == at {
			sorted[i].right = 1
		}
	}
	slices.SortFunc(sorted, func(a, b pool) int { return compare(a.from, b.from) })
	mean := func(p pool) float64 { return (p.right + 0.5) / (p.count + 1) }
	var pools []pool
	for _, p := range sorted {
		for len(pools) > 0 && (pools[len(pools)-1].to == p.from || pools[len(pools)-1].right*p.count >= p.right*pools[len(pools)-1].count) {
			before := pools[len(pools)-1]
			p = pool{before.from, p.to, before.right + p.right, before.count + p.count}
			pools = pools[:len(pools)-1]
		}
		pools = append(pools, p)
	}
	for _, p := range pools {
		value := mean(p)
		if n := len(y); n > 0 {
			value = max(value, y[n-1])
		}
		x, y = append(x, p.from), append(y, value)
		if p.to > p.from {
			x, y = append(x, p.to), append(y, value)
		}
	}
	return x, y
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
