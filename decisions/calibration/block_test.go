package calibration_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/decisions/calibration"
)

// scores are distributions of scores: of good requests and of ones to be blocked.
var scores = map[string]func(r *rand.Rand, hit bool) float64{
	"well calibrated": func(r *rand.Rand, hit bool) float64 {
		if hit {
			return math.Sqrt(r.Float64())
		}
		return 1 - math.Sqrt(r.Float64())
	},
	"badly calibrated, far too sure": func(r *rand.Rand, hit bool) float64 {
		x := r.NormFloat64()*3 + 6
		if hit {
			x += 3
		}
		return 1 / (1 + math.Exp(-x))
	},
	"heavy tail": func(r *rand.Rand, hit bool) float64 {
		x := math.Pow(r.Float64(), -0.7)
		if hit {
			x *= 2
		}
		return x / (1 + x)
	},
	"few values": func(r *rand.Rand, hit bool) float64 {
		if hit {
			return float64(5+r.IntN(5)) / 10
		}
		return float64(r.IntN(8)) / 10
	},
	"useless": func(r *rand.Rand, _ bool) float64 { return r.Float64() },
}

func draw(r *rand.Rand, n int, score func(*rand.Rand, bool) float64) []calibration.Scored {
	rows := make([]calibration.Scored, n)
	for i := range rows {
		hit := i%5 == 0
		rows[i] = calibration.Scored{Score: score(r, hit), Hit: hit}
	}
	return rows
}

// TestFalseBlocksAreKept draws rows and held-out rows 1,000 times and counts how often
// the share of good ones that the threshold blocks is above its target.
func TestFalseBlocksAreKept(t *testing.T) {
	const resamples = 1000
	for name, score := range scores {
		for _, c := range []struct {
			rows, held int
			rate       float64
		}{{400, 400, 0.02}, {1000, 1000, 0.02}, {1000, 5000, 0.05}, {2000, 2000, 0.01}} {
			r := rand.New(rand.NewPCG(1, 2))
			over, blocked, sum := 0, 0.0, 0.0
			for range resamples {
				threshold, ok := calibration.BlockAbove(draw(r, c.rows, score), c.rate)
				if !ok {
					t.Fatalf("%s: no threshold for %v of %d rows", name, c.rate, c.rows)
				}
				good, bad, goodBlocked, badBlocked := 0.0, 0.0, 0.0, 0.0
				for _, row := range draw(r, c.held, score) {
					above := threshold.Exceeded(row.Score)
					if row.Hit {
						bad++
					} else {
						good++
					}
					switch {
					case above && row.Hit:
						badBlocked++
					case above:
						goodBlocked++
					}
				}
				share := goodBlocked / good
				if share > c.rate {
					over++
				}
				sum += share / resamples
				blocked += badBlocked / bad / resamples
			}
			t.Logf("%-32s %4d rows, target %.3f: mean %.4f, above in %.1f %% of resamples, %4.1f %% of the bad blocked",
				name, c.rows, c.rate, sum, float64(over)*100/resamples, blocked*100)
			if share := float64(over) / resamples; share > 0.05 {
				t.Errorf("%s, %d rows: the share of false blocks is above %v in %v of the resamples", name, c.rows, c.rate, share)
			}
		}
	}
}

// TestTooFewRowsHaveNoThreshold has as many rows without a hit as the smallest number
// that supports a rate, and one less.
func TestTooFewRowsHaveNoThreshold(t *testing.T) {
	for _, rate := range []float64{0.01, 0.02, 0.1} {
		is := is.New(t)
		n := calibration.FewestGood(rate)
		rows := make([]calibration.Scored, n)
		_, ok := calibration.BlockAbove(rows, rate)
		is.True(ok)
		rows[0].Hit = true
		_, ok = calibration.BlockAbove(rows, rate)
		is.True(!ok)
		t.Logf("%v takes %d good rows", rate, n)
	}
	for _, rate := range []float64{0, 1e-9, 1, -1, math.NaN()} {
		if _, ok := calibration.BlockAbove(make([]calibration.Scored, 1000), rate); ok {
			t.Errorf("there is a threshold for %v", rate)
		}
	}
}

// TestABlockCurveRises has thresholds that fall and shares that rise with the rate.
func TestABlockCurveRises(t *testing.T) {
	is := is.New(t)
	curve := calibration.BlockCurve(draw(rand.New(rand.NewPCG(1, 2)), 2000, scores["well calibrated"]))
	is.True(len(curve) > 5)
	for i := range curve[1:] {
		is.True(curve[i].FalseBlocks < curve[i+1].FalseBlocks)
		is.True(curve[i].Threshold.Score >= curve[i+1].Threshold.Score)
		is.True(curve[i].Blocked <= curve[i+1].Blocked)
	}
}

// TestAcceptedAnswersAreRight draws rows 1,000 times and counts how often too many of
// what is accepted are wrong.
func TestAcceptedAnswersAreRight(t *testing.T) {
	const resamples, rate = 1000, 0.2
	score := scores["well calibrated"]
	r := rand.New(rand.NewPCG(3, 4))
	half := func(n int) []calibration.Scored {
		rows := make([]calibration.Scored, n)
		for i := range rows {
			rows[i] = calibration.Scored{Score: score(r, i%2 == 0), Hit: i%2 == 0}
		}
		return rows
	}
	over, found := 0, 0
	for range resamples {
		threshold, ok := calibration.AcceptFrom(half(600), rate)
		if !ok {
			continue
		}
		found++
		accepted, wrong := 0.0, 0.0
		for _, row := range half(5000) {
			if threshold.Admits(row.Score) {
				accepted++
				if !row.Hit {
					wrong++
				}
			}
		}
		if wrong > rate*accepted {
			over++
		}
	}
	t.Logf("%d of %d resamples have a threshold, which exceeds the rate in %d", found, resamples, over)
	if found < resamples/2 || over > resamples/20 {
		t.Errorf("thresholds in %d of %d resamples, of which %d exceed the rate", found, resamples, over)
	}
	if _, ok := calibration.AcceptFrom(draw(r, 600, scores["useless"]), 0.01); ok {
		t.Error("a useless judge has a threshold")
	}
}
