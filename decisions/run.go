package decisions

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/model"
)

// run asks a model questions about one state.
type run struct {
	service *Service
	caller  accounts.Caller
	info    model.Info
	share   *share
	spent   *atomic.Int64 // tokens of the calls that have ended, of all runs of the request

	base   model.ScoreRequest // what all questions that are scored share
	state  json.RawMessage
	images []model.Image
	scored bool // the request has more than a server that decides by itself can be told

	counted atomic.Bool // the tokens of the state are in spent
}

// answer answers all plans: in one call as far as the model decides by itself, and
// by scoring the rest. It returns when all its calls have.
func (r *run) answer(ctx context.Context, plans []*plan) error {
	undecided := r.decide(ctx, plans)
	if undecided != nil && !errors.Is(undecided, model.ErrUndecided) {
		return undecided
	}
	var left []*plan
	for _, p := range allOf(plans) {
		if p.first.scores == nil {
			left = append(left, p)
		}
	}
	err := r.scoreAll(ctx, left)
	if fault.Is(err, fault.Upstream) && fault.Is(undecided, fault.Rejected) {
		return fault.From(undecided) // it only decides, and says what it does not take
	}
	return err
}

// decide has the model itself answer the plans with one question in one order. The
// error is [model.ErrUndecided] where it answers none.
func (r *run) decide(ctx context.Context, plans []*plan) error {
	if r.scored || !r.service.models.Decides() {
		return nil
	}
	req := &model.DecideRequest{Model: r.base.Model, Tenant: r.base.Tenant, State: r.state, Images: r.images}
	var asked []*plan
	for _, p := range plans {
		if p.parts == nil && len(p.orders) == 0 {
			asked, req.Questions = append(asked, p), append(req.Questions, p.question.decided())
		}
	}
	if len(asked) == 0 {
		return nil
	}
	if err := r.share.enter(ctx); err != nil {
		return err
	}
	defer r.share.leave()
	var d *model.Decision
	err := background.Recover(func() (err error) {
		d, err = r.service.models.Decide(ctx, req)
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
		p.first.scores = &model.Scores{Probabilities: d.Probabilities[i], StateTokens: d.StateTokens, QuestionTokens: questions, Reading: d.Reading}
		r.count(p.first)
		questions = 0 // the first question has the tokens of all
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

// scoreAll makes the calls of plans: the first question's alone, so that a model
// server has the shared prefix in its cache when the other questions come, then
// those together, then the calls about groups. It returns when all its calls have.
func (r *run) scoreAll(ctx context.Context, asked []*plan) error {
	if len(asked) == 0 {
		return nil
	}
	first := make([]*call, len(asked))
	for i, p := range asked {
		first[i] = p.first
	}
	if err := r.score(ctx, first[:1]); err != nil {
		return err
	}
	if err := r.score(ctx, first[1:]); err != nil {
		return err
	}
	var second []*call
	for _, p := range asked {
		second = append(second, p.lookInside()...)
	}
	return r.score(ctx, second)
}

// score makes calls concurrently, at most the service's bound and the
// organization's share at once. The first error cancels the rest.
func (r *run) score(ctx context.Context, calls []*call) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.service.concurrency)
	for _, c := range calls {
		group.Go(func() error {
			growStack(0)
			if err := r.share.enter(ctx); err != nil {
				return err
			}
			defer r.share.leave()
			return background.Recover(func() error { return r.ask(ctx, c) })
		})
	}
	return group.Wait()
}

// growStack makes the stack of a new goroutine grow while it is empty. A call of a
// model needs a deep one, which would otherwise be copied several times.
//
//go:noinline
func growStack(at int) byte {
	var room [8 << 10]byte
	return room[at]
}

// ask makes one call, if the organization can still pay for the request.
func (r *run) ask(ctx context.Context, c *call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if spent := int(r.spent.Load()); spent > 0 {
		if err := r.service.accounts.AffordMore(ctx, r.caller, use(r.info, spent)); err != nil {
			return err
		}
	}
	req := r.base
	req.Images = c.images
	req.Question, req.Options = c.render()
	scores, err := r.service.models.Score(ctx, &req)
	if err != nil {
		c.cut, _ = errors.AsType[*model.Cut](err)
		r.count(c)
		return err
	}
	if len(scores.Probabilities) != len(req.Options) {
		return fault.Upstreamf(nil, "The model did not answer the question.")
	}
	c.scores = scores
	r.count(c)
	return nil
}

// count adds the tokens of a call that has ended to what the request has spent.
func (r *run) count(c *call) {
	state, question := c.used()
	if state > 0 && r.counted.CompareAndSwap(false, true) {
		question += state
	}
	r.spent.Add(int64(question))
}
