package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/openai"
	"github.com/seed-506d8e5d/svc/storage"
)

// corpus draws texts about topics. Most words are as likely under each; of each
// topic's own words there are a few, which the others have half as often.
type corpus struct {
	random *rand.Rand
	topics []string
	chance [][]float64 // of each topic's words, up to and including each; the last is 1
	twice  func(word int) bool
}

const (
	sharedWords = 28
	ownWords    = 6
	textWords   = 60
)

func newCorpus(seed uint64, topics ...string) *corpus {
	c := &corpus{random: rand.New(rand.NewPCG(seed, 8)), topics: topics, twice: func(int) bool { return true }}
	for topic := range topics {
		chance, sum := []float64(nil), 0.0
		for word := range sharedWords + ownWords*len(topics) {
			if sum++; word >= sharedWords && (word-sharedWords)/ownWords == topic {
				sum++
			}
			chance = append(chance, sum)
		}
		for i := range chance {
			chance[i] /= sum
		}
		c.chance = append(c.chance, chance)
	}
	return c
}

// text draws a text about a topic. Words come twice where the corpus has them so.
func (c *corpus) text(topic int) string {
	var text []string
	for len(text) < textWords {
		word, _ := slices.BinarySearch(c.chance[topic], c.random.Float64())
		text = append(text, fmt.Sprintf("w%d", word))
		if c.twice(word) {
			text = append(text, text[len(text)-1])
		}
	}
	return strings.Join(text, " ")
}

// truth returns how likely a text is about each topic.
func (c *corpus) truth(text string) []float64 {
	p, sum := make([]float64, len(c.topics)), 0.0
	for topic, chance := range c.chance {
		logs, last := 0.0, ""
		for word := range strings.FieldsSeq(text) {
			var i int
			fmt.Sscanf(word, "w%d", &i)
			if last == word && c.twice(i) {
				last = "" // it says nothing new
				continue
			}
			last = word
			from := 0.0
			if i > 0 {
				from = chance[i-1]
			}
			logs += math.Log((chance[i] - from) * float64(len(chance)))
		}
		p[topic] = math.Exp(logs)
		sum += p[topic]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// draw draws a text about any topic.
func (c *corpus) draw() (string, int) {
	topic := c.random.IntN(len(c.topics))
	return c.text(topic), topic
}

// bayes is a model server on which a naive Bayes classifier answers with the
// labels of a prompt: trained on texts, it knows no more of them than how often it
// has seen each word, and takes words for independent of each other.
type bayes struct {
	topics []string
	texts  []float64            // seen of each topic
	counts []map[string]float64 // of words, by topic
	words  map[string]bool      // all that were seen

	bend func(label int, logOdds float64) float64 // of a label at a place; nil is as it is
	// changed says that another model answers.
	changed atomic.Bool
}

// train makes a classifier of so many texts of each topic.
func train(c *corpus, texts ...int) *bayes {
	b := &bayes{topics: c.topics, words: map[string]bool{}}
	for topic := range c.topics {
		b.texts, b.counts = append(b.texts, float64(texts[topic])), append(b.counts, map[string]float64{})
		for range texts[topic] {
			for word := range strings.FieldsSeq(c.text(topic)) {
				b.counts[topic][word]++
				b.words[word] = true
			}
		}
	}
	return b
}

// judge returns the logarithms of how likely the topics are, but for a constant.
func (b *bayes) judge(text string) map[string]float64 {
	logs := map[string]float64{}
	for topic, name := range b.topics {
		all := 0.0
		for _, n := range b.counts[topic] {
			all += n
		}
		logs[name] = math.Log(b.texts[topic])
		for word := range strings.FieldsSeq(text) {
			if b.words[word] {
				logs[name] += math.Log((b.counts[topic][word] + 1) / (all + float64(len(b.words)))) // Laplace's rule
			}
		}
	}
	return logs
}

func (b *bayes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	if r.URL.Path != "/v1/chat/completions" {
		http.NotFound(w, r)
		return
	}
	prompt := gjson.GetBytes(data, "messages.1.content").Str
	state, question, _ := strings.Cut(prompt, "Reply with the label only.")
	topics := b.judge(state)
	var labels []string
	var logs []float64
	for line := range strings.Lines(question) {
		label, text, labeled := strings.Cut(strings.TrimSpace(line), ": ")
		if !labeled && label != "Yes" && label != "No" {
			continue
		}
		x, known := topics[text]
		if !known { // yes is the first topic, no the second
			x = topics[b.topics[len(labels)]]
		}
		if b.bend != nil {
			x = b.bend(len(labels), x)
		}
		if b.changed.Load() && len(labels) == 0 {
			x += 3
		}
		labels, logs = append(labels, label), append(logs, x)
	}
	most, sum := slices.Max(logs), 0.0
	for _, x := range logs {
		sum += math.Exp(x - most)
	}
	chosen := slices.Index(logs, most)
	const labeled = 0.97 // of the mass; the rest is on another word
	shown := []string{fmt.Sprintf(`{"token":"The","logprob":%v}`, math.Log(1-labeled))}
	for i, label := range labels {
		shown = append(shown, fmt.Sprintf(`{"token":%q,"logprob":%v}`, label, logs[i]-most-math.Log(sum)+math.Log(labeled)))
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%q},"logprobs":{"content":[{"token":%q,"logprob":%v,"top_logprobs":[%s]}]}}],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`,
		labels[chosen], labels[chosen], logs[chosen]-most-math.Log(sum)+math.Log(labeled), strings.Join(shown, ","), len(data)/4)
}

// over serves the classifier and returns the interface over it and a store.
func (b *bayes) over(t *testing.T, store storage.Store) *decisionAPI {
	t.Helper()
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	backend, err := openai.New(openai.Options{
		Models: []openai.Model{{Info: model.Info{ID: model.DefaultDecider, Decides: true},
			Targets: []openai.Target{{Server: &openai.Server{URL: server.URL + "/v1"}, Model: "bayes"}}}},
		Logger: slog.New(slog.DiscardHandler),
	})
	check(t, err)
	t.Cleanup(backend.Close)
	return newDecisionAPIIn(t, store, backend)
}

// aboutWhat is the question which topic a text is about.
func aboutWhat(topics []string) string {
	return `{"type":"choice","instructions":"About what?","criteria":{"` + strings.Join(topics, `":null,"`) + `":null}}`
}

// told is the answer to a question with options.
type told struct {
	Choice        string
	Probabilities map[string]float64
	Confidence    float64
	Calibration   string
	Abstained     *bool
	Raw           struct {
		Choice     string
		Confidence float64
	}
}

// about asks a question about a state.
func (a *decisionAPI) about(t testing.TB, state, question, more string) (answer told) {
	t.Helper()
	w := a.send("/v1/systemone", `{"model":"svc-snap-preview","state":"`+state+`","questions":{"q":`+question+`}`+more+`}`)
	if w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	check(t, json.Unmarshal([]byte(gjson.Get(w.Body.String(), "answers.q").Raw), &answer))
	return answer
}

// calibrate makes a calibration of labelled texts.
func (a *decisionAPI) calibrate(t testing.TB, c *corpus, rows int) (id, method string) {
	t.Helper()
	var list []string
	for range rows {
		text, topic := c.draw()
		list = append(list, fmt.Sprintf(`{"state":%q,"answer":%q}`, text, c.topics[topic]))
	}
	w := a.send("/v1/calibrations", `{"model":"svc-snap-preview","question":`+aboutWhat(c.topics)+`,"rows":[`+strings.Join(list, ",")+`]}`)
	if w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	made := gjson.Parse(w.Body.String())
	return made.Get("id").Str, made.Get("method").Str
}

// reliability is how confident answers are and how likely right, in ten bins.
type reliability [10]struct{ mean, right float64 }

func (r *reliability) add(confidence, right float64) {
	bin := &r[min(int(confidence*10), 9)]
	bin.mean += confidence
	bin.right += right
}

// ece is the expected calibration error of so many answers.
func (r *reliability) ece(answers int) (sum float64) {
	for _, bin := range r {
		sum += math.Abs(bin.mean-bin.right) / float64(answers)
	}
	return sum
}
