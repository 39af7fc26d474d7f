package openai

import (
	"context"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/model"
)

// scorer reads a distribution over labels in the way of one kind of server.
type scorer interface {
	// score completes the request and sends it. The error is errUnfit where this
	// way cannot ask for these labels, and errLacking where the server does not
	// have it.
	score(ctx context.Context, t *target, w *wireRequest, labels []string) (*labelReading, error)
}

// errUnfit and errLacking say that a way to read a distribution does not serve for
// a question or for a server; another one may.
var (
	errUnfit   = errors.New("openai: the labels cannot be asked for in this way")
	errLacking = errors.New("openai: the server does not show what was asked for")
)

// labelReading is what one answer says about labels.
type labelReading struct {
	reading
	used   int  // positions up to the label; 0: there is none
	shown  int  // positions
	thinks bool // the model has thought before it answered
	usage  model.Usage
	x      *call // closed; to make errors of
}

// newLabelReading returns what an answer says beside its distribution.
func newLabelReading(answer gjson.Result, x *call) *labelReading {
	message := answer.Get("choices.0.message")
	text := strings.TrimSpace(message.Get("content").Str)
	inner, tagged := strings.CutPrefix(text, thinkOpen)
	thought, _, _ := strings.Cut(inner, thinkClose)
	return &labelReading{
		thinks: message.Get("reasoning").Str != "" || message.Get("reasoning_content").Str != "" ||
			tagged && strings.TrimSpace(thought) != "" || text == thinkOpen,
		usage: parseUsage(answer.Get("usage")), x: x,
	}
}

// complete reports whether nothing is missing that could matter.
func (s *labelReading) complete() bool {
	const negligible = 1e-7
	return s.hidden <= negligible || !slices.ContainsFunc(s.masses, math.IsNaN)
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

// exact returns the ways of the target's kind that show every label, the best
// first.
func (t *target) exact(ctx context.Context) (ways []scorer) {
	k := t.facts.get()
	for _, way := range traitsOf[t.about(ctx).kind].exact {
		if !k.lacking[way] {
			ways = append(ways, way)
		}
	}
	return ways
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

func (biased) score(ctx context.Context, t *target, w *wireRequest, labels []string) (*labelReading, error) {
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
	s := newLabelReading(answer, x)
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
		return nil, errLacking
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

func (named) score(ctx context.Context, t *target, w *wireRequest, labels []string) (*labelReading, error) {
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
	s := newLabelReading(answer, x)
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
		read, _ := parseToken(shown)
		s.masses[i] += read.mass
		return true
	})
	if slices.ContainsFunc(s.masses, math.IsNaN) {
		return nil, errLacking
	}
	s.used, s.shown = 1, 1
	return s, nil
}

// listed is the way of all servers: the likeliest tokens at the positions of an
// answer.
type listed struct{ tokens int }

func (l listed) score(ctx context.Context, t *target, w *wireRequest, labels []string) (*labelReading, error) {
	s, _, err := l.read(ctx, t, w, labels)
	if err == nil && len(labels) > model.MaxLabels && s.hidden > mostHidden && !s.complete() {
		return nil, s.x.unusable(errNoLabel)
	}
	return s, err
}

// read asks and reads, and returns the answer, too.
func (l listed) read(ctx context.Context, t *target, w *wireRequest, labels []string) (*labelReading, gjson.Result, error) {
	answer, positions, x, err := l.ask(ctx, t, w, len(labels))
	if err != nil {
		return nil, answer, err
	}
	s := newLabelReading(answer, x)
	s.reading, s.used = readLabels(positions, labels)
	s.hidden, s.shown = min(s.hidden, 1), len(positions)
	return s, answer, nil
}

// ask asks for an answer and the likeliest tokens at its positions, of which there
// is one at least: as many as the server shows, or as tell labels apart.
func (l listed) ask(ctx context.Context, t *target, w *wireRequest, labels int) (gjson.Result, []position, *call, error) {
	w.Logprobs, w.TopLogprobs = true, t.top(ctx, labels)
	w.limit(t.server, l.tokens)
	answer, x, err := t.ask(ctx, w)
	if most := toldTop(err, w); most > 0 {
		t.facts.learn(func(k *known) { k.top = most })
		w.TopLogprobs = most
		answer, x, err = t.ask(ctx, w)
	}
	if err != nil {
		return answer, nil, nil, hint(err, errNoLogprobs)
	}
	if w.TopLogprobs == mostTop {
		t.facts.learn(func(k *known) { k.top = mostTop })
	}
	positions := parsePositions(answer.Get("choices.0.logprobs"))
	if len(positions) == 0 {
		return answer, nil, nil, x.unusable(errNoLogprobs)
	}
	return answer, positions, x, nil
}

const (
	// mostHidden is the mass that may lie on tokens that were not shown where there
	// are more labels than a server shows tokens.
	mostHidden = 1e-3

	// mostTop is how many log-probabilities tell the most labels apart that a
	// question has: each with and without a blank, and words among them.
	mostTop = 2*255 + behind
)

// top is how many log-probabilities are asked for. SGLang shows any number, and
// vLLM as many as it was started for, which is found out.
func (t *target) top(ctx context.Context, labels int) int {
	if t.TopLogprobs != DefaultTopLogprobs {
		return t.TopLogprobs
	}
	enough := max(t.TopLogprobs, 2*labels+behind)
	switch of := traitsOf[t.about(ctx).kind]; {
	case of.anyTop:
		return enough
	case of.toldTop:
		if k := t.facts.get(); k.top > 0 {
			return min(enough, k.top)
		}
		return mostTop
	}
	return t.TopLogprobs
}

// topIn is where vLLM says how many log-probabilities it shows at most.
var topIn = regexp.MustCompile(`logprobs.*max allowed: ([0-9]{1,6})`)

// toldTop returns how many log-probabilities may be asked for where an error is
// about those that were, and otherwise 0.
func toldTop(err error, w *wireRequest) int {
	f, ok := errors.AsType[*failure](err)
	if !ok || !f.refuses() || w.TopLogprobs <= DefaultTopLogprobs {
		return 0
	}
	text := f.fault.Error()
	if found := topIn.FindStringSubmatch(text); found != nil {
		if most, err := strconv.Atoi(found[1]); err == nil && most < w.TopLogprobs {
			return most
		}
	}
	if strings.Contains(text, "logprobs") {
		return DefaultTopLogprobs
	}
	return 0
}
