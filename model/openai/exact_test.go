package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// exactPage serves what only the kind of an exact double has.
func (d *double) exactPage(w http.ResponseWriter, r *http.Request, req gjson.Result) bool {
	switch d.exact + " " + r.URL.Path {
	case "llama /props":
		fmt.Fprintf(w, `{"default_generation_settings":{"n_ctx":%d},"total_slots":%d}`, d.window, d.slots)
	case "vllm /version":
		fmt.Fprint(w, `{"version":"0.20.0"}`)
	case "sglang /get_model_info":
		fmt.Fprint(w, `{"model_path":"double"}`)
	case "llama /tokenize":
		var list []string
		for _, t := range split(req.Get("content").Str) {
			list = append(list, fmt.Sprintf(`{"id":%d,"piece":%q}`, d.id(t), t))
		}
		fmt.Fprintf(w, `{"tokens":[%s]}`, strings.Join(list, ","))
	case "vllm /tokenize", "sglang /tokenize":
		var ids, texts []string
		for _, t := range split(req.Get("prompt").Str) {
			ids = append(ids, strconv.Itoa(d.id(t)))
			texts = append(texts, strconv.Quote(strings.ReplaceAll(t, " ", "\u0120")))
		}
		fmt.Fprintf(w, `{"count":%d,"max_model_len":%d,"tokens":[%s],"token_strs":[%s]}`, len(ids), d.window, strings.Join(ids, ","), strings.Join(texts, ","))
	default:
		return false
	}
	return true
}

// split is the vocabulary of an exact double: words with a blank before them,
// but no pair of letters that begins with Q.
func split(text string) []string {
	var tokens []string
	for _, line := range strings.SplitAfter(text, "\n") {
		for _, word := range words(line) {
			if i := strings.Index(word, "Q"); i >= 0 && len(word) > i+1 && word[i+1] != '\n' {
				tokens = append(tokens, word[:i+1], word[i+1:])
				continue
			}
			tokens = append(tokens, word)
		}
	}
	return tokens
}

func (d *double) id(token string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, ok := d.vocab[token]
	if !ok {
		if d.vocab == nil {
			d.vocab = map[string]int{}
		}
		id = len(d.vocab) + 1
		d.vocab[token] = id
	}
	return id
}

// exactLogprobs writes the distribution as a server writes it that was asked for
// certain tokens, and nothing where it was not.
func (d *double) exactLogprobs(req gjson.Result, tokens []token) string {
	var list []string
	switch {
	case d.exact == "llama" && req.Get("post_sampling_probs").Bool():
		bias := map[int]float64{}
		for _, pair := range req.Get("logit_bias").Array() {
			bias[int(pair.Get("0").Int())] = pair.Get("1").Num
		}
		biased, sum := slices.Clone(tokens), 0.0
		for i, t := range biased {
			biased[i].mass = t.mass * math.Exp(bias[d.id(t.text)])
			sum += biased[i].mass
		}
		slices.SortStableFunc(biased, func(a, b token) int { return int(math.Copysign(1, b.mass-a.mass)) })
		for _, t := range biased[:min(len(biased), int(req.Get("top_logprobs").Int()))] {
			p, _ := json.Marshal(float32(t.mass / sum))
			list = append(list, fmt.Sprintf(`{"id":%d,"token":%q,"prob":%s}`, d.id(t.text), t.text, p))
		}
		return `{"token":"x","prob":1,"top_probs":[` + strings.Join(list, ",") + `]}`
	case d.exact == "vllm" && req.Get("logprob_token_ids").Exists():
		masses := map[int]float64{}
		for _, t := range tokens {
			masses[d.id(t.text)] = t.mass
		}
		for _, id := range req.Get("logprob_token_ids").Array() {
			list = append(list, tokenJSON(token{fmt.Sprintf("token_id:%d", id.Int()), masses[int(id.Int())]}, ""))
		}
		return tokenJSON(token{"token_id:1", 0}, `,"top_logprobs":[`+strings.Join(list, ",")+`]`)
	}
	return ""
}

// limits are the most top_logprobs of each kind.
var limits = map[string]int{"sglang": -1, "llama": -1}

// leaving gives some of a distribution to tokens that are no labels, and puts
// blanks before some that are.
func leaving(share float64, dist func(string, int) []token) func(string, int) []token {
	return func(prompt string, position int) []token {
		var tokens []token
		for i, t := range dist(prompt, position) {
			if i%3 == 0 {
				t.text = " " + t.text
			}
			tokens = append(tokens, token{t.text, t.mass * (1 - share)})
		}
		for i := range 40 {
			tokens = append(tokens, token{"other" + strconv.Itoa(i), share / 40})
		}
		return tokens
	}
}

// TestExactProbabilities asks servers that can show all labels about as many
// options as there may be: one call, and every probability right.
func TestExactProbabilities(t *testing.T) {
	for _, kind := range []string{"llama", "vllm", "sglang"} {
		for _, n := range []int{2, 20, 21, 255} {
			t.Run(fmt.Sprint(kind, n), func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, uint64(n)))
				weights, sum := map[string]float64{}, 0.0
				for i := range n {
					w := math.Exp(3 * random.NormFloat64())
					weights["o"+strconv.Itoa(i)] = w
					sum += w
				}
				d := (&double{exact: kind, window: 100000, slots: 4, maxTopLogprobs: limits[kind], dist: leaving(0.3, weigh(weights))}).serve(t)
				resp := decider(t, d.backend(t))(decision("x", choice(n)))
				for _, o := range resp.Answers[0].Outcomes {
					if want := weights[o.Name] / sum; math.Abs(o.Probability-want) > 1e-6 {
						t.Errorf("%s: got %v, want %v", o.Name, o.Probability, want)
					}
				}
				if calls := len(d.seen()); calls != 1 {
					t.Errorf("%d calls", calls)
				}
			})
		}
	}
}

// TestOldVLLM does not know logprob_token_ids: the options are asked in groups.
func TestOldVLLM(t *testing.T) {
	weights := map[string]float64{"o3": 3, "o200": 1}
	old := &double{exact: "vllm", window: 100000, dist: weigh(weights)}
	old.serve(t)
	old.intercept = func(w http.ResponseWriter, r *request) bool {
		if !r.body.Get("logprob_token_ids").Exists() {
			return false
		}
		refuse(w, 400, "Extra inputs are not permitted: logprob_token_ids")
		return true
	}
	b := old.backend(t)
	b.Probe(t.Context())
	resp := decider(t, b)(decision("x", choice(255)))
	if a := resp.Answers[0]; a.Choice != "o3" || math.Abs(a.Confidence-0.75) > 0.01 {
		t.Errorf("got %+v", a.Choice)
	}
}

// TestQuestionsStayOnASlot keeps the questions of a decision where their state is
// in the cache.
func TestQuestionsStayOnASlot(t *testing.T) {
	d := (&double{exact: "llama", window: 100000, slots: 4, maxTopLogprobs: -1, dist: func(string, int) []token { return []token{{"Yes", 0.5}, {"No", 0.4}, {"x", 0.1}} }}).serve(t)
	decide := decider(t, d.backend(t))
	slots := map[string]bool{}
	for i := range 8 {
		before := len(d.seen())
		var questions []decisions.Question
		for j := range 4 {
			questions = append(questions, decisions.Question{Name: strconv.Itoa(j), Type: decisions.Noul, Instructions: "?"})
		}
		decide(decision("state "+strconv.Itoa(i), questions...))
		own := map[string]bool{}
		for _, r := range d.seen()[before:] {
			own[r.Get("id_slot").Raw], slots[r.Get("id_slot").Raw] = true, true
		}
		if len(own) != 1 || own[""] {
			t.Errorf("slots %v", own)
		}
	}
	if len(slots) < 2 {
		t.Errorf("all states on %v", slots)
	}
}

// TestRightOrRefused has models that do not answer with labels.
func TestRightOrRefused(t *testing.T) {
	rubbish := leaving(0.9, func(string, int) []token { return []token{{"B", 0.5}, {"C", 0.5}} })
	prefilled := func(prompt string, position int) []token {
		if strings.HasSuffix(prompt, answerBegin) {
			return []token{{" B", 0.75}, {" C", 0.25}}
		}
		return rubbish(prompt, position)
	}
	for _, kind := range []string{"", "llama", "vllm"} {
		d := (&double{exact: kind, window: 100000, slots: 1, maxTopLogprobs: limits[kind], dist: rubbish}).serve(t)
		_, err := d.backend(t).Score(t.Context(), question("B", "C"))
		checkFault(t, err, fault.Upstream, fault.CodeUpstream)
		if e := fault.From(err); e.Message != "The model cannot be used for decisions." || !strings.Contains(e.Error(), "the labels have 0.1") {
			t.Errorf("%s: %v", kind, e)
		}
		b := d.backend(t, withModel(func(m *Model) { m.LabelMass = 0.05 }))
		if s, err := b.Score(t.Context(), question("B", "C")); err != nil || math.Abs(s.LabelMass()-0.1) > 1e-6 {
			t.Errorf("%s: %+v, %v", kind, s, err)
		}

		d = (&double{exact: kind, window: 100000, slots: 1, maxTopLogprobs: limits[kind], dist: prefilled}).serve(t)
		b = d.backend(t)
		for range 2 {
			s, err := b.Score(t.Context(), question("B", "C"))
			if err != nil || math.Abs(s.Probabilities[0]-0.75) > 1e-6 || math.Abs(s.LabelMass()-1) > 1e-6 {
				t.Errorf("%s: %+v, %v", kind, s, err)
			}
		}
		asked := d.seen()
		if last := asked[len(asked)-1]; last.Get("messages.2.content").Str != answerBegin || !strings.Contains(asked[len(asked)-2].Get("messages").Raw, answerBegin) {
			t.Errorf("%s: the way that works is not remembered", kind)
		}
	}
}

// TestThinkingIsFoundOut has a model that thinks until its template is told not to.
func TestThinkingIsFoundOut(t *testing.T) {
	d := (&double{}).serve(t)
	d.intercept = func(w http.ResponseWriter, r *request) bool {
		if r.body.Get("chat_template_kwargs.enable_thinking").Raw == "false" {
			return false
		}
		fmt.Fprint(w, `{"choices":[{"message":{"content":"","reasoning_content":"hm"},"finish_reason":"length","logprobs":{"content":[`+tokenJSON(token{"hm", 1}, `,"top_logprobs":[]`)+`]}}],"usage":{"prompt_tokens":10,"completion_tokens":1}}`)
		return true
	}
	b := d.backend(t)
	for range 2 {
		if _, err := b.Score(t.Context(), question("B", "C")); err != nil {
			t.Fatal(err)
		}
	}
	if calls := len(d.seen()); calls != 3 {
		t.Errorf("%d calls", calls)
	}
}

// TestWindowsAreLearned has servers refuse prompts in the forms that they have.
func TestWindowsAreLearned(t *testing.T) {
	for name, body := range map[string]string{
		"llama.cpp": `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`,
		"Ollama":    `{"error":{"message":"{\"error\":{\"code\":400,\"message\":\"too long\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":5000,\"n_ctx\":4096}}","type":"invalid_request_error","param":null,"code":null}}`,
		"vLLM":      `{"error":{"message":"This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.","type":"BadRequestError","param":null,"code":400}}`,
	} {
		d := (&double{}).serve(t)
		d.intercept = func(w http.ResponseWriter, _ *request) bool {
			w.WriteHeader(400)
			fmt.Fprint(w, body)
			return true
		}
		b := d.backend(t)
		_, err := b.Score(t.Context(), question("B", "C"))
		if e := fault.From(err); e == nil || e.Code != fault.CodeContextLength {
			t.Errorf("%s: %v", name, err)
		}
		if info, _ := b.Model(model.DefaultDecider); info.ContextWindow != 4096 {
			t.Errorf("%s: window %d", name, info.ContextWindow)
		}
		if calls := len(d.seen()); calls != 1 {
			t.Errorf("%s: %d calls", name, calls)
		}
	}
}

// TestCutPromptIsNoAnswer has a server that cuts the prompt without a word.
func TestCutPromptIsNoAnswer(t *testing.T) {
	d := (&double{}).serve(t)
	d.intercept = func(w http.ResponseWriter, r *request) bool {
		labels, _ := labelsIn(promptOf(r.body))
		fmt.Fprintf(w, `{"choices":[{"message":{"content":"B"},"finish_reason":"length","logprobs":{"content":[%s]}}],"usage":{"prompt_tokens":512,"completion_tokens":1}}`,
			tokenJSON(token{labels[0], 1}, `,"top_logprobs":[]`))
		return true
	}
	req := question("B", "C")
	req.State = []model.Part{model.Text(strings.Repeat("It rains in the city today. ", 1000))}
	_, err := d.backend(t).Score(t.Context(), req)
	if e := fault.From(err); e == nil || e.Code != fault.CodeContextLength {
		t.Errorf("got %v", err)
	}
}

// TestTargetsAreIntroduced reads the line that a start writes about a target.
func TestTargetsAreIntroduced(t *testing.T) {
	var lines bytes.Buffer
	d := (&double{exact: "llama", window: 4096, slots: 2, maxTopLogprobs: -1, dist: leaving(0.1, func(prompt string, _ int) []token {
		if strings.Contains(prompt, "Yes") {
			return []token{{"Yes", 0.5}, {"No", 0.5}}
		}
		return []token{{"B", 0.5}, {"C", 0.5}}
	})}).serve(t)
	b := d.backend(t, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&lines, nil)) })
	b.Probe(t.Context())
	for _, want := range []string{"kind=llama.cpp", "window=4096", "slots=2", "tokenizer=true", "exact=true", "thinks=false", "label_mass=0."} {
		if !strings.Contains(lines.String(), want) {
			t.Errorf("%s is not in\n%s", want, lines.String())
		}
	}
}

// TestForcedCallsAreRemembered has a server that ignores tool_choice.
func TestForcedCallsAreRemembered(t *testing.T) {
	d := (&double{}).serve(t)
	b := d.backend(t)
	for i, want := range []int{2, 1} {
		before := len(d.seen())
		req := &model.Request{Model: model.DefaultGenerator, Messages: []model.Message{model.TextMessage(model.User, "Hi")},
			Tools:      []model.Tool{{Name: "f", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}},
			ToolChoice: model.ToolChoice{Mode: model.ToolRequired}}
		called := false
		for event, err := range b.Generate(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			switch event.(type) {
			case model.ToolCallStart:
				called = true
			case model.TextDelta:
				t.Error("prose")
			}
		}
		if calls := len(d.seen()) - before; !called || calls != want {
			t.Errorf("answer %d: %d calls of the server", i+1, calls)
		}
	}
}

// TestLlamaServer decides with the real llama-server, where the environment says
// where it runs: LLAMA_SERVER_URL. Any model serves: the distribution is held
// against the one that the server's own completion route shows.
func TestLlamaServer(t *testing.T) {
	url := os.Getenv("LLAMA_SERVER_URL")
	if url == "" {
		t.Skip("LLAMA_SERVER_URL is not set")
	}
	d := &double{url: url + "/v1"}
	b := d.backend(t, withModel(func(m *Model) { m.LabelMass = 1e-12 }))
	labels := b.Labels(t.Context(), model.DefaultDecider, 255)
	if len(labels) < model.MaxLabels {
		t.Fatalf("%d labels", len(labels))
	}
	req := question(labels[:model.MaxLabels]...)
	var s *model.Scores
	var err error
	for range 2 { // the second time the prompt is in the cache, as it is below
		if s, err = b.Score(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	// The same prompt, and the whole distribution.
	server := b.models[0].targets[0]
	w := b.newScoreRequest(t.Context(), server, req)
	body, _ := w.encode()
	reply := postJSON(t, url+"/apply-template", body)
	body, _ = json.Marshal(map[string]any{"prompt": reply.Get("prompt").Str, "n_predict": 1, "id_slot": w.Slot, "n_probs": 100000, "samplers": []string{}, "temperature": 1})
	full := postJSON(t, url+"/completion", body)
	owners, err := server.labelTokens(t.Context(), labels[:model.MaxLabels])
	if err != nil {
		t.Fatal(err)
	}
	want, sum := make([]float64, model.MaxLabels), 0.0
	full.Get("completion_probabilities.0.top_logprobs").ForEach(func(_, entry gjson.Result) bool {
		if i, ok := owners[int(entry.Get("id").Int())]; ok {
			want[i] += math.Exp(entry.Get("logprob").Num)
			sum += math.Exp(entry.Get("logprob").Num)
		}
		return true
	})
	if sum == 0 {
		t.Fatalf("no label in %.300s", full.Raw)
	}
	for i := range want {
		if got := s.Probabilities[i] / s.LabelMass(); math.Abs(got-want[i]/sum) > 1e-6 {
			t.Errorf("%s: got %v, want %v", labels[i], got, want[i]/sum)
		}
	}
	if ratio := s.LabelMass() / sum; math.Abs(ratio-1) > 0.01 {
		t.Errorf("label mass %v, want %v", s.LabelMass(), sum)
	}
	t.Logf("label mass %v, %d labels", sum, len(labels))
}

func postJSON(t *testing.T, url string, body []byte) gjson.Result {
	t.Helper()
	resp, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s: %d %s %v", url, resp.StatusCode, data, err)
	}
	return gjson.ParseBytes(data)
}
