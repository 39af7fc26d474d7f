package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/model"
)

// double is a model server that behaves as real ones do. The zero value of its
// settings is the behaviour of Ollama, with an answer that the request calls for;
// they must not be changed once it serves.
type double struct {
	url string

	// What the model says; nil and empty are a default.
	say       func(req gjson.Result) string // the text, in whatever form was asked for
	chunks    func(req gjson.Result) []string
	reasoning string
	thoughts  string                                             // the field that reasoning is sent in, or "think" for tags in the text
	dist      func(prompt string, position int) []token          // the distribution at each position
	intercept func(w http.ResponseWriter, r *doubleRequest) bool // answers instead; true where it did

	// How the server differs.
	maxTopLogprobs int      // 0 is 20, -1 any number
	noLogprobs     bool     // log-probabilities are left out
	efforts        []string // that are accepted; nil is all
	noUsage        bool
	tokenizer      string // "vllm", "llama" or none
	window         int    // that vLLM and llama.cpp tell
	whole          bool   // answers with JSON though a stream was asked for
	keepTools      bool   // honours tool_choice

	judges  bool // answers POST /v1/systemone
	counted int  // tokens that it says a decision had; 0: about as many as it has

	exact     string // "llama", "vllm" or "sglang": also what only that kind has
	slots     int
	old       bool           // an exact server does not know the fields that came last
	processed bool           // vLLM shows probabilities of after a restriction
	vocab     map[string]int // of an exact server; guarded by mu

	mu       sync.Mutex
	requests []gjson.Result // of chat completions; guarded by mu
	prompts  []string       // guarded by mu
}

// doubleRequest is a request for a chat completion and how it was sent.
type doubleRequest struct {
	*http.Request
	body   gjson.Result
	number int // from 1
}

// serve starts the double.
func (d *double) serve(t testing.TB) *double {
	t.Helper()
	s := httptest.NewServer(d)
	t.Cleanup(s.Close)
	d.url = s.URL + "/v1"
	return d
}

// backend returns a backend whose models run on the double, with the settings
// changed by options.
func (d *double) backend(t testing.TB, options ...func(*Options)) *Backend {
	t.Helper()
	server := &Server{URL: d.url}
	target := []Target{{Server: server, Model: "double"}}
	o := Options{Logger: slog.New(slog.DiscardHandler), Models: []Model{
		{Info: model.Info{ID: model.DefaultGenerator, Generates: true, Embeds: true}, Targets: target},
		{Info: model.Info{ID: model.DefaultDecider, Decides: true}, Targets: target},
	}}
	for _, option := range options {
		option(&o)
	}
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// server changes the double's server in the options.
func withServer(change func(*Server)) func(*Options) {
	return func(o *Options) { change(o.Models[0].Targets[0].Server) }
}

// withModel changes every model.
func withModel(change func(*Model)) func(*Options) {
	return func(o *Options) {
		for i := range o.Models {
			change(&o.Models[i])
		}
	}
}

func (d *double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	switch {
	case d.exact != "" && r.URL.Path != "/v1/chat/completions" && d.exactPage(w, r, gjson.ParseBytes(body)):
	case r.URL.Path == "/v1/models":
		window := ""
		if d.tokenizer == "vllm" {
			window = fmt.Sprintf(`,"max_model_len":%d`, d.window)
		}
		fmt.Fprintf(w, `{"object":"list","data":[{"id":"double","object":"model"%s}]}`, window)
	case r.URL.Path == "/props" && d.tokenizer == "llama":
		fmt.Fprintf(w, `{"default_generation_settings":{"n_ctx":%d}}`, d.window)
	case r.URL.Path == "/v1/chat/completions":
		d.chat(w, r, gjson.ParseBytes(body))
	case r.URL.Path == "/v1/systemone" && d.judges:
		d.judge(w, gjson.ParseBytes(body))
	case r.URL.Path == "/v1/embeddings":
		embed(w, gjson.ParseBytes(body))
	case r.URL.Path == "/tokenize" && d.tokenizer != "":
		d.tokenize(w, gjson.ParseBytes(body))
	default:
		http.Error(w, "404 page not found", http.StatusNotFound)
	}
}

func (d *double) tokenize(w http.ResponseWriter, req gjson.Result) {
	if d.tokenizer == "vllm" {
		fmt.Fprintf(w, `{"count":%d,"max_model_len":%d,"tokens":[1]}`, len(words(req.Get("prompt").Str)), d.window)
		return
	}
	tokens := make([]int, len(words(req.Get("content").Str)))
	list, _ := json.Marshal(tokens)
	fmt.Fprintf(w, `{"tokens":%s}`, list)
}

// embed gives each text its length and its first byte.
func embed(w http.ResponseWriter, req gjson.Result) {
	var vectors []string
	for _, text := range req.Get("input").Array() {
		vectors = append(vectors, fmt.Sprintf(`{"embedding":[%d,%d]}`, len(text.Str), text.Str[0]))
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(vectors, ","))
}

// judge decides: every option is as likely as the others of its question.
func (d *double) judge(w http.ResponseWriter, req gjson.Result) {
	questions := req.Get("questions").Map()
	if len(questions) == 0 {
		refuse(w, http.StatusUnprocessableEntity, "questions: must have 1 to 16 questions")
		return
	}
	answers := map[string]any{}
	for name, q := range questions {
		p, n := map[string]float64{}, int(q.Get("criteria.#").Int())
		if q.Get("criteria").IsObject() {
			n = len(q.Get("criteria").Map())
		}
		q.Get("criteria").ForEach(func(key, _ gjson.Result) bool {
			option := key.Str
			if q.Get("type").Str == "score" {
				option = fmt.Sprint(len(p))
			}
			p[option] = 1 / float64(n)
			return true
		})
		answers[name] = map[string]any{"type": q.Get("type").Str, "noul": 0.5, "probabilities": p}
	}
	tokens := d.counted
	if tokens == 0 {
		tokens = len(req.Get("state").Raw+req.Get("questions").Raw) / 4
	}
	w.Header().Set("Content-Type", "application/json")
	data, _ := json.Marshal(map[string]any{"answers": answers, "usage": map[string]int{"input_tokens": tokens}})
	w.Write(data)
}

// refuse answers with an error as Ollama writes it.
func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":%q,"type":"api_error","param":null,"code":null}}`, message)
}

func (d *double) chat(w http.ResponseWriter, r *http.Request, req gjson.Result) {
	prompt := promptOf(req)
	d.mu.Lock()
	d.requests = append(d.requests, req)
	number := len(d.requests)
	cached := d.prefix(prompt)
	d.prompts = append(d.prompts, prompt)
	d.mu.Unlock()

	if d.intercept != nil && d.intercept(w, &doubleRequest{r, req, number}) {
		return
	}
	most := d.maxTopLogprobs
	if most == 0 {
		most = 20
	}
	if n := req.Get("top_logprobs").Int(); most > 0 && n > int64(most) {
		message := "top_logprobs must be between 0 and 20"
		if d.exact == "vllm" {
			message = fmt.Sprintf("Requested sample logprobs of %d, which is greater than max allowed: %d", n, most)
		}
		refuse(w, http.StatusBadRequest, message)
		return
	}
	if e := req.Get("reasoning_effort"); e.Exists() && d.efforts != nil && !slices.Contains(d.efforts, e.Str) {
		refuse(w, http.StatusBadRequest, "invalid reasoning effort")
		return
	}
	a := d.answer(req)
	a.usage = model.Usage{InputTokens: len(words(prompt)), CachedTokens: len(words(prompt[:cached])),
		OutputTokens: len(a.thoughts) + len(a.pieces), ReasoningTokens: len(a.thoughts)}
	if req.Get("stream").Bool() && !d.whole {
		d.stream(w, req, a)
		return
	}
	d.complete(w, req, prompt, a)
}

// prefix returns how many bytes of a prompt an earlier one began with. The lock
// is held.
func (d *double) prefix(prompt string) int {
	longest := 0
	for _, p := range d.prompts {
		n := 0
		for n < min(len(p), len(prompt)) && p[n] == prompt[n] {
			n++
		}
		longest = max(longest, n)
	}
	return longest
}

// promptOf is the prompt that a chat template makes of a request.
func promptOf(req gjson.Result) string {
	var b strings.Builder
	for _, m := range req.Get("messages").Array() {
		b.WriteString("<|" + m.Get("role").Str + "|>")
		for _, part := range m.Get("content").Array() {
			b.WriteString(part.Get("text").Str + part.Get("image_url.url").Str)
		}
		b.WriteString(m.Get("content").Str + m.Get("tool_calls").Raw)
	}
	return b.String() + req.Get("tools").Raw
}

// words splits a text into what the double calls tokens: words with the blanks
// before them.
func words(text string) []string {
	var tokens []string
	begin := 0
	for i := 1; i < len(text); i++ {
		if text[i] == ' ' && text[i-1] != ' ' {
			tokens = append(tokens, text[begin:i])
			begin = i
		}
	}
	if begin < len(text) {
		tokens = append(tokens, text[begin:])
	}
	return tokens
}

// doubleReply is what the double says.
type doubleReply struct {
	thoughts []string
	pieces   []string
	finish   string
	call     gjson.Result // of a tool, where tool_choice is honoured
	usage    model.Usage
}

func (d *double) answer(req gjson.Result) doubleReply {
	a := doubleReply{finish: "stop"}
	if d.chunks != nil {
		a.pieces = d.chunks(req)
	} else {
		text := d.text(req)
		for _, stop := range req.Get("stop").Array() {
			text, _, _ = strings.Cut(text, stop.Str)
		}
		a.pieces = words(text)
	}
	a.thoughts = words(d.reasoning)
	limit := int(req.Get("max_tokens").Int() + req.Get("max_completion_tokens").Int())
	if limit > 0 && len(a.thoughts)+len(a.pieces) > limit {
		a.thoughts = a.thoughts[:min(limit, len(a.thoughts))]
		a.pieces, a.finish = a.pieces[:limit-len(a.thoughts)], "length"
	}
	if name := req.Get("tool_choice.function.name"); d.keepTools && name.Exists() {
		a = doubleReply{finish: "tool_calls", call: name}
	}
	return a
}

func (d *double) text(req gjson.Result) string {
	if d.say != nil {
		return d.say(req)
	}
	switch req.Get("response_format.type").Str {
	case "json_object":
		return `{"name": "Ada", "age": 36}` + strings.Repeat(" \n", 50)
	case "json_schema":
		return fill(req.Get("response_format.json_schema.schema"))
	}
	return "One is first. Two is second. Three is third. Four is fourth."
}

// fill returns JSON for a schema.
func fill(schema gjson.Result) string {
	if first := schema.Get("enum.0"); first.Exists() {
		return first.Raw
	}
	switch schema.Get("type").Str {
	case "object":
		var members []string
		schema.Get("properties").ForEach(func(key, value gjson.Result) bool {
			members = append(members, key.Raw+": "+fill(value))
			return true
		})
		return "{" + strings.Join(members, ", ") + "}"
	case "integer", "number":
		return "36"
	case "array":
		return "[]"
	}
	return `"Ada"`
}

// stream answers with server-sent events.
func (d *double) stream(w http.ResponseWriter, req gjson.Result, a doubleReply) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := w.(http.Flusher).Flush
	send := func(choices, more string) {
		fmt.Fprintf(w, "data: {\"id\":\"chatcmpl-7\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"double\",\"system_fingerprint\":\"fp\",\"choices\":[%s]%s}\n\n", choices, more)
		flush()
	}
	delta := func(field, text string) {
		quoted, _ := json.Marshal(text)
		send(fmt.Sprintf(`{"index":0,"delta":{"role":"assistant",%q:%s},"finish_reason":null}`, field, quoted), "")
	}
	if d.thoughts == "think" {
		text := "<think>" + strings.Join(a.thoughts, "") + "</think>\n\n"
		for len(text) > 0 {
			n := min(5, len(text)) // in the midst of tags
			delta("content", text[:n])
			text = text[n:]
		}
		a.thoughts = nil
	}
	for _, thought := range a.thoughts {
		delta(d.thoughts, thought)
	}
	for _, piece := range a.pieces {
		delta("content", piece)
	}
	if a.call.Exists() {
		send(fmt.Sprintf(`{"index":0,"delta":{"tool_calls":[{"id":"call_1","index":0,"type":"function","function":{"name":%q,"arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":null}`, a.call.Str), "")
	}
	send(fmt.Sprintf(`{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":%q}`, a.finish), "")
	if req.Get("stream_options.include_usage").Bool() && !d.noUsage {
		send("", `,"usage":`+usageJSON(a.usage))
	}
	io.WriteString(w, "data: [DONE]\n\n")
}

func usageJSON(u model.Usage) string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}`,
		u.InputTokens, u.OutputTokens, u.InputTokens+u.OutputTokens, u.CachedTokens, u.ReasoningTokens)
}

// complete answers with one JSON object.
func (d *double) complete(w http.ResponseWriter, req gjson.Result, prompt string, a doubleReply) {
	w.Header().Set("Content-Type", "application/json")
	text, _ := json.Marshal(strings.Join(a.pieces, ""))
	thoughts := ""
	if d.thoughts != "" && d.thoughts != "think" {
		thoughts = fmt.Sprintf(`,%q:%q`, d.thoughts, strings.Join(a.thoughts, ""))
	}
	logprobs := ""
	if req.Get("logprobs").Bool() && !d.noLogprobs {
		logprobs = `,"logprobs":{"content":[` + d.logprobs(req, prompt) + `]}`
	}
	if d.exact == "sglang" && !d.old && req.Get("return_prompt_token_ids").Bool() {
		d.mu.Lock()
		id := slices.Index(d.prompts, prompt)
		d.mu.Unlock()
		logprobs += fmt.Sprintf(`,"prompt_token_ids":[%d]`, id) // a vocabulary of whole prompts
	}
	usage := ""
	if !d.noUsage {
		usage = `,"usage":` + usageJSON(a.usage)
	}
	fmt.Fprintf(w, `{"id":"chatcmpl-7","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":%s%s},"finish_reason":%q%s}]%s}`,
		text, thoughts, a.finish, logprobs, usage)
}

// logprobs writes the distributions at as many positions as were asked for.
func (d *double) logprobs(req gjson.Result, prompt string) string {
	dist := d.dist
	if dist == nil {
		dist = uniformLabels
	}
	if answer := d.exactLogprobs(req, dist(prompt, 0)); answer != "" {
		return answer
	}
	var positions []string
	for i := range int(req.Get("max_tokens").Int()) {
		tokens := dist(prompt, i)
		if len(tokens) == 0 {
			break
		}
		tokens = d.allowed(req, slices.Clone(tokens))
		slices.SortStableFunc(tokens, func(a, b token) int {
			switch {
			case a.mass > b.mass:
				return -1
			case a.mass < b.mass:
				return 1
			}
			return 0
		})
		var top []string
		for _, t := range tokens[:min(len(tokens), int(req.Get("top_logprobs").Int()))] {
			top = append(top, tokenJSON(t, ""))
		}
		positions = append(positions, tokenJSON(tokens[0], `,"top_logprobs":[`+strings.Join(top, ",")+`]`))
	}
	return strings.Join(positions, ",")
}

func tokenJSON(t token, more string) string {
	text, _ := json.Marshal(t.text)
	logprob := -9999.0
	if t.mass > 0 {
		logprob = math.Log(t.mass)
	}
	number, _ := json.Marshal(logprob)
	return fmt.Sprintf(`{"token":%s,"logprob":%s,"bytes":null%s}`, text, number, more)
}

// labelsIn returns the labels that a prompt lists, and what each stands for.
func labelsIn(prompt string) (labels, texts []string) {
	_, question, _ := strings.Cut(prompt, "label only.\n")
	if question == "" {
		question = prompt
	}
	for line := range strings.Lines(question) {
		label, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		if ok && label != "" && len(label) <= 3 && !strings.ContainsAny(label, " -") {
			labels = append(labels, label)
			texts = append(texts, strings.TrimSpace(text))
		}
	}
	return labels, texts
}

// uniformLabels is a distribution with the same mass on each label of a prompt.
func uniformLabels(prompt string, _ int) []token {
	labels, _ := labelsIn(prompt)
	tokens := make([]token, len(labels))
	for i, label := range labels {
		tokens[i] = token{label, 1 / float64(len(labels))}
	}
	return tokens
}

// seen returns the requests for chat completions so far.
func (d *double) seen() []gjson.Result {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.requests)
}
