package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// question is a question with these labels.
func question(labels ...string) *model.ScoreRequest {
	req := &model.ScoreRequest{Model: model.DefaultDecider, Instructions: "Answer with a label.",
		State: []model.Part{model.Text("The sky is blue.\n")}, Question: "Which?\n"}
	for _, label := range labels {
		req.Question += "\n" + label + ": the option " + label
		req.Options = append(req.Options, model.Option{Label: label, Texts: []string{"the option " + label}})
	}
	return req
}

func near(a, b float64) bool { return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-9 }

func TestReadLabels(t *testing.T) {
	nan := math.NaN()
	yesNo, letters := []string{"Yes", "No"}, []string{"A", "B", "C"}
	tests := map[string]struct {
		labels    []string
		positions [][]token // the first is the chosen one
		want      []float64
		hidden    float64
		used      int
	}{
		"plain":           {letters, [][]token{{{"A", 0.5}, {"B", 0.3}, {"C", 0.2}}}, []float64{0.5, 0.3, 0.2}, 0, 1},
		"variants add up": {letters, [][]token{{{"A", 0.3}, {" A", 0.2}, {"a", 0.1}, {"A.", 0.2}, {"\u2581B", 0.1}, {"\u0120B", 0.1}, {"**C", 0}}}, []float64{0.7, 0.2, 0}, 0, 1},
		"not shown":       {letters, [][]token{{{"A", 0.5}, {"The", 0.2}}}, []float64{0.5, nan, nan}, 0.3, 1},
		"begun labels":    {yesNo, [][]token{{{"Y", 0.4}, {"Yes", 0.2}, {"ye", 0.1}, {"N", 0.3}}}, []float64{0.7, 0.3}, 0, 1},
		"ambiguous begin": {[]string{"Yes", "Yet"}, [][]token{{{"Ye", 0.5}, {"Yes", 0.3}, {"Yet", 0.2}}}, []float64{0.3, 0.2}, 0, 1},
		"longer words":    {yesNo, [][]token{{{"Yesterday", 0.5}, {"No", 0.25}, {"None", 0.25}}}, []float64{nan, 0.25}, 0, 1},
		"a label begins another": {[]string{"1", "10"}, [][]token{{{"1", 0.5}, {"10", 0.5}}},
			[]float64{0.5, 0.5}, 0, 1},
		"blank first": {letters, [][]token{{{"\n", 0.5}, {"A", 0.3}}, {{"B", 0.6}, {"A", 0.4}}},
			[]float64{0.5, 0.3, nan}, 0.2, 2},
		"empty thoughts first": {letters, [][]token{{{"<think>", 0.9}, {"A", 0.1}}, {{"\n\n", 1}}, {{"</think>", 1}}, {{"\n\n", 0.5}, {"B", 0.5}}, {{"A", 0.8}, {"B", 0.2}}},
			[]float64{0.4, 0.6, nan}, 0, 5},
		"thoughts first":       {letters, [][]token{{{"<th", 1}}, {{"ink>", 1}}, {{"A", 0.9}}, {{"</think>", 0.1}}, {{"B", 0.8}, {"C", 0.2}}}, []float64{nan, 0.8, 0.2}, 0, 5},
		"only thoughts":        {letters, [][]token{{{"<think>", 1}}, {{"A", 0.9}}}, []float64{nan, nan, nan}, 0, 0},
		"only blanks":          {letters, [][]token{{{" ", 1}}}, []float64{nan, nan, nan}, 0, 0},
		"no label at all":      {letters, [][]token{{{"Hello", 0.6}, {"Well", 0.4}}}, []float64{nan, nan, nan}, 0, 1},
		"the rest is not read": {letters, [][]token{{{"A", 1}}, {{"B", 1}}}, []float64{1, nan, nan}, 0, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var positions []position
			for _, tokens := range tt.positions {
				positions = append(positions, position{chosen: tokens[0], shown: tokens})
			}
			r, used := readLabels(positions, tt.labels)
			if used != tt.used || used > 0 && (!slices.EqualFunc(r.masses, tt.want, near) || !near(r.hidden, tt.hidden)) {
				t.Errorf("got %v, %v hidden, %d used", r.masses, r.hidden, used)
			}
		})
	}
}

func TestScoreSkipsWhatComesBeforeTheLabel(t *testing.T) {
	d := (&double{dist: func(_ string, position int) []token {
		if position < 2 {
			return []token{{"\n", 1}}
		}
		return []token{{"B", 0.75}, {"A", 0.25}}
	}}).serve(t)
	b := d.backend(t)
	for range 2 {
		s, err := b.Score(t.Context(), question("A", "B"))
		if err != nil || !near(s.Probabilities[0], 0.25) || !near(s.Probabilities[1], 0.75) {
			t.Fatalf("got %+v, %v", s, err)
		}
	}
	var asked []int64
	for _, r := range d.seen() {
		asked = append(asked, r.Get("max_tokens").Int())
	}
	if !slices.Equal(asked, []int64{1, manyTokens, 3}) {
		t.Errorf("asked for %v tokens", asked)
	}
}

func TestModelThatThinksCannotDecide(t *testing.T) {
	d := (&double{dist: func(_ string, position int) []token {
		if position == 0 {
			return []token{{"<think>", 1}}
		}
		return []token{{" hm", 1}}
	}}).serve(t)
	_, err := d.backend(t).Score(t.Context(), question("A", "B"))
	checkFault(t, err, fault.Upstream, fault.CodeUpstream)
	if !strings.Contains(fault.From(err).Error(), "no_thinking") {
		t.Errorf("logged %v", err)
	}
}

func TestNoThinking(t *testing.T) {
	tests := map[NoThinking]struct {
		efforts []string
		want    []string // the fields of each request that say it
	}{
		"":          {nil, []string{`"none"  3`, `"none"  3`}},
		EffortNone:  {nil, []string{`"none"  3`, `"none"  3`}},
		NotNeeded:   {nil, []string{`  3`, `  3`}},
		TemplateOff: {nil, []string{` {"enable_thinking":false} 3`, ` {"enable_thinking":false} 3`}},
		Prefill:     {nil, []string{`  4`, `  4`}},
	}
	messages := func(d *double) (got []string) {
		for _, r := range d.seen() {
			// The system message, the question, and perhaps a prefill: 2 or 3, and 1.
			n := int(r.Get("messages.#").Int()) + 1
			got = append(got, r.Get("reasoning_effort").Raw+" "+r.Get("chat_template_kwargs").Raw+" "+strconv.Itoa(n))
		}
		return got
	}
	for way, tt := range tests {
		t.Run(string(way), func(t *testing.T) {
			d := (&double{}).serve(t)
			b := d.backend(t, withModel(func(m *Model) { m.Targets = []Target{{Server: m.Targets[0].Server, NoThinking: way}} }))
			for range 2 {
				if _, err := b.Score(t.Context(), question("A", "B")); err != nil {
					t.Fatal(err)
				}
			}
			if got := messages(d); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		d := (&double{efforts: []string{"low"}}).serve(t)
		b := d.backend(t)
		for range 2 {
			if _, err := b.Score(t.Context(), question("A", "B")); err != nil {
				t.Fatal(err)
			}
		}
		if got := messages(d); !slices.Equal(got, []string{`"none"  3`, `  3`, `  3`}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestServerWithoutLogprobs(t *testing.T) {
	for name, d := range map[string]*double{
		"left out": {noLogprobs: true},
		"refused": {intercept: func(w http.ResponseWriter, r *doubleRequest) bool {
			if r.body.Get("logprobs").Exists() {
				refuse(w, http.StatusBadRequest, "logprobs are not supported")
			}
			return r.body.Get("logprobs").Exists()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d.say = nil
			_, err := d.serve(t).backend(t).Score(t.Context(), question("A", "B"))
			if f := fault.From(err); err == nil || f.Kind != fault.Upstream && f.Kind != fault.Rejected || !strings.Contains(f.Error(), "log-probabilities") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// weigh is a distribution over the labels of a prompt by what they stand for, the
// members of a group together.
func weigh(weights map[string]float64) func(string, int) []token {
	return func(prompt string, _ int) []token {
		_, question, ok := strings.Cut(prompt, "Reply with the label only.")
		if !ok {
			question = prompt // of a start
		}
		var tokens []token
		for line := range strings.Lines(question) {
			line = strings.TrimSpace(line)
			label, text, ok := strings.Cut(line, ":")
			member, isMember := strings.CutPrefix(line, "- ")
			switch {
			case line == "Yes" || line == "No":
				tokens = append(tokens, token{line, 0})
			case isMember && len(tokens) > 0:
				tokens[len(tokens)-1].mass += weights[member]
			case ok && len(label) <= 2 && label == strings.ToUpper(label):
				tokens = append(tokens, token{label, weights[strings.TrimSpace(text)]})
			}
		}
		sum := 0.0
		for _, t := range tokens {
			sum += t.mass
		}
		for i := range tokens {
			if tokens[i].mass /= sum; sum == 0 { // a question about something else
				tokens[i].mass = 1 / float64(len(tokens))
			}
		}
		return tokens
	}
}

// decider is a service over a backend, and a caller with credits.
func decider(t testing.TB, b model.Backend) func(*decisions.Request) *decisions.Response {
	t.Helper()
	store := memstore.New()
	books, err := accounts.New(context.Background(), accounts.Options{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { books.Close(); store.Close() })
	o, err := books.CreateOrganization(t.Context(), accounts.NewOrganization{Name: "test", Credits: 1000 * accounts.Dollar})
	if err != nil {
		t.Fatal(err)
	}
	caller, err := books.CallerFor(t.Context(), o.ID)
	if err != nil {
		t.Fatal(err)
	}
	s := decisions.New(decisions.Options{Backend: b, Accounts: books})
	return func(req *decisions.Request) *decisions.Response {
		t.Helper()
		resp, err := s.Decide(t.Context(), caller, req)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
}

// choice is a question with n options called o0, o1 and so on.
func choice(n int) decisions.Question {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"o%d":null`, i)
	}
	return decisions.Question{Name: "q", Type: decisions.Choice, Instructions: "Which one?", Criteria: json.RawMessage("{" + b.String()[1:] + "}")}
}

func decision(state string, questions ...decisions.Question) *decisions.Request {
	text, _ := json.Marshal(state)
	return &decisions.Request{Model: model.DefaultDecider, State: text, Questions: questions}
}

func TestProbabilitiesAreThoseOfTheModel(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 3, 10, 16, 20, 21, 64, 255} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			weights := map[string]float64{}
			sum := 0.0
			for i := range n {
				w := math.Exp(3 * random.NormFloat64())
				weights["o"+strconv.Itoa(i)] = w
				sum += w
			}
			d := (&double{dist: weigh(weights)}).serve(t)
			resp := decider(t, d.backend(t))(decision("x", choice(n)))
			allowed := 1e-6
			if n > 20 {
				allowed = 1.0 / (decisions.MaxOptions + 1) // a group that is not asked about
			}
			for _, o := range resp.Answers[0].Outcomes {
				if want := weights[o.Name] / sum; math.Abs(o.Probability-want) > allowed {
					t.Errorf("%s: got %v, want %v", o.Name, o.Probability, want)
				}
			}
			if calls := len(d.seen()); calls > 1+16 {
				t.Errorf("%d calls", calls)
			}
		})
	}
}

func TestHiddenMassBoundsTheError(t *testing.T) {
	const shown = 5
	weights := map[string]float64{}
	for i := range 20 {
		weights["o"+strconv.Itoa(i)] = math.Pow(0.6, float64(i))
	}
	sum, hidden := 0.0, 0.0
	for i := range 20 {
		w := weights["o"+strconv.Itoa(i)]
		if sum += w; i >= shown {
			hidden += w
		}
	}
	d := (&double{dist: weigh(weights)}).serve(t)
	b := d.backend(t, withServer(func(s *Server) { s.TopLogprobs = shown }))
	for _, o := range decider(t, b)(decision("x", choice(20))).Answers[0].Outcomes {
		if want := weights[o.Name] / sum; math.Abs(o.Probability-want) > hidden/sum {
			t.Errorf("%s: got %v, want %v, %v hidden", o.Name, o.Probability, want, hidden/sum)
		}
	}
}

func TestGroupsWithoutMassAreNotAskedAbout(t *testing.T) {
	weights := map[string]float64{}
	for i := range 255 {
		weights["o"+strconv.Itoa(i)] = 1e-9
	}
	weights["o3"], weights["o200"] = 0.7, 0.3
	d := (&double{dist: weigh(weights)}).serve(t)
	answer := decider(t, d.backend(t))(decision("x", choice(255))).Answers[0]
	if answer.Choice != "o3" || len(d.seen()) != 3 {
		t.Errorf("got %s after %d calls", answer.Choice, len(d.seen()))
	}
}

func TestQuestionsShareTheirPrefix(t *testing.T) {
	const questions = 16
	var state strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&state, " word%d", i)
	}
	d := (&double{}).serve(t)
	req := decision(state.String())
	for i := range questions {
		q := choice(4)
		q.Name, q.Instructions = "q"+strconv.Itoa(i), fmt.Sprintf("Is it number %d that we look for in the state, or is it another one?", i)
		req.Questions = append(req.Questions, q)
	}
	resp := decider(t, d.backend(t, withModel(func(m *Model) { m.Info.ContextWindow = 1 << 20 })))(req)

	// What is outside of the prefix that all share is computed for each question.
	prompts := d.prompts
	if len(prompts) != questions {
		t.Fatalf("%d calls", len(prompts))
	}
	n := 0
	for slices.IndexFunc(prompts, func(p string) bool { return p[n] != prompts[0][n] }) < 0 {
		n++
	}
	shared := len(words(prompts[0][:n]))
	tokens := shared
	for _, p := range prompts {
		tokens += len(words(p)) - shared
	}
	outside := float64(tokens-shared) / float64(shared)
	if outside >= 0.03 {
		t.Errorf("%d tokens are shared, %d are not", shared, tokens-shared)
	}
	t.Logf("%d tokens are in the prefix that all questions share, %d are not (%.2f %%)", shared, tokens-shared, 100*outside)
	// What all share is charged once, as the server counts.
	if got := resp.Usage.InputTokens; math.Abs(float64(got-tokens)) > 0.002*float64(tokens) {
		t.Errorf("charged %d tokens, want about %d", got, tokens)
	}
}
