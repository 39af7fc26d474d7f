package decisions

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/guard"
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

	// mirror asks the same with the options in reverse order; nil unless the
	// model's preference for places is to be evened out.
	mirror *plan
}

// call is one call of the model and its result.
type call struct {
	text    string
	images  []model.Image
	options []model.Option
	scores  *model.Scores
}

// newPlan plans the calls about q, twice where debias is set.
func newPlan(q *question, debias bool) *plan {
	p := &plan{question: q, first: &call{images: q.images}}
	if debias {
		opposite := *q
		opposite.options = slices.Clone(q.options)
		slices.Reverse(opposite.options)
		opposite.reversed = true
		p.mirror = newPlan(&opposite, false)
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

// result returns the probabilities of the question's options in order: the mean
// of those asked in both orders where they were.
func (p *plan) result() []float64 {
	mean := p.own()
	if p.mirror == nil {
		return mean
	}
	opposite := p.mirror.own()
	for i := range mean {
		mean[i] = (mean[i] + opposite[len(mean)-1-i]) / 2
	}
	return mean
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

// run makes the calls of all plans: the first question's alone, so that a
// model server has the shared prefix in its cache when the other questions
// come, then those together, then the calls about groups. It returns when all
// its calls have.
func (s *Service) run(ctx context.Context, base model.ScoreRequest, plans []*plan) error {
	asked := withMirrors(plans)
	first := make([]*call, len(asked))
	for i, p := range asked {
		first[i] = p.first
	}
	if err := s.score(ctx, base, first[:1]); err != nil {
		return err
	}
	if err := s.score(ctx, base, first[1:]); err != nil {
		return err
	}
	var second []*call
	for _, p := range asked {
		second = append(second, p.lookInside()...)
	}
	return s.score(ctx, base, second)
}

// withMirrors returns the plans and, behind them, their mirrors.
func withMirrors(plans []*plan) []*plan {
	all := slices.Clone(plans)
	for _, p := range plans {
		if p.mirror != nil {
			all = append(all, p.mirror)
		}
	}
	return all
}

// score makes calls concurrently, at most the service's bound at once. The
// first error cancels the rest.
func (s *Service) score(ctx context.Context, base model.ScoreRequest, calls []*call) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.concurrency)
	for _, c := range calls {
		group.Go(func() error {
			return guard.Call(func() error { return s.ask(ctx, base, c) })
		})
	}
	return group.Wait()
}

// ask makes one call.
func (s *Service) ask(ctx context.Context, req model.ScoreRequest, c *call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	req.Images, req.Question, req.Options = c.images, c.text, c.options
	scores, err := s.models.Score(ctx, &req)
	if err != nil {
		return err
	}
	if len(scores.Probabilities) != len(c.options) {
		return fault.Upstreamf(nil, "The model did not answer the question.")
	}
	c.scores = scores
	return nil
}
