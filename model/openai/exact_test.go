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
	"net/http/httptest"
	"os"
	"runtime"
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
	case "sglang /tokenize": // the numbers alone
		var ids []string
		for _, t := range split(req.Get("prompt").Str) {
			ids = append(ids, strconv.Itoa(d.id(t)))
		}
		fmt.Fprintf(w, `{"count":%d,"max_model_len":%d,"tokens":[%s]}`, len(ids), d.window, strings.Join(ids, ","))
	case "sglang /detokenize":
		text, _ := json.Marshal(d.spelling(int(req.Get("tokens.0").Int())))
		fmt.Fprintf(w, `{"text":%s}`, text)
	case "sglang /generate":
		if d.old {
			return false
		}
		d.generate(w, req)
	case "vllm /tokenize":
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

// split is the vocabulary of an exact double: words with a blank before them, and ends
// of lines, but no pair of letters that begins with Q.
func split(text string) []string {
	var tokens []string
	for _, line := range strings.SplitAfter(text, "\n") {
		line, end := strings.CutSuffix(line, "\n")
		for _, word := range words(line) {
			if i := strings.Index(word, "Q"); i >= 0 && len(word) > i+1 {
				tokens = append(tokens, word[:i+1], word[i+1:])
				continue
			}
			tokens = append(tokens, word)
		}
		if end {
			tokens = append(tokens, "\n")
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

// spelling is the token with an ID.
func (d *double) spelling(id int) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for token, its := range d.vocab {
		if its == id {
			return token
		}
	}
	return ""
}

// generate is SGLang's own route: the log-probabilities of the tokens asked for
// behind a prompt of tokens.
func (d *double) generate(w http.ResponseWriter, req gjson.Result) {
	d.mu.Lock()
	prompt := d.prompts[req.Get("input_ids.0").Int()]
	d.mu.Unlock()
	masses := map[int]float64{}
	for _, t := range d.dist(prompt, 0) {
		masses[d.id(t.text)] = t.mass
	}
	var list []string
	for _, id := range req.Get("token_ids_logprob").Array() {
		logprob, _ := json.Marshal(max(math.Log(masses[int(id.Int())]), -1000))
		list = append(list, fmt.Sprintf("[%s,%d,null]", logprob, id.Int()))
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"text":"x","meta_info":{"output_token_ids_logprobs":[[%s]]}}`, strings.Join(list, ","))
}

// allowed is what vLLM makes of a distribution where only some tokens are allowed:
// it samples among those, and shows the whole unless it is set up otherwise.
func (d *double) allowed(req gjson.Result, tokens []token) []token {
	only := req.Get("allowed_token_ids")
	if d.exact != "vllm" || !d.processed || !only.Exists() {
		return tokens
	}
	sum, ids := 0.0, map[int]bool{}
	for _, id := range only.Array() {
		ids[int(id.Int())] = true
	}
	for i, t := range tokens {
		if !ids[d.id(t.text)] {
			tokens[i].mass = 0
		}
		sum += tokens[i].mass
	}
	for i := range tokens {
		tokens[i].mass /= sum
	}
	return tokens
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
	case d.exact == "vllm" && !d.old && req.Get("logprob_token_ids").Exists():
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
				b := d.backend(t)
				b.Probe(t.Context())
				before := len(d.seen())
				resp := decider(t, b)(decision("x", choice(n)))
				for _, o := range resp.Answers[0].Outcomes {
					if want := weights[o.Name] / sum; math.Abs(o.Probability-want) > 1e-6 {
						t.Errorf("%s: got %v, want %v", o.Name, o.Probability, want)
					}
				}
				if calls := len(d.seen()) - before; calls != 1 {
					t.Errorf("%d calls", calls)
				}
			})
		}
	}
}

// steep is a distribution with labels so unlikely that others come before them.
func steep(n int) (weights map[string]float64, sum float64) {
	weights = map[string]float64{}
	for i := range n {
		w := math.Pow(0.9, float64(i*700/n))
		weights["o"+strconv.Itoa(i)] = w
		sum += w
	}
	return weights, sum
}

// TestLabelsThatAreNotAmongTheLikeliest has labels behind more tokens than a server
// shows: each kind has another way to ask for those.
func TestLabelsThatAreNotAmongTheLikeliest(t *testing.T) {
	many := func(dist func(string, int) []token) func(string, int) []token {
		return func(prompt string, position int) []token {
			tokens := leaving(0.3, dist)(prompt, position)
			for i := range 700 {
				tokens = append(tokens, token{"other" + strconv.Itoa(40+i), 1e-9})
			}
			return tokens
		}
	}
	for name, c := range map[string]struct {
		d       *double
		options int
		calls   int // at most
	}{
		"SGLang":                        {&double{exact: "sglang", maxTopLogprobs: -1}, 255, 1},
		"SGLang, few":                   {&double{exact: "sglang", maxTopLogprobs: -1}, 5, 1},
		"vLLM":                          {&double{exact: "vllm"}, 255, 1},
		"vLLM that restricts":           {&double{exact: "vllm", old: true, processed: true}, 5, 1 + 4},
		"vLLM that shows more tokens":   {&double{exact: "vllm", old: true, maxTopLogprobs: -1}, 5, 1},
		"vLLM that shows enough tokens": {&double{exact: "vllm", old: true, maxTopLogprobs: 1000}, 100, 1},
	} {
		t.Run(name, func(t *testing.T) {
			weights, sum := steep(c.options)
			c.d.window, c.d.dist = 100000, many(weigh(weights))
			c.d.serve(t)
			b := c.d.backend(t)
			b.Probe(t.Context())
			decide := decider(t, b)
			decide(decision("x", choice(c.options))) // what it takes is learned
			before := len(c.d.seen())
			for _, o := range decide(decision("x", choice(c.options))).Answers[0].Outcomes {
				if want := weights[o.Name] / sum; math.Abs(o.Probability-want) > 1e-6 {
					t.Errorf("%s: got %v, want %v", o.Name, o.Probability, want)
				}
			}
			if calls := len(c.d.seen()) - before; calls > c.calls {
				t.Errorf("%d calls", calls)
			}
		})
	}
}

// TestOldServers do not know what shows all labels at once: the options are asked
// in groups, from the first decision on.
func TestOldServers(t *testing.T) {
	for name, d := range map[string]*double{
		"vLLM":                {exact: "vllm", old: true},
		"vLLM that restricts": {exact: "vllm", old: true, processed: true},
		"vLLM that refuses": {exact: "vllm", intercept: func(w http.ResponseWriter, r *doubleRequest) bool {
			if !r.body.Get("logprob_token_ids").Exists() {
				return false
			}
			refuse(w, 400, "Extra inputs are not permitted: logprob_token_ids")
			return true
		}},
		"SGLang": {exact: "sglang", old: true, maxTopLogprobs: -1},
	} {
		t.Run(name, func(t *testing.T) {
			weights := map[string]float64{}
			sum := 0.0
			for i := range 255 {
				w := math.Pow(0.97, float64(i))
				weights["o"+strconv.Itoa(i)] = w
				sum += w
			}
			d.window, d.dist = 100000, leaving(0.1, weigh(weights))
			d.serve(t)
			resp := decider(t, d.backend(t))(decision("x", choice(255)))
			for _, o := range resp.Answers[0].Outcomes {
				if want := weights[o.Name] / sum; math.Abs(o.Probability-want) > 0.005 {
					t.Errorf("%s: got %v, want %v", o.Name, o.Probability, want)
				}
			}
		})
	}
}

// TestRestrictedAnswers has a model that writes a preface unless its server keeps
// it to a form.
func TestRestrictedAnswers(t *testing.T) {
	for name, said := range map[string][]string{
		"one token each":     {`{"`, "answer", `":`, ` "`, "B", `"}`},
		"the form in pieces": {"{", " \"", "ans", "wer", `":"`, "B", `"`, "}"},
		"quotes in tokens":   {`{"answer`, `":`, `"B`, `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			d := (&double{}).serve(t)
			d.intercept = func(w http.ResponseWriter, r *doubleRequest) bool {
				form := r.body.Get("response_format.json_schema.schema.properties.answer.enum")
				tokens := []string{"Sure", ",", " the", " answer", " is", " B"}
				if form.Raw == `["B","C"]` {
					tokens = said
				}
				var positions []string
				for i, text := range tokens {
					top := tokenJSON(token{text, 0.9}, "")
					if strings.Trim(text, `"`) == "B" {
						other := strings.ReplaceAll(text, "B", "C")
						top = tokenJSON(token{text, 0.6}, "") + "," + tokenJSON(token{other, 0.3}, "")
					}
					positions = append(positions, tokenJSON(token{text, 0.9}, `,"top_logprobs":[`+top+`]`))
					if int64(i+1) == r.body.Get("max_tokens").Int() {
						break
					}
				}
				fmt.Fprintf(w, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop","logprobs":{"content":[%s]}}],"usage":{"prompt_tokens":10,"completion_tokens":1}}`, strings.Join(positions, ","))
				return true
			}
			b := d.backend(t)
			for range 2 {
				s, err := b.Score(t.Context(), question("B", "C"))
				if err != nil || !near(s.Probabilities[0], 0.6) || !near(s.Probabilities[1], 0.3) {
					t.Fatalf("got %+v, %v", s, err)
				}
			}
			if calls := len(d.seen()); calls != 5 { // one token, many, begun, in the form, and that again
				t.Errorf("%d calls", calls)
			}
		})
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
	d.intercept = func(w http.ResponseWriter, r *doubleRequest) bool {
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
		d.intercept = func(w http.ResponseWriter, _ *doubleRequest) bool {
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

// TestFullWindowIsNoFailureOfTheServer has llama.cpp run out of window in an answer.
func TestFullWindowIsNoFailureOfTheServer(t *testing.T) {
	d := (&double{intercept: func(w http.ResponseWriter, _ *doubleRequest) bool {
		w.WriteHeader(500)
		fmt.Fprint(w, `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`)
		return true
	}}).serve(t)
	_, err := d.backend(t).Score(t.Context(), question("B", "C"))
	checkFault(t, err, fault.Rejected, fault.CodeContextLength)
	if calls := len(d.seen()); calls != 1 {
		t.Errorf("%d calls", calls)
	}
}

// TestCutPromptIsNoAnswer has a server that cuts the prompt without a word.
func TestCutPromptIsNoAnswer(t *testing.T) {
	d := (&double{}).serve(t)
	count := 512
	d.intercept = func(w http.ResponseWriter, r *doubleRequest) bool {
		if r.body.Get("stream").Bool() {
			return events(delta(`{"content":"B"}`), finish("stop"), fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`, count), "[DONE]")(w, r)
		}
		label := token{"B", 1}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"choices":[{"message":{"content":"B"},"finish_reason":"length","logprobs":{"content":[%s]}}],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`,
			tokenJSON(label, `,"top_logprobs":[`+tokenJSON(label, "")+`]`), count)
		return true
	}
	text := strings.Repeat("It rains in the city today. ", 1000)
	req := question("B", "C")
	req.State = []model.Part{model.Text(text)}
	_, err := d.backend(t).Score(t.Context(), req)
	checkFault(t, err, fault.Rejected, fault.CodeContextLength)
	for _, whole := range []bool{false, true} {
		req := ask(text)
		req.Whole = whole
		b := d.backend(t)
		a := fold(t.Context(), b, req)
		checkFault(t, a.err, fault.Rejected, fault.CodeContextLength)
		if a.usage.InputTokens != 512 || a.reason != "" {
			t.Errorf("got %+v", a)
		}
		if info, _ := b.Model(model.DefaultGenerator); info.ContextWindow != 0 {
			t.Errorf("window %d", info.ContextWindow) // what was counted is nobody's window
		}
		// What is long and has few tokens all the same, and what a template leaves out.
		if a := fold(t.Context(), b, ask("x")); a.err != nil {
			t.Error(a.err)
		}
		b = d.backend(t)
		if a := fold(t.Context(), b, ask(strings.Repeat(" ", 20_000))); a.err != nil {
			t.Error(a.err)
		}
		thought := ask("x")
		thought.Messages = append([]model.Message{{Role: model.Assistant, Parts: []model.Part{model.Text("y")}, Reasoning: text}}, thought.Messages...)
		if a := fold(t.Context(), b, thought); a.err != nil {
			t.Error(a.err)
		}
	}
	// A server that counts what was not in its cache, or nothing.
	count = 20
	if _, err := d.backend(t).Score(t.Context(), req); err != nil {
		t.Error(err)
	}
	if a := fold(t.Context(), d.backend(t), ask(text)); a.err != nil {
		t.Error(a.err)
	}
}

// TestCutDecisionIsNoAnswer has a server that decides about a part of the state.
func TestCutDecisionIsNoAnswer(t *testing.T) {
	d := (&double{judges: true, counted: 512}).serve(t)
	state, _ := json.Marshal(strings.Repeat("It rains in the city today. ", 1000))
	req := &model.DecideRequest{Model: model.DefaultDecider, State: state, Questions: []model.DecideQuestion{
		{Name: "q", Kind: model.DecideNoul, Instructions: "Does it?", Options: []model.DecideOption{{Name: "Yes"}, {Name: "No"}}}}}
	_, err := d.backend(t).Decide(t.Context(), req)
	checkFault(t, err, fault.Rejected, fault.CodeContextLength)
	req.State = json.RawMessage(`"It rains."`)
	if _, err := d.backend(t).Decide(t.Context(), req); err != nil {
		t.Error(err)
	}
}

// TestOllamaTellsItsWindow in two places, of which the one about the loaded model
// counts.
func TestOllamaTellsItsWindow(t *testing.T) {
	for want, show := range map[int]string{
		4096:  `{"parameters":"stop \"x\"\nnum_ctx                        8192","model_info":{"qwen3.context_length":40960}}`,
		8192:  `{"parameters":"stop \"x\"\nnum_ctx                        8192","model_info":{"qwen3.context_length":40960}}`,
		40960: `{"model_info":{"general.architecture":"qwen3","qwen3.context_length":40960}}`,
	} {
		d := &double{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch {
			case r.URL.Path == "/api/version":
				fmt.Fprint(w, `{"version":"0.36.0"}`)
			case r.URL.Path == "/api/ps" && want == 4096:
				fmt.Fprint(w, `{"models":[{"name":"other:latest","context_length":1},{"name":"double:latest","context_length":4096}]}`)
			case r.URL.Path == "/api/ps":
				fmt.Fprint(w, `{"models":[]}`)
			case r.URL.Path == "/api/show":
				fmt.Fprint(w, show)
			default:
				d.ServeHTTP(w, r)
			}
		}))
		defer server.Close()
		d.url = server.URL + "/v1"
		b := d.backend(t)
		b.Probe(t.Context())
		if info, _ := b.Model(model.DefaultGenerator); info.ContextWindow != want {
			t.Errorf("got %d, want %d", info.ContextWindow, want)
		}
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

// TestForcedCallsOfSeveralTargets has one target that is down and one that ignores
// tool_choice: the latter is the one that is remembered.
func TestForcedCallsOfSeveralTargets(t *testing.T) {
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }))
	defer down.Close()
	deaf := (&double{}).serve(t)
	b := deaf.backend(t, withModel(func(m *Model) {
		m.Targets = []Target{{Server: &Server{URL: down.URL + "/v1"}, Model: "double"}, m.Targets[0]}
	}))
	req := ask("Hi")
	req.Tools, req.ToolChoice.Mode = []model.Tool{{Name: "f", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}}, model.ToolRequired
	if a := fold(t.Context(), b, req); a.err != nil || a.text != "" || !slices.Equal(a.calls, []string{`f{"a": "Ada"}`}) {
		t.Errorf("got %+v", a)
	}
	first, second := b.models[0].targets[0], b.models[0].targets[1]
	if first.facts.get().unforced || !second.facts.get().unforced {
		t.Error("the wrong target is remembered")
	}
	// Now the first is known to be down, so that the other one comes first.
	for !first.health.ailing.Load() {
		runtime.Gosched()
	}
	before := len(deaf.seen())
	if a := fold(t.Context(), b, req); a.err != nil || !slices.Equal(a.calls, []string{`f{"a": "Ada"}`}) {
		t.Errorf("got %+v", a)
	}
	if calls := len(deaf.seen()) - before; calls != 1 {
		t.Errorf("%d calls", calls)
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
