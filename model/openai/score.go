package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
)

// manyTokens is how many tokens an answer may have where the label does not come
// where it was expected, and fewTokens where the answer was begun for the model.
const (
	manyTokens = 16
	fewTokens  = 4
)

var (
	errNoLogprobs = errors.New("the server returns no log-probabilities, which decisions are read from")
	errNoLabel    = errors.New("the model does not begin its answer with a label; where it thinks before it answers, " +
		"no_thinking in the configuration says how it is kept from that")
)

// Score implements [model.Scorer].
func (b *Backend) Score(ctx context.Context, req *model.ScoreRequest) (*model.Scores, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m := b.find(req.Model)
	if m == nil {
		return nil, notFound(req.Model, nil)
	}
	if m.NoImages && (len(req.Images) > 0 || slices.ContainsFunc(req.State, isImage)) {
		return nil, errNoImages()
	}
	var scores *model.Scores
	var a asked
	err := m.do(ctx, req.Tenant, func(ctx context.Context, t *target) error {
		a.begin()
		var err error
		if scores, err = b.readScores(ctx, t, req); err == nil {
			t.health.well()
		}
		a.end(ctx, err)
		return err
	})
	if err != nil {
		return nil, a.cut(err, append([]string{req.Instructions}, textsOf(req.State)...), []string{req.Question})
	}
	return scores, nil
}

// try is one way to read a distribution.
type try struct {
	way       scorer
	prefilled bool // with the begin of the answer in the request
}

// answerBegin is what an answer is begun with for a model that does not begin it
// with a label.
const answerBegin = "Answer:"

// tries are the ways to read a distribution from a target: the one that worked last,
// then the cheapest first.
func (t *target) tries(ctx context.Context) iter.Seq[try] {
	return func(yield func(try) bool) {
		last := t.facts.get().try
		if last.way != nil && !yield(last) {
			return
		}
		var all, begun []try
		for _, way := range t.exact(ctx) {
			all, begun = append(all, try{way: way}), append(begun, try{way: way, prefilled: true})
		}
		all = append(all, t.plainly(), try{way: listed{manyTokens}}, try{way: listed{fewTokens}, prefilled: true})
		for _, how := range append(append(all, begun...), try{way: restricted{}}) {
			if how != last && !yield(how) {
				return
			}
		}
	}
}

// plainly is the way of all servers, with as many tokens as the target's answers
// need.
func (t *target) plainly() try { return try{way: listed{max(1, t.facts.get().lead)}} }

// readScores reads the distribution at the first token of the answer, in the way
// that worked for the target last, or else in the first that shows labels with
// the least mass that they need. Where none does there is no answer.
func (b *Backend) readScores(ctx context.Context, t *target, req *model.ScoreRequest) (*model.Scores, error) {
	least := t.of.leastMass()
	labels := make([]string, len(req.Options))
	for i, o := range req.Options {
		labels[i] = o.Label
	}
	question := b.states.questionKey(req)
	if err, refused := t.refusals.get(question, time.Now(), refusedLately); refused {
		return nil, err
	}
	var failed failedTries
	for how := range t.tries(ctx) {
		s, err := b.try(ctx, t, req, how, labels)
		f, isFailure := errors.AsType[*failure](err)
		switch {
		case err == errUnfit, err == errLacking:
			if err == errLacking || len(labels) > model.MaxLabels { // which were made to fit
				t.facts.learn(func(k *known) { k.lacks(how.way) })
			}
			failed.add(unusableAt(t, err))
		case err != nil && failed.why != nil && isFailure && f.fault.Code == fault.CodeContextLength:
			failed.add(err) // the question itself did fit
		case err != nil && (!isFailure || !f.refuses() || how.plain() || f.fault.Code == fault.CodeContextLength):
			return nil, err
		case err != nil: // this way of asking is not the caller's
			failed.refused = append(failed.refused, how.way)
			failed.add(unusableAt(t, err))
		case s.used == 0 || s.mass() < least:
			failed.cost = new(model.Scores) // of one answer, as that of any other question
			b.count(t, req, failed.cost, s.usage, s.shown)
			failed.add(s.x.unusable(fmt.Errorf("%w; %w", errNoLabel, &model.NoLabels{Mass: s.mass()})))
		default:
			b.succeeds(t, how, s, failed.refused)
			return b.scores(t, req, s, how)
		}
	}
	t.refusals.put(question, failed.why, time.Now())
	if failed.cost != nil {
		return nil, &model.Cut{StateTokens: failed.cost.StateTokens, QuestionTokens: failed.cost.QuestionTokens, Err: failed.why}
	}
	return nil, failed.why
}

// failedTries are the ways to read a distribution that did not work for a question.
type failedTries struct {
	why     error         // of all, the one that tells the most
	mass    float64       // of the labels in it
	cost    *model.Scores // of the last answer, nil where there was none
	refused []scorer      // what the server does not take
}

func (f *failedTries) add(err error) {
	none, known := errors.AsType[*model.NoLabels](err)
	if f.why == nil || known && none.Mass > f.mass {
		f.why = err
	}
	if known {
		f.mass = max(f.mass, none.Mass)
	}
}

// succeeds remembers the way that worked for a target, and what the target refused
// before it took this.
func (b *Backend) succeeds(t *target, how try, s *labelReading, refused []scorer) {
	k := t.facts.get()
	lead := k.lead
	if how.plain() { // from now on the first of the plain ones reads as many tokens
		lead = max(lead, s.used)
		how.way = listed{lead}
	}
	if k.tested && k.try == how && k.lead == lead && len(refused) == 0 {
		return
	}
	t.facts.learn(func(k *known) {
		k.tested, k.try, k.lead = true, how, lead
		for _, way := range refused {
			k.lacks(way)
		}
	})
}

// name names the way in a reading: what changes the prompt, or what the model may say,
// makes another one.
func (t try) name() string {
	name := string(ByLabels)
	if t.way == (restricted{}) {
		name += " in a form"
	}
	if t.prefilled {
		name += " behind " + answerBegin
	}
	return name
}

// plain reports whether a way is that of all servers and models.
func (t try) plain() bool {
	_, ok := t.way.(listed)
	return ok && !t.prefilled
}

// scores returns what an answer says, unless the prompt was cut.
func (b *Backend) scores(t *target, req *model.ScoreRequest, s *labelReading, how try) (*model.Scores, error) {
	// The first question about a state tells; the others are not estimated again.
	if _, known := b.states.get(b.sharedOf(t, req).key); !known {
		p := b.beginning(t, req.Model, func(add func(string)) {
			add(req.Instructions)
			for _, part := range req.State {
				add(partText(part))
			}
			add(req.Question)
		})
		if err := b.checkCount(t, p, s.usage.InputTokens, b.estimateState(req)+b.estimateText(req.Question)); err != nil {
			return nil, err
		}
	}
	scores := &model.Scores{Probabilities: s.masses, Hidden: s.hidden, Reading: t.reading(req.Model, how.name())}
	b.count(t, req, scores, s.usage, s.shown)
	return scores, nil
}

// unusableAt returns the error for a target that makes no decision.
func unusableAt(t *target, cause error) error {
	return &failure{fault: fault.Upstreamf(fmt.Errorf("%s: %w", t.host, cause), "The model cannot be used for decisions.")}
}

// try asks a question in one way. A model that thinks before it answers is told
// not to by other means, once for each there is.
func (b *Backend) try(ctx context.Context, t *target, req *model.ScoreRequest, how try, labels []string) (*labelReading, error) {
	for {
		w := b.newScoreRequest(ctx, t, req)
		if how.prefilled {
			w.begin(answerBegin, t.about(ctx).kind)
		}
		s, err := how.way.score(ctx, t, w, labels)
		if err != nil || !s.thinks || !t.thinkLess() {
			return s, err
		}
	}
}

// thinkLess goes on to the next means to keep the model from thinking. It reports
// whether there was one.
func (t *target) thinkLess() (more bool) {
	if t.noThinking != "" {
		return false
	}
	t.facts.learn(func(k *known) { more, k.template = !k.template, true })
	return more
}

// begin begins the answer. Some servers continue a last message of the
// assistant's only where they are told to.
func (w *wireRequest) begin(text string, k kind) {
	last := &w.messages[len(w.messages)-1]
	if last.Role == model.Assistant {
		last.Parts = append(slices.Clip(last.Parts), model.Text(text))
		return
	}
	w.messages = append(w.messages, model.TextMessage(model.Assistant, text))
	if !traitsOf[k].continues {
		yes, no := true, false
		w.ContinueFinal, w.AddGenerationPrompt = &yes, &no
	}
}

// shared is what a target is told with each question about a state.
type shared struct {
	key   uint64 // of what the questions are about
	begun []byte // the messages up to the question; nil where there are images
}

// sharedOf returns what the request shares with other questions.
func (b *Backend) sharedOf(t *target, req *model.ScoreRequest) *shared {
	return req.Memo.Once(t, func() any {
		s := &shared{key: b.states.stateKey(t, req)}
		if !slices.ContainsFunc(req.State, isImage) {
			w := &wireRequest{}
			messages := []model.Message{model.TextMessage(model.System, req.Instructions), {Role: model.User, Parts: req.State}}
			out := jsonout.Writer{Buf: make([]byte, 0, messagesSize(messages))}
			for i := range messages {
				w.message(&out, &messages[i])
			}
			s.begun = bytes.TrimSuffix(out.Buf, []byte(`"}`))
		}
		return s
	}).(*shared)
}

// newScoreRequest returns the request that asks a question. What questions share
// comes first and is the same to the byte.
func (b *Backend) newScoreRequest(ctx context.Context, t *target, req *model.ScoreRequest) *wireRequest {
	shared := b.sharedOf(t, req)
	parts := []model.Part{model.Text(req.Question)}
	begun := shared.begun
	if begun == nil || len(req.Images) > 0 {
		begun = nil
		parts = slices.Clip(req.State)
		for _, image := range req.Images {
			parts = append(parts, image)
		}
		parts = append(parts, model.Text(req.Question))
	}
	zero := 0.0
	w := &wireRequest{
		tenant: req.Tenant, Model: t.model(req.Model), Temperature: &zero,
		begun: begun, messages: []model.Message{{Role: model.User, Parts: parts}},
	}
	if begun == nil {
		w.messages = []model.Message{model.TextMessage(model.System, req.Instructions), w.messages[0]}
	}
	if a := t.about(ctx); a.kind == llamaCPP && a.slots > 1 {
		slot := int(shared.key % uint64(a.slots)) // which has the state in its cache
		w.Slot = &slot
	}
	way, known := t.noThinking, t.facts.get()
	if way == "" && known.template {
		way = TemplateOff
	}
	switch way {
	case "", EffortNone:
		if !known.noEffort {
			w.ReasoningEffort = "none"
		}
	case TemplateOff:
		w.ChatTemplateKwargs = map[string]bool{"enable_thinking": false}
	case Prefill:
		yes, no := true, false
		w.messages = append(w.messages, model.TextMessage(model.Assistant, thinkOpen+"\n\n"+thinkClose+"\n\n"))
		w.ContinueFinal, w.AddGenerationPrompt = &yes, &no
	}
	return w
}

// ask sends a request and returns the whole answer. A server that refuses a
// reasoning effort is asked without one, now and from then on.
func (t *target) ask(ctx context.Context, w *wireRequest) (gjson.Result, *call, error) {
	answer, x, err := t.complete(ctx, w)
	f, ok := errors.AsType[*failure](err)
	if !ok || !f.refuses() || f.fault.Code == fault.CodeContextLength || toldTop(err, w) > 0 || w.ReasoningEffort == "" || t.noThinking != "" {
		return answer, x, err
	}
	effort := w.ReasoningEffort
	w.ReasoningEffort = ""
	if answer, x, again := t.complete(ctx, w); again == nil {
		t.facts.learn(func(k *known) { k.noEffort = true })
		return answer, x, nil
	}
	w.ReasoningEffort = effort // it was not that
	return answer, x, err
}

// complete sends a request and returns the whole answer, and the exchange, which
// is closed, to make errors of.
func (t *target) complete(ctx context.Context, w *wireRequest) (gjson.Result, *call, error) {
	x, err := t.chat(ctx, w)
	if err != nil {
		return gjson.Result{}, nil, err
	}
	defer x.close()
	answer, err := x.whole(maxEvent)
	return answer, x, err
}

// unusable returns the error for an answer that makes no decision, whoever is
// asked.
func (x *call) unusable(cause error) error {
	return &failure{fault: fault.Upstreamf(x.named(cause), "The model cannot be used for decisions.")}
}

// hint adds what an operator may do to the cause of a refusal.
func hint(err, what error) error {
	f, ok := errors.AsType[*failure](err)
	if !ok || f.fault.Kind != fault.Rejected || f.fault.Code == fault.CodeContextLength {
		return err
	}
	g := *f.fault
	g.Err = fmt.Errorf("%w (if it is about logprobs: %w)", g.Err, what)
	return &failure{fault: &g, status: f.status}
}

// count fills in the tokens. Servers tell those of the whole prompt: where they
// split into state and question is estimated once for a state, and its questions
// get the rest.
func (b *Backend) count(t *target, req *model.ScoreRequest, s *model.Scores, told model.Usage, generated int) {
	told = t.within(told, 1)
	s.OutputTokens = max(told.OutputTokens, generated)
	key := b.sharedOf(t, req).key
	state, known := b.states.get(key)
	if !known || told.InputTokens == 0 {
		state = b.estimateState(req)
		question := b.estimateText(req.Question)
		if told.InputTokens == 0 {
			s.StateTokens, s.QuestionTokens = state, question
			return
		}
		share := float64(question) / float64(max(question+state, 1))
		state = told.InputTokens - int(share*float64(told.InputTokens)+0.5)
		b.states.put(key, state)
	}
	s.StateTokens = min(state, told.InputTokens)
	s.QuestionTokens = told.InputTokens - s.StateTokens
}

func (b *Backend) estimateState(req *model.ScoreRequest) int {
	tokens := b.estimateText(req.Instructions)
	for _, part := range req.State {
		if image, ok := part.(model.Image); ok {
			tokens += image.Tokens()
			continue
		}
		tokens += b.estimateText(partText(part))
	}
	return tokens
}
