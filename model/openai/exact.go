package openai

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/model"
)

// scorer reads a distribution over labels in the way of one kind of server.
type scorer interface {
	// score completes the request and sends it. The error is errUnfit where this
	// way cannot ask for these labels.
	score(ctx context.Context, t *target, w *wireRequest, labels []string) (*sheet, error)
}

// errUnfit says that a way to read a distribution does not serve for a question
// or a server; another one may.
var errUnfit = errors.New("openai: the labels cannot be asked for in this way")

// sheet is what one answer says about labels.
type sheet struct {
	reading
	used   int  // positions up to the label; 0: there is none
	shown  int  // positions
	thinks bool // the model has thought before it answered
	usage  model.Usage
	x      *exchange // closed; to make errors of
}

// newSheet returns what an answer says beside its distribution.
func newSheet(answer gjson.Result, x *exchange) *sheet {
	message := answer.Get("choices.0.message")
	text := strings.TrimSpace(message.Get("content").Str)
	inner, tagged := strings.CutPrefix(text, thinkOpen)
	thought, _, _ := strings.Cut(inner, thinkClose)
	return &sheet{
		thinks: message.Get("reasoning").Str != "" || message.Get("reasoning_content").Str != "" ||
			tagged && strings.TrimSpace(thought) != "" || text == thinkOpen,
		usage: parseUsage(answer.Get("usage")), x: x,
	}
}

// mass is what the labels that were shown have together.
func (r *reading) mass() float64 {
	sum := 0.0
	for _, m := range r.masses {
		if !math.IsNaN(m) {
			sum += m
		}
	}
	return sum
}

// exact returns the way of the target's kind that shows every label, nil where
// there is none.
func (t *target) exact(ctx context.Context) scorer {
	if t.facts.get().inexact {
		return nil
	}
	switch t.about(ctx).kind {
	case llamaCPP:
		return biased{}
	case vLLM:
		return named{}
	}
	return nil
}

// biased is llama.cpp's way. A bias far above all differences of logits leaves
// the distribution among the labels as it is and puts them before every other
// token; without samplers the server shows that distribution. As the bias is
// known, so is how much the next likeliest tokens had without it.
type biased struct{}

const (
	labelBias = 50
	behind    = 64 // tokens asked for behind the labels
)

func (biased) score(ctx context.Context, t *target, w *wireRequest, labels []string) (*sheet, error) {
	owners, err := t.labelTokens(ctx, labels)
	if err != nil {
		return nil, err
	}
	one := 1.0
	w.Temperature, w.Samplers, w.PostSamplingProbs = &one, &[]string{}, true
	w.Logprobs, w.TopLogprobs = true, len(owners)+behind
	w.limit(t.server, 1)
	var bias [][2]int
	for id := range owners {
		bias = append(bias, [2]int{id, labelBias})
	}
	slices.SortFunc(bias, func(a, b [2]int) int { return a[0] - b[0] })
	if w.LogitBias, err = encode(bias); err != nil {
		return nil, err
	}
	answer, x, err := t.ask(ctx, w)
	if err != nil {
		return nil, err
	}
	s := newSheet(answer, x)
	s.reading = reading{masses: make([]float64, len(labels))}
	on, off, strangers := 0.0, 0.0, 0
	for _, token := range answer.Get("choices.0.logprobs.content.0.top_probs").Array() {
		p := token.Get("prob").Float()
		if i, ok := owners[int(token.Get("id").Int())]; ok {
			s.masses[i] += p
			on += p
		} else {
			off += p
			strangers++
		}
	}
	if strangers == 0 || !(on > 0) { // the mass of the labels would not be known
		return nil, errUnfit
	}
	mass := 1 / (1 + off/on*math.Exp(labelBias))
	for i := range s.masses {
		s.masses[i] *= mass / on
	}
	s.used, s.shown = 1, 1
	return s, nil
}

// named is vLLM's way: it shows the log-probabilities of the tokens that are
// asked for by ID.
type named struct{}

func (named) score(ctx context.Context, t *target, w *wireRequest, labels []string) (*sheet, error) {
	owners, err := t.labelTokens(ctx, labels)
	if err != nil {
		return nil, err
	}
	for id := range owners {
		w.LogprobTokenIDs = append(w.LogprobTokenIDs, id)
	}
	slices.Sort(w.LogprobTokenIDs)
	w.Logprobs, w.ReturnTokenIDs = true, true
	w.limit(t.server, 1)
	answer, x, err := t.ask(ctx, w)
	if err != nil {
		return nil, err
	}
	s := newSheet(answer, x)
	s.reading = newReading(len(labels))
	answer.Get("choices.0.logprobs.content.0.top_logprobs").ForEach(func(_, shown gjson.Result) bool {
		number, ok := strings.CutPrefix(shown.Get("token").Str, "token_id:")
		id, err := strconv.Atoi(number)
		i, asked := owners[id]
		if !ok || err != nil || !asked {
			return true
		}
		if math.IsNaN(s.masses[i]) {
			s.masses[i] = 0
		}
		s.masses[i] += parseToken(shown).mass
		return true
	})
	if slices.ContainsFunc(s.masses, math.IsNaN) {
		return nil, errUnfit
	}
	s.used, s.shown = 1, 1
	return s, nil
}

// listed is the way of all servers: the likeliest tokens at the positions of an
// answer.
type listed struct{ tokens int }

func (l listed) score(ctx context.Context, t *target, w *wireRequest, labels []string) (*sheet, error) {
	w.Logprobs, w.TopLogprobs = true, t.top(ctx, len(labels))
	w.limit(t.server, l.tokens)
	answer, x, err := t.ask(ctx, w)
	if err != nil {
		return nil, hint(err, errNoLogprobs)
	}
	positions := parsePositions(answer.Get("choices.0.logprobs"))
	if len(positions) == 0 {
		return nil, x.unusable(errNoLogprobs)
	}
	s := newSheet(answer, x)
	s.reading, s.used = readLabels(positions, labels)
	s.hidden, s.shown = min(s.hidden, 1), len(positions)
	if missing := slices.ContainsFunc(s.masses, math.IsNaN); len(labels) > model.MaxLabels && missing && s.hidden > mostHidden {
		return nil, x.unusable(errNoLabel)
	}
	return s, nil
}

// mostHidden is the mass that may lie on tokens that were not shown where there
// are more labels than a server shows tokens.
const mostHidden = 1e-3

// top is how many log-probabilities are asked for. SGLang shows any number.
func (t *target) top(ctx context.Context, labels int) int {
	if t.TopLogprobs == DefaultTopLogprobs && t.about(ctx).kind == sgLang {
		return max(t.TopLogprobs, 2*labels+behind)
	}
	return t.TopLogprobs
}

// labelTokens returns the tokens that spell labels, with the index of their
// label. The error is errUnfit where a label has none or shares one.
func (t *target) labelTokens(ctx context.Context, labels []string) (map[int]int, error) {
	owners := map[int]int{}
	for i, label := range labels {
		ids := t.spellings(ctx, label)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, id := range ids {
			if _, taken := owners[id]; taken {
				return nil, errUnfit
			}
			owners[id] = i
		}
		if len(ids) == 0 {
			return nil, errUnfit
		}
	}
	return owners, nil
}

// spellings returns the tokens that are a label alone, with or without a blank
// before it, and for a word in any case. It asks the server's tokenizer once.
func (t *target) spellings(ctx context.Context, label string) []int {
	if ids, ok := t.spelled.Load(label); ok {
		return ids.([]int)
	}
	forms := []string{label}
	if isWord(label) {
		forms = append(forms, strings.ToLower(label), strings.ToUpper(label))
	}
	var ids []int
	for _, form := range forms {
		for _, before := range []string{" ", "\n"} { // some vocabularies put a blank before a text by themselves
			tokens, err := t.pieces(ctx, before+form)
			if err != nil {
				return nil
			}
			if n := len(tokens); n > 0 && strings.Trim(tokens[n-1].text, padding) == form && !slices.Contains(ids, tokens[n-1].id) {
				ids = append(ids, tokens[n-1].id)
			}
		}
	}
	t.spelled.Store(label, ids)
	return ids
}

// piece is a token of a text.
type piece struct {
	id   int
	text string
}

// pieces returns the tokens of a text as the server's tokenizer has them.
func (t *target) pieces(ctx context.Context, text string) ([]piece, error) {
	ctx, cancel := context.WithTimeout(ctx, tokenizeTime)
	defer cancel()
	body, err := encode(struct {
		Model      string `json:"model,omitempty"`
		Prompt     string `json:"prompt"`
		Content    string `json:"content"`
		Special    bool   `json:"add_special_tokens"`
		WithPieces bool   `json:"with_pieces"`
		Strings    bool   `json:"return_token_strs"`
	}{t.name, text, text, false, true, true})
	if err != nil {
		return nil, err
	}
	x, err := t.send(ctx, "POST", t.root()+"/tokenize", body)
	if err != nil {
		return nil, err
	}
	defer x.close()
	data, err := x.read()
	if err != nil {
		return nil, err
	}
	answer := gjson.ParseBytes(data)
	strs := answer.Get("token_strs").Array()
	var tokens []piece
	for i, token := range answer.Get("tokens").Array() {
		switch {
		case token.IsObject():
			tokens = append(tokens, piece{int(token.Get("id").Int()), token.Get("piece").Str})
		case i < len(strs):
			tokens = append(tokens, piece{int(token.Int()), strs[i].Str})
		}
	}
	return tokens, nil
}

// Labels implements [model.Labeler]. Where every server of the model shows the
// labels that it is asked for there are as many as its vocabularies have, up to
// the number wanted, and otherwise as many as servers show.
func (b *Backend) Labels(ctx context.Context, id string, n int) []string {
	few := model.Letters[:min(n, model.MaxLabels)]
	m := b.find(id)
	if n <= model.MaxLabels || m == nil || m.AskProbabilities {
		return few
	}
	for _, t := range m.targets {
		if !t.wide(ctx) {
			return few
		}
	}
	var labels []string
	for _, label := range candidates() {
		if !slices.ContainsFunc(m.targets, func(t *target) bool { return len(t.spellings(ctx, label)) == 0 }) {
			labels = append(labels, label)
		}
		if len(labels) == n {
			return labels
		}
		if ctx.Err() != nil {
			break
		}
	}
	return few
}

// wide reports whether the target shows more labels than others do.
func (t *target) wide(ctx context.Context) bool {
	return t.exact(ctx) != nil || t.about(ctx).kind == sgLang && t.TopLogprobs == DefaultTopLogprobs
}

// candidates are what may be a label: letters, then pairs of letters.
func candidates() []string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	labels := slices.Clone(model.Letters)
	for _, first := range alphabet {
		for _, second := range alphabet {
			labels = append(labels, string(first)+string(second))
		}
	}
	return labels
}
