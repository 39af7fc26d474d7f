package decisions

import (
	"math"
	"slices"
	"testing"

	"github.com/seed-506d8e5d/svc/decisions/calibration"
)

// TestCalibrationOfATrainedClassifier calibrates classifiers whose certainty is
// wrong in several ways, each from four draws of 200 labels, and compares the
// answers with the true probabilities of fresh texts.
func TestCalibrationOfATrainedClassifier(t *testing.T) {
	two, four := []string{"sport", "music"}, []string{"sport", "music", "art", "law"}
	unsure := func(_ int, x float64) float64 { return x / 5 }
	for name, c := range map[string]struct {
		topics      []string
		texts       []int // trained on, by topic
		doubled     func(int) bool
		distort     func(int, float64) float64
		temperature bool // a temperature is the whole error
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
			if c.doubled != nil {
				texts.doubled = c.doubled
			}
			b := train(texts, c.texts...)
			b.distort = c.distort
			f := b.fixture(t)
			const draws, fresh = 4, 400 // of labels, and of texts for each
			after, before, methods := 0.0, 0.0, []calibration.Method(nil)
			for range draws {
				made := f.calibrateOn(t, texts, 200)
				var calibrated, raw reliability
				for range fresh {
					text, _ := texts.draw()
					truth, answer := texts.truth(text), f.classify(t, text, c.topics, 0)
					if answer.Calibration != made.ID {
						t.Fatalf("got %+v", answer)
					}
					calibrated.add(answer.Confidence, truth[slices.Index(c.topics, answer.Choice)])
					raw.add(answer.Raw.Confidence, truth[slices.Index(c.topics, answer.Raw.Choice)])
				}
				after, before, methods = after+calibrated.ece(fresh)/draws, before+raw.ece(fresh)/draws, append(methods, made.Map.Method)
			}
			t.Logf("%v: ECE %.3f, was %.3f", methods, after, before)
			if c.temperature && after > 0.03 || after > before+0.01 {
				t.Errorf("%v: ECE %.4f, was %.4f", methods, after, before)
			}
		})
	}
}

// TestThresholdsOfATrainedClassifier draws 200 of the classifier's answers 1,000
// times, learns thresholds from each draw, and counts how often more of all answers
// above a threshold are wrong than the threshold allows.
func TestThresholdsOfATrainedClassifier(t *testing.T) {
	texts := newCorpus(9, "sport", "music", "art")
	f := train(texts, 2000, 2000, 2000).fixture(t)
	all := make([]calibration.Row, 2000)
	for i := range all {
		text, topic := texts.draw()
		answer := f.classify(t, text, texts.topics, 0)
		for _, o := range answer.Outcomes {
			all[i].P = append(all[i].P, o.Probability)
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
		for _, threshold := range calibration.Thresholds(rows) {
			above, wrong := 0.0, 0.0
			for _, row := range all {
				if best := likeliest(row.P); threshold.Admits(row.P[best]) {
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
	if given[0.3] < draws*9/10 {
		t.Errorf("only %d thresholds for an error of 0.3", given[0.3])
	}
	for rate, n := range broken {
		if n > draws/20 {
			t.Errorf("the error %v is exceeded in %d of %d draws", rate, n, draws)
		}
	}
}

// TestDebiasOfATrainedClassifier asks a classifier that prefers early places in
// every order of four options.
func TestDebiasOfATrainedClassifier(t *testing.T) {
	topics := []string{"sport", "music", "art", "law"}
	texts := newCorpus(11, topics...)
	b := train(texts, 2000, 2000, 2000, 2000)
	b.distort = func(place int, x float64) float64 { return x/2 - 0.7*float64(place) }
	f := b.fixture(t)
	for _, debias := range []int{1, 4} {
		widest := 0.0
		for range 5 {
			text, _ := texts.draw()
			least, most := map[string]float64{}, map[string]float64{}
			for order := range permutations(topics) {
				for _, o := range f.classify(t, text, order, debias).Outcomes {
					if _, seen := least[o.Name]; !seen {
						least[o.Name], most[o.Name] = o.Probability, o.Probability
					}
					least[o.Name], most[o.Name] = min(least[o.Name], o.Probability), max(most[o.Name], o.Probability)
				}
			}
			for name := range most {
				widest = max(widest, most[name]-least[name])
			}
		}
		t.Logf("asked in %d orders each, answers differ by %.4f", debias, widest)
		if debias == 1 && widest < 0.3 {
			t.Errorf("the classifier prefers no place: %v", widest)
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
