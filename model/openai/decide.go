package openai

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
)

// Decides names the way in which a model makes decisions.
type Decides string

// The ways. The zero value is to find out which its servers have.
const (
	SystemOne Decides = "systemone" // the server answers POST /v1/systemone
	Decisions Decides = "decisions" // the server answers POST /v1/decisions
	ByLabels  Decides = "labels"    // svcd reads the probabilities of labels
)

// decideWire is an interface by which a server decides by itself.
type decideWire struct {
	path string
	most int // questions of one call
	// empty is the body of a request without questions, which costs nothing:
	// a server that has the interface says that there must be some.
	empty func(w *jsonout.Writer, name string)
	// says reports whether a question can be said.
	says  func(*model.DecideQuestion) bool
	write func(w *jsonout.Writer, name string, req *model.DecideRequest)
	// read returns the probabilities of each question's options, nil where an
	// answer cannot be used.
	read func(answer gjson.Result, questions []model.DecideQuestion) [][]float64
}

var decideWires = map[Decides]*decideWire{
	SystemOne: {"/systemone", 16, emptySystemOne, sayableSystemOne, writeSystemOne, readSystemOne},
	Decisions: {"/decisions", 400, emptyDecisions, func(*model.DecideQuestion) bool { return true }, writeDecisions, readDecisions},
}

// maxSum is how far probabilities may be from adding up to 1.
const maxSum = 1e-3

var errNoAnswers = errors.New("openai: the server's decision has no answer that names every option with probabilities that add up to 1")

// Decide implements [model.Decider].
func (b *Backend) Decide(ctx context.Context, req *model.DecideRequest) (*model.Decision, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m := b.find(req.Model)
	if m == nil {
		return nil, notFound(req.Model, nil)
	}
	if m.Decides == ByLabels || m.NoImages && hasImages(req) {
		return nil, model.ErrUndecided
	}
	var decision *model.Decision
	var a asked
	err := m.do(ctx, req.Tenant, func(ctx context.Context, t *target) (err error) {
		way := t.decides(ctx, m)
		if way == ByLabels {
			return model.ErrUndecided
		}
		a.begin()
		decision, err = b.decide(ctx, t, way, req)
		a.end(ctx, err)
		if err == nil {
			t.health.well()
			return nil
		}
		f, ok := errors.AsType[*failure](err)
		switch {
		case ok && f.fault.Kind == fault.Rejected && f.fault.Code != fault.CodeContextLength:
			return fmt.Errorf("%w: %w", model.ErrUndecided, f.fault)
		case ok && noRoute(f.status):
			if m.Decides == "" { // another server
				t.deciding.mu.Lock()
				t.deciding.served = ""
				t.deciding.mu.Unlock()
				t.known.Store(nil)
			}
			return fmt.Errorf("%w: %w", model.ErrUndecided, f.fault)
		}
		return err
	})
	if err != nil {
		return nil, a.cut(err, []string{string(req.State)}, nil)
	}
	return decision, nil
}

func hasImages(req *model.DecideRequest) bool {
	return len(req.Images) > 0 || slices.ContainsFunc(req.Questions, func(q model.DecideQuestion) bool { return len(q.Images) > 0 })
}

// noRoute reports whether a status says that a server does not have a route.
func noRoute(status int) bool {
	return status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented
}

// decides returns how a target decides. What is not configured is found out: where
// servers of the kind answer decisions for every chat model, from labels as we do, our
// own way is taken, and otherwise requests without questions tell. What was found
// holds until another server, or another model, stands there.
func (t *target) decides(ctx context.Context, m *served) Decides {
	if m.Decides != "" {
		return m.Decides
	}
	a := t.about(ctx)
	served := string(a.kind) + " " + a.model
	t.deciding.mu.Lock()
	defer t.deciding.mu.Unlock()
	before := t.deciding.way
	if before != "" && (a.kind == unknown || t.deciding.served == served) {
		return before
	}
	if traitsOf[a.kind].decidesAny {
		t.deciding.set(ByLabels, served)
	} else if k := t.facts.get(); k.decides != "" && time.Now().Before(k.decidesUntil) {
		return k.decides
	} else if way, sure := t.findDecides(ctx, m); sure && a.kind != unknown {
		t.deciding.set(way, served)
	} else {
		t.facts.learn(func(k *known) { k.decides, k.decidesUntil = way, time.Now().Add(unknownFor) })
		return way
	}
	if before != "" && before != t.deciding.way {
		t.log.LogAttrs(ctx, slog.LevelWarn, "the model decides in another way than before, since another server answers; calibrations are void",
			slog.String("server", t.URL), slog.String("model", t.model(m.Info.ID)), slog.String("before", string(before)), slog.String("decides", string(t.deciding.way)))
	}
	return t.deciding.way
}

// findDecides asks the server for the ways to decide, and is sure where the server
// has said for each whether it has it.
func (t *target) findDecides(ctx context.Context, m *served) (way Decides, sure bool) {
	ctx, cancel := context.WithTimeout(ctx, identifyTime)
	defer cancel()
	sure = true
	for _, candidate := range []Decides{SystemOne, Decisions} {
		has, said := t.has(ctx, decideWires[candidate], t.model(m.Info.ID))
		if has {
			return candidate, true
		}
		sure = sure && said
	}
	return ByLabels, sure
}

// deciding is how a target decides, as it was found out.
type deciding struct {
	mu     sync.Mutex // held while it is found out
	way    Decides    // empty: not found out
	served string     // the kind of the server and its model, as they were then
}

func (d *deciding) set(way Decides, served string) { d.way, d.served = way, served }

// has asks whether the server has an interface for a model, and is sure where
// the server has said so.
func (t *target) has(ctx context.Context, wire *decideWire, name string) (has, sure bool) {
	var w jsonout.Writer
	wire.empty(&w, name)
	x, err := t.send(ctx, post("", t.URL+wire.path, w.Buf))
	if err == nil {
		defer x.close()
		data, err := x.read()
		return err == nil && gjson.GetBytes(data, "answers").Exists(), err == nil
	}
	f, ok := errors.AsType[*failure](err)
	if !ok || f.status == 0 || f.busy() || f.status >= 500 && !noRoute(f.status) {
		return false, false
	}
	// A server that does not know the route may say anything; one that does says
	// what is wrong with the questions.
	return f.refuses() && strings.Contains(strings.ToLower(fmt.Sprint(f.fault.Err)), "question"), true
}

// decide asks about all questions that the wire can say, in one call where the
// wire takes so many.
func (b *Backend) decide(ctx context.Context, t *target, way Decides, req *model.DecideRequest) (*model.Decision, error) {
	wire := decideWires[way]
	var places []int
	for i := range req.Questions {
		if wire.says(&req.Questions[i]) {
			places = append(places, i)
		}
	}
	d := &model.Decision{Probabilities: make([][]float64, len(req.Questions)), Reading: t.reading(req.Model, string(way))}
	for part := range slices.Chunk(places, wire.most) {
		if err := b.decidePart(ctx, t, wire, req, part, d); err != nil {
			return nil, err
		}
	}
	usable := func(p []float64) bool { return p != nil }
	if !slices.ContainsFunc(d.Probabilities, usable) {
		return nil, fmt.Errorf("%w: %w", model.ErrUndecided, fault.Upstreamf(fmt.Errorf("%s: %w", t.host, errNoAnswers), "The model's answer could not be used."))
	}
	return d, nil
}

// decidePart makes one call about the questions at places and adds what comes of
// it to d.
func (b *Backend) decidePart(ctx context.Context, t *target, wire *decideWire, req *model.DecideRequest, places []int, d *model.Decision) error {
	said := *req
	said.Questions = make([]model.DecideQuestion, len(places))
	for i, place := range places {
		said.Questions[i] = req.Questions[place]
	}
	var w jsonout.Writer
	wire.write(&w, t.model(req.Model), &said)
	x, err := t.send(ctx, post(req.Tenant, t.URL+wire.path, w.Buf))
	if err != nil {
		return err
	}
	defer x.close()
	answer, err := x.whole(maxEvent)
	if err != nil {
		return err
	}
	used := t.within(parseDecisionUsage(answer.Get("usage")), len(places))
	state, questions := b.estimateDecision(&said)
	p := b.beginning(t, req.Model, func(add func(string)) { add(string(req.State)) })
	if err := b.checkCount(t, p, used.InputTokens, state+questions); err != nil {
		return err
	}
	usable := 0
	for i, p := range wire.read(answer, said.Questions) {
		if p = normal(p); p != nil && labelMass(answer, i, said.Questions[i].Name) >= t.of.leastMass() {
			d.Probabilities[places[i]] = p
			usable++
		}
	}
	if usable < len(places) {
		b.log.LogAttrs(ctx, slog.LevelWarn, "a decision of the server's has answers that cannot be used; labels are scored instead",
			slog.String("server", t.URL), slog.Int("questions", len(places)), slog.Int("usable", usable))
	}
	countDecision(d, state, questions, used)
	return nil
}

// labelMass returns how much probability the labels of a question have together, as
// servers say it that read labels: with the answer, or for all. It is 1 where the
// server does not say it.
func labelMass(answer gjson.Result, place int, name string) float64 {
	answers := answer.Get("answers")
	one := answers.Map()[name]
	if answers.IsArray() {
		one = answers.Get(strconv.Itoa(place))
	}
	for _, mass := range []gjson.Result{one.Get("label_mass"), answer.Get("label_mass")} {
		if mass.Type == gjson.Number {
			return mass.Num
		}
	}
	return 1
}

// normal returns probabilities scaled to add up to 1, nil where they are none.
func normal(p []float64) []float64 {
	sum := 0.0
	for _, x := range p {
		if !(x >= 0 && x <= 1+maxSum) {
			return nil
		}
		sum += x
	}
	if math.Abs(sum-1) > maxSum {
		return nil
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// byName returns the probabilities of options by their names: nil where one is
// missing, is no number or is none of the options.
func byName(given gjson.Result, options []model.DecideOption) []float64 {
	named := map[string]float64{}
	given.ForEach(func(name, p gjson.Result) bool {
		named[name.Str] = number(p)
		return true
	})
	return inOrder(named, options)
}

func inOrder(named map[string]float64, options []model.DecideOption) []float64 {
	if len(named) != len(options) {
		return nil
	}
	p := make([]float64, len(options))
	for i, o := range options {
		x, ok := named[o.Name]
		if !ok {
			return nil
		}
		p[i] = x
	}
	return p
}

// number returns a number, and NaN for anything else.
func number(r gjson.Result) float64 {
	if r.Type != gjson.Number {
		return math.NaN()
	}
	return r.Num
}

func parseDecisionUsage(u gjson.Result) model.Usage {
	return model.Usage{InputTokens: count(u, "input_tokens"), OutputTokens: count(u, "output_tokens")}
}

// estimateDecision estimates the tokens of a state with its images and of all
// questions.
func (b *Backend) estimateDecision(req *model.DecideRequest) (state, questions int) {
	state = b.estimateText(string(req.State))
	for _, image := range req.Images {
		state += image.Tokens()
	}
	for i := range req.Questions {
		questions += b.estimateQuestion(&req.Questions[i])
	}
	return state, questions
}

// countDecision adds the tokens of one call to d: those that the server tells,
// split as they are estimated to, or the estimates.
func countDecision(d *model.Decision, state, questions int, told model.Usage) {
	if told.InputTokens > 0 {
		questions = int(float64(questions) / float64(max(questions+state, 1)) * float64(told.InputTokens))
		state = told.InputTokens - questions
	}
	d.StateTokens = state // once, whatever the number of calls
	d.QuestionTokens += questions
	d.OutputTokens += told.OutputTokens
}

func (b *Backend) estimateQuestion(q *model.DecideQuestion) int {
	tokens := b.estimateText(q.Instructions)
	for _, o := range q.Options {
		tokens += b.estimateText(o.Name) + b.estimateText(string(o.Description))
	}
	for _, image := range q.Images {
		tokens += image.Tokens()
	}
	return tokens
}
