package decisions

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// corpus generates random texts about topics. Most words are equally likely under
// every topic; each topic has a few words of its own that are twice as likely
// under it as under the others.
type corpus struct {
	random     *rand.Rand
	topics     []string
	words      []string
	cumulative [][]float64 // by topic and word; the last of a topic is 1
	doubled    func(word int) bool
}

const (
	sharedWords = 28
	ownWords    = 6
	textWords   = 60
)

func newCorpus(seed uint64, topics ...string) *corpus {
	c := &corpus{random: rand.New(rand.NewPCG(seed, 8)), topics: topics, doubled: func(int) bool { return true }}
	for word := range sharedWords + ownWords*len(topics) {
		c.words = append(c.words, fmt.Sprintf("w%02d", word))
	}
	for topic := range topics {
		cumulative, sum := make([]float64, len(c.words)), 0.0
		for word := range cumulative {
			if sum++; word >= sharedWords && (word-sharedWords)/ownWords == topic {
				sum++
			}
			cumulative[word] = sum
		}
		for word := range cumulative {
			cumulative[word] /= sum
		}
		c.cumulative = append(c.cumulative, cumulative)
	}
	return c
}

// text generates a text about a topic. A word for which doubled returns true is
// written twice in a row.
func (c *corpus) text(topic int) string {
	var text []string
	for len(text) < textWords {
		word, _ := slices.BinarySearch(c.cumulative[topic], c.random.Float64())
		text = append(text, c.words[word])
		if c.doubled(word) {
			text = append(text, c.words[word])
		}
	}
	return strings.Join(text, " ")
}

// draw generates a text about a random topic and returns both.
func (c *corpus) draw() (string, int) {
	topic := c.random.IntN(len(c.topics))
	return c.text(topic), topic
}

// truth returns the true probability of each topic given a text.
func (c *corpus) truth(text string) []float64 {
	logs := make([]float64, len(c.topics))
	skip := false
	for word := range strings.FieldsSeq(text) {
		if skip { // the second of a doubled word carries no information
			skip = false
			continue
		}
		i, _ := slices.BinarySearch(c.words, word)
		skip = c.doubled(i)
		for topic, cumulative := range c.cumulative {
			below := 0.0
			if i > 0 {
				below = cumulative[i-1]
			}
			logs[topic] += math.Log(cumulative[i] - below)
		}
	}
	return softmax(logs)
}

// naiveBayes is a model that classifies the state by word counts, as if words were
// independent. It is certain where a corpus doubles words, because it counts each
// of them twice.
type naiveBayes struct {
	topics []string
	texts  []float64            // trained on, by topic
	counts []map[string]float64 // of words, by topic
	totals []float64            // words, by topic
	words  map[string]bool      // the vocabulary

	// distort changes the log-odds of the label at a place; nil leaves them.
	distort func(place int, logOdds float64) float64
}

// train returns a classifier trained on the given number of texts of each topic.
func train(c *corpus, texts ...int) *naiveBayes {
	b := &naiveBayes{topics: c.topics, words: map[string]bool{}}
	for topic := range c.topics {
		counts, total := map[string]float64{}, 0.0
		for range texts[topic] {
			for word := range strings.FieldsSeq(c.text(topic)) {
				counts[word]++
				total++
				b.words[word] = true
			}
		}
		b.texts, b.counts, b.totals = append(b.texts, float64(texts[topic])), append(b.counts, counts), append(b.totals, total)
	}
	return b
}

// logOdds returns the log-probability of each topic up to a common constant.
func (b *naiveBayes) logOdds(text string) map[string]float64 {
	logs := map[string]float64{}
	for topic, name := range b.topics {
		sum := math.Log(b.texts[topic])
		for word := range strings.FieldsSeq(text) {
			if b.words[word] {
				sum += math.Log((b.counts[topic][word] + 1) / (b.totals[topic] + float64(len(b.words)))) // Laplace smoothing
			}
		}
		logs[name] = sum
	}
	return logs
}

// score implements the Scores function of a modeltest.Script. The labels have 0.97
// of the probability mass; the rest lies on another token.
func (b *naiveBayes) score(_ context.Context, req *model.ScoreRequest) (*model.Scores, error) {
	const labelMass = 0.97
	topics := b.logOdds(string(req.State[0].(model.Text)))
	logs := make([]float64, len(req.Options))
	for place, o := range req.Options {
		logs[place] = topics[o.Texts[0]]
		if b.distort != nil {
			logs[place] = b.distort(place, logs[place])
		}
	}
	p := softmax(logs)
	for i := range p {
		p[i] *= labelMass
	}
	return &model.Scores{Probabilities: p, StateTokens: 1, QuestionTokens: 1}, nil
}

// fixture returns a Service whose decision model is the classifier.
func (b *naiveBayes) fixture(t testing.TB) *fixture {
	t.Helper()
	return newFixture(t, &modeltest.Script{Scores: b.score})
}

// topicQuestion asks which topic a text is about.
func topicQuestion(topics []string) Question {
	options := make([]Option, len(topics))
	for i, topic := range topics {
		options[i].Name = topic
	}
	return NewChoice("q", "About what?", options...)
}

// classify asks for the topic of a text.
func (f *fixture) classify(t testing.TB, text string, topics []string, debias int) Answer {
	t.Helper()
	resp, err := f.Decide(t.Context(), f.caller, &Request{Model: model.DefaultDecider, State: raw(text),
		Questions: []Question{topicQuestion(topics)}, Debias: debias})
	if err != nil {
		t.Fatal(err)
	}
	return resp.Answers[0]
}

// calibrateOn makes a calibration from newly drawn labelled texts.
func (f *fixture) calibrateOn(t testing.TB, c *corpus, rows int) *Calibration {
	t.Helper()
	n := &NewCalibration{Model: model.DefaultDecider, Question: topicQuestion(c.topics), Asked: json.RawMessage(`{}`)}
	for range rows {
		text, topic := c.draw()
		n.Rows = append(n.Rows, LabelledRow{State: raw(text), Answer: raw(c.topics[topic])})
	}
	made, err := f.Calibrate(t.Context(), f.caller, n)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// reliability sums the confidence of answers and their true probability in ten
// bins of confidence.
type reliability [10]struct{ confidence, truth float64 }

func (r *reliability) add(confidence, truth float64) {
	bin := &r[min(int(confidence*10), 9)]
	bin.confidence += confidence
	bin.truth += truth
}

// ece returns the expected calibration error of so many answers.
func (r *reliability) ece(answers int) (sum float64) {
	for _, bin := range r {
		sum += math.Abs(bin.confidence-bin.truth) / float64(answers)
	}
	return sum
}
