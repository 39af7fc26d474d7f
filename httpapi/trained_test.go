package httpapi

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/seed-506d8e5d/svc/decisions/calibration"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// The tests of this file make thousands of decisions, always over a store in memory:
// what they measure does not depend on the store.

// TestCalibrationOfATrainedClassifier calibrates classifiers that are wrong about
// their certainty in several ways, from 200 labels at a time, and holds the answers
// against how likely fresh texts are about the topics that they name. Words that
// come twice count twice, though the second says nothing new: where all do, this is
// a temperature.
func TestCalibrationOfATrainedClassifier(t *testing.T) {
	two, four := []string{"sport", "music"}, []string{"sport", "music", "art", "law"}
	unsure := func(_ int, x float64) float64 { return x / 5 }
	for name, c := range map[string]struct {
		topics      []string
		texts       []int // trained on, by topic
		twice       func(int) bool
		bend        func(int, float64) float64
		temperature bool
	}{
		"sure, of two":      {two, []int{2000, 2000}, nil, nil, true},
		"unsure, of two":    {two, []int{2000, 2000}, nil, unsure, true},
		"sure, of four":     {four, []int{2000, 2000, 2000, 2000}, nil, nil, true},
		"right":             {two, []int{2000, 2000}, func(int) bool { return false }, nil, true},
		"few texts":         {two, []int{12, 12}, nil, nil, false},
		"other proportions": {two, []int{2700, 300}, nil, nil, false},
		"some words twice":  {two, []int{2000, 2000}, func(word int) bool { return word%3 == 0 }, nil, false},
		"of steps":          {two, []int{2000, 2000}, nil, func(_ int, x float64) float64 { return math.Round(x / 3) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			texts := newCorpus(7, c.topics...)
			if c.twice != nil {
				texts.twice = c.twice
			}
			b := train(texts, c.texts...)
			b.bend = c.bend
			a := b.over(t, memstore.New())
			const draws, fresh = 4, 400 // of labels, and of texts for each
			got, was, methods := 0.0, 0.0, []string(nil)
			for range draws {
				id, method := a.calibrate(t, texts, 200)
				var calibrated, raw reliability
				for range fresh {
					text, _ := texts.draw()
					truth, answer := texts.truth(text), a.about(t, text, aboutWhat(c.topics), "")
					if answer.Calibration != id {
						t.Fatalf("got %+v", answer)
					}
					calibrated.add(answer.Confidence, truth[slices.Index(c.topics, answer.Choice)])
					raw.add(answer.Raw.Confidence, truth[slices.Index(c.topics, answer.Raw.Choice)])
				}
				got, was, methods = got+calibrated.ece(fresh)/draws, was+raw.ece(fresh)/draws, append(methods, method)
			}
			t.Logf("%v: ECE %.3f, was %.3f", methods, got, was)
			if c.temperature && got > 0.03 || got > was+0.01 {
				t.Errorf("%v: ECE %.4f, was %.4f", methods, got, was)
			}
		})
	}
}

// TestThresholdsOfATrainedClassifier draws 1,000 times 200 of the classifier's
// answers, learns a calibration with its thresholds from them, and counts how often
// more of all answers above a threshold are wrong than it allows.
func TestThresholdsOfATrainedClassifier(t *testing.T) {
	texts := newCorpus(9, "sport", "music", "art")
	a := train(texts, 2000, 2000, 2000).over(t, memstore.New())
	all := make([]calibration.Row, 2000)
	for i := range all {
		text, topic := texts.draw()
		answer := a.about(t, text, aboutWhat(texts.topics), "")
		for _, name := range texts.topics {
			all[i].P = append(all[i].P, answer.Probabilities[name])
		}
		all[i].Right = topic
	}
	const draws = 1000
	given, broken := map[float64]int{}, map[float64]int{}
	for range draws {
		rows := make([]calibration.Row, 200)
		for i := range rows {
			rows[i] = all[texts.random.IntN(len(all))]
		}
		learned, _ := calibration.Choose(rows)
		fitted := learned.ApplyAll(all)
		for _, threshold := range calibration.Thresholds(learned.ApplyAll(rows)) {
			above, wrong := 0.0, 0.0
			for _, row := range fitted {
				best := 0
				for i, p := range row.P {
					if p > row.P[best] {
						best = i
					}
				}
				if row.P[best] >= threshold.Confidence {
					if above++; best != row.Right {
						wrong++
					}
				}
			}
			given[threshold.Error]++
			if wrong > threshold.Error*above {
				broken[threshold.Error]++
			}
		}
	}
	t.Logf("given %v, exceeded %v of %d", given, broken, draws)
	if given[0.2] < draws/2 {
		t.Errorf("only %d thresholds for an error of 0.2", given[0.2])
	}
	for rate, n := range broken {
		if n > draws/20 {
			t.Errorf("the error %v is exceeded in %d of %d draws", rate, n, draws)
		}
	}
}

// TestDebiasOfATrainedClassifier asks one that likes early places in all orders
// of four options.
func TestDebiasOfATrainedClassifier(t *testing.T) {
	topics := []string{"sport", "music", "art", "law"}
	texts := newCorpus(11, topics...)
	b := train(texts, 2000, 2000, 2000, 2000)
	b.bend = func(place int, x float64) float64 { return x/2 - 0.7*float64(place) }
	a := b.over(t, memstore.New())
	for _, debias := range []int{1, 4} {
		widest := 0.0
		for range 5 {
			text, _ := texts.draw()
			least, most := map[string]float64{}, map[string]float64{}
			for order := range permutations(topics) {
				answer := a.about(t, text, aboutWhat(order), fmt.Sprintf(`,"debias":%d`, debias))
				for name, p := range answer.Probabilities {
					if _, seen := least[name]; !seen {
						least[name], most[name] = p, p
					}
					least[name], most[name] = min(least[name], p), max(most[name], p)
				}
			}
			for name := range most {
				widest = max(widest, most[name]-least[name])
			}
		}
		t.Logf("asked in %d orders each, answers differ by %.4f", debias, widest)
		if debias == 1 && widest < 0.3 {
			t.Errorf("it likes no place: %v", widest)
		}
		if debias > 1 && widest > 0.02 {
			t.Errorf("answers differ by %v", widest)
		}
	}
}

// permutations yields all orders of a list.
func permutations(list []string) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		var place func(done, left []string) bool
		place = func(done, left []string) bool {
			if len(left) == 0 {
				return yield(done)
			}
			for i := range left {
				rest := append(append([]string(nil), left[:i]...), left[i+1:]...)
				if !place(append(done[:len(done):len(done)], left[i]), rest) {
					return false
				}
			}
			return true
		}
		place(nil, list)
	}
}
