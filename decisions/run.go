package decisions

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/model"
)

// plan is how one question is put to the model: in one call, or where it has
// more options than that in one call about groups of options and one about the
// options of each group.
type plan struct {
	question *question
	groups   [][]option // nil for a single call
	first    *call
	within   []*call // by group; nil for one that is skipped

	// orders ask the same with the options in other orders, so that the model's
	// preference for places evens out.
	orders []*plan

	// parts ask about each option of a question by itself; the plan itself asks
	// nothing then.
	parts []*plan

	prior     *prior // what the model answers whatever the state; nil: unknown
	variation float64
}

// call is one call of the model and its result.
type call struct {
	text    string
	images  []model.Image
	options []model.Option
	scores  *model.Scores
	cut     *model.Cut // where it ended without them
}

// newPlan plans the calls about q, in so many orders.
func newPlan(q *question, orders int) *plan {
	p := &plan{question: q, first: &call{images: q.images}}
	if q.kind == Labels {
		for _, o := range q.options {
			p.parts = append(p.parts, newPlan(q.about(o), orders))
		}
		return p
	}
	for _, order := range q.orders(orders) {
		p.orders = append(p.orders, newPlan(q.inOrder(order), 1))
	}
	if len(q.options) <= max(model.MaxLabels, len(q.labels)) {
		p.first.text, p.first.options = ask(q)
		return p
	}
	p.groups = split(q.options)
	p.first.text, p.first.options = askGroups(q, p.groups)
	return p
}

// lookInside plans the calls about the groups that the first call found likely
// enough, and returns them.
func (p *plan) lookInside() []*call {
	if p.groups == nil {
		return nil
	}
	var calls []*call
	p.within = make([]*call, len(p.groups))
	for g, mass := range distribution(p.first.scores) {
		if mass < skipBelow {
			continue
		}
		part := *p.question
		part.options = p.groups[g]
		c := &call{images: part.images}
		c.text, c.options = ask(&part)
		p.within[g] = c
		calls = append(calls, c)
	}
	return calls
}

// result returns the probabilities of the question's options in order. Those of
// several orders are averaged in log space, where a preference for places is a
// sum that shifts take out. It notes by how much they differed.
func (p *plan) result() []float64 {
	if p.parts != nil {
		all := make([]float64, len(p.parts))
		for i, part := range p.parts {
			all[i] = part.result()[0]
			p.variation = max(p.variation, part.variation)
		}
		return all
	}
	own := p.own()
	least, most, logs := slices.Clone(own), slices.Clone(own), make([]float64, len(own))
	for i, x := range own {
		logs[i] = logOf(x)
	}
	for _, o := range p.orders {
		for place, x := range o.own() {
			i := o.question.order[place]
			logs[i] += logOf(x)
			least[i], most[i] = min(least[i], x), max(most[i], x)
		}
	}
	for i := range own {
		p.variation = max(p.variation, most[i]-least[i])
	}
	if p.orders == nil && p.prior == nil {
		return own
	}
	for i := range logs {
		logs[i] /= float64(1 + len(p.orders))
	}
	return softmax(p.prior.without(logs))
}

// own returns the probabilities in the order in which p asks.
func (p *plan) own() []float64 {
	outer := distribution(p.first.scores)
	if p.groups == nil {
		return outer
	}
	within := make([][]float64, len(p.groups))
	sizes := make([]int, len(p.groups))
	for g, c := range p.within {
		sizes[g] = len(p.groups[g])
		if c != nil {
			within[g] = distribution(c.scores)
		}
	}
	return combine(outer, within, sizes)
}

// subject is what the plans of a decision ask about.
type subject struct {
	base   model.ScoreRequest // what all questions that are scored share
	state  json.RawMessage
	images []model.Image
	scored bool // there is more to it than a server that decides can be told
}

// run answers all plans: in one call as far as the model decides by itself, and
// by scoring what is left. It returns when all its calls have.
func (s *Service) run(ctx context.Context, own *share, about *subject, plans []*plan) error {
	undecided := s.decide(ctx, own, about, plans)
	if undecided != nil && !errors.Is(undecided, model.ErrUndecided) {
		return undecided
	}
	var left []*plan
	for _, p := range allOf(plans) {
		if p.first.scores == nil {
			left = append(left, p)
		}
	}
	err := s.scoreAll(ctx, own, about.base, left)
	if fault.Is(err, fault.Upstream) && fault.Is(undecided, fault.Rejected) {
		return fault.From(undecided) // it only decides, and says what it does not take
	}
	return err
}

// decide has the model answer the plans by itself that it can be asked at all:
// those about one question in one order. The error is [model.ErrUndecided] where
// it answers none.
func (s *Service) decide(ctx context.Context, own *share, about *subject, plans []*plan) error {
	if about.scored || !s.models.Decides() {
		return nil
	}
	req := &model.DecideRequest{Model: about.base.Model, Tenant: about.base.Tenant, State: about.state, Images: about.images}
	var asked []*plan
	for _, p := range plans {
		if p.parts == nil && p.orders == nil {
			asked, req.Questions = append(asked, p), append(req.Questions, p.question.decided())
		}
	}
	if len(asked) == 0 {
		return nil
	}
	if err := own.enter(ctx); err != nil {
		return err
	}
	defer own.leave()
	var d *model.Decision
	err := background.Recover(func() (err error) {
		d, err = s.models.Decide(ctx, req)
		return err
	})
	if err != nil {
		asked[0].first.cut, _ = errors.AsType[*model.Cut](err)
		return err
	}
	if len(d.Probabilities) != len(asked) {
		return fault.Upstreamf(nil, "The model did not answer the questions.")
	}
	questions := d.QuestionTokens
	for i, p := range asked {
		if d.Probabilities[i] == nil {
			continue
		}
		if len(d.Probabilities[i]) != len(p.question.options) {
			return fault.Upstreamf(nil, "The model did not answer the question.")
		}
		p.groups = nil
		p.first.scores = &model.Scores{Probabilities: d.Probabilities[i], StateTokens: d.StateTokens, QuestionTokens: questions}
		questions = 0 // those of all are counted at the first
	}
	return nil
}

// decided returns q for a model that decides by itself.
func (q *question) decided() model.DecideQuestion {
	options := make([]model.DecideOption, len(q.options))
	for i, o := range q.options {
		options[i] = model.DecideOption{Name: o.name, Description: o.description}
	}
	return model.DecideQuestion{Name: q.name, Kind: model.DecideKind(q.kind), Instructions: q.instructions, Options: options, Images: q.images}
}

// scoreAll makes the calls of plans: the first question's alone, so that a
// model server has the shared prefix in its cache when the other questions
// come, then those together, then the calls about groups. It returns when all
// its calls have.
func (s *Service) scoreAll(ctx context.Context, own *share, base model.ScoreRequest, asked []*plan) error {
	if len(asked) == 0 {
		return nil
	}
	first := make([]*call, len(asked))
	for i, p := range asked {
		first[i] = p.first
	}
	if err := s.score(ctx, own, base, first[:1]); err != nil {
		return err
	}
	if err := s.score(ctx, own, base, first[1:]); err != nil {
		return err
	}
	var second []*call
	for _, p := range asked {
		second = append(second, p.lookInside()...)
	}
	return s.score(ctx, own, base, second)
}

// leaves returns the plans that ask something, in one order: those given, or
// their parts.
func leaves(plans []*plan) []*plan {
	var all []*plan
	for _, p := range plans {
		if p.parts != nil {
			all = append(all, p.parts...)
		} else {
			all = append(all, p)
		}
	}
	return all
}

// allOf returns the leaves and, behind them, the same in other orders.
func allOf(plans []*plan) []*plan {
	all := leaves(plans)
	for _, p := range all {
		all = append(all, p.orders...)
	}
	return all
}

// score makes calls concurrently, at most the service's bound and the
// organization's share at once. The first error cancels the rest.
func (s *Service) score(ctx context.Context, own *share, base model.ScoreRequest, calls []*call) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.concurrency)
	for _, c := range calls {
		group.Go(func() error {
			deepen(0)
			if err := own.enter(ctx); err != nil {
				return err
			}
			defer own.leave()
			return background.Recover(func() error { return s.ask(ctx, base, c) })
		})
	}
	return group.Wait()
}

// deepen has the stack of a new goroutine grow while there is nothing on it yet: a
// call of a model goes deep, and the stack would be moved several times on the way.
//
//go:noinline
func deepen(at int) byte {
	var room [8 << 10]byte
	return room[at]
}

// ask makes one call.
func (s *Service) ask(ctx context.Context, req model.ScoreRequest, c *call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	req.Images, req.Question, req.Options = c.images, c.text, c.options
	scores, err := s.models.Score(ctx, &req)
	if err != nil {
		c.cut, _ = errors.AsType[*model.Cut](err)
		return err
	}
	if len(scores.Probabilities) != len(c.options) {
		return fault.Upstreamf(nil, "The model did not answer the question.")
	}
	c.scores = scores
	return nil
}

// asked returns the tokens of all that p asks: the calls about groups of options
// are prompts of their own.
func (p *plan) asked() int {
	_, tokens := p.first.used()
	for _, c := range p.within {
		_, more := c.used()
		tokens += more
	}
	return tokens
}

// used are the tokens of a call that was answered, or of which a model server had
// the prompt when it ended; none of any other, nor of nil.
func (c *call) used() (state, question int) {
	switch {
	case c == nil:
		return 0, 0
	case c.scores != nil:
		return c.scores.StateTokens, c.scores.QuestionTokens
	case c.cut != nil:
		return c.cut.StateTokens, c.cut.QuestionTokens
	}
	return 0, 0
}
