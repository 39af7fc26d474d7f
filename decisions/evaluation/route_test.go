package evaluation_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/seed-506d8e5d/svc/decisions/evaluation"
)

// TestACascadeIsNoWorseThanChance draws tables of what two models got right, with a judge
// that knows something and with one that knows nothing. At no threshold is the cascade
// worse than sending as large a share to the strong model at random, within the noise of
// the table.
//
//	go test ./decisions/evaluation -run TestACascade -v
func TestACascadeIsNoWorseThanChance(t *testing.T) {
	const rows = 4000
	for name, judge := range map[string]func(r *rand.Rand, right bool) float64{
		"informative judge": func(r *rand.Rand, right bool) float64 {
			if right {
				return math.Sqrt(r.Float64())
			}
			return 1 - math.Sqrt(r.Float64())
		},
		"useless judge": func(r *rand.Rand, _ bool) float64 { return r.Float64() },
	} {
		gain, worst := 0.0, 0.0
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 7))
			table := make([]evaluation.Routed, rows)
			for i := range table {
				cheap := r.Float64() < 0.65
				table[i] = evaluation.Routed{Cheap: cheap, Strong: r.Float64() < 0.9, Score: judge(r, cheap)}
			}
			curve, _ := evaluation.RouteCurve(table)
			for _, p := range curve {
				gain = max(gain, p.Accuracy-p.Random)
				worst = min(worst, p.Accuracy-p.Random)
			}
			first, last := curve[0], curve[len(curve)-1]
			if first.Strong != 0 || last.Strong != 1 {
				t.Fatalf("the curve goes from %v to %v", first.Strong, last.Strong)
			}
		}
		noise := 3.5 * math.Sqrt(0.25/rows)
		t.Logf("%s: at best %+.3f and at worst %+.3f of accuracy against random mixing at the same cost; noise is %.3f", name, gain, worst, noise)
		if worst < -noise {
			t.Errorf("%s: the cascade is %.3f worse than random mixing", name, -worst)
		}
		if name == "informative judge" && gain < 0.05 {
			t.Errorf("%s: the cascade gains %.3f", name, gain)
		}
		if name == "useless judge" && gain > noise {
			t.Errorf("%s: the cascade gains %.3f of nothing", name, gain)
		}
	}
}

// TestGuaranteedPoints keeps the error rates that it names on rows of its own draw.
func TestGuaranteedPoints(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) []evaluation.Routed {
		table := make([]evaluation.Routed, n)
		for i := range table {
			cheap := r.Float64() < 0.7
			score := 1 - math.Sqrt(r.Float64())
			if cheap {
				score = math.Sqrt(r.Float64())
			}
			table[i] = evaluation.Routed{Cheap: cheap, Strong: true, Score: score}
		}
		return table
	}
	over, points := 0, 0
	for range 300 {
		_, guaranteed := evaluation.RouteCurve(draw(800))
		held := draw(4000)
		for _, p := range guaranteed {
			points++
			accepted, wrong := 0.0, 0.0
			for _, row := range held {
				if row.Score >= p.Threshold {
					accepted++
					wrong += map[bool]float64{false: 1}[row.Cheap]
				}
			}
			if wrong > p.Error*accepted {
				over++
			}
		}
	}
	t.Logf("%d of %d guaranteed points exceed their rate on held-out rows", over, points)
	if points == 0 || over > points/20 {
		t.Errorf("%d of %d guaranteed points exceed their rate", over, points)
	}
}
