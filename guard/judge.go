package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
)

// group is policies that ask the same model about the same: one decision.
type group struct{ policies []*policy }

// takes reports whether a policy belongs to the group.
func (g *group) takes(p *policy) bool {
	first := g.policies[0]
	return first.Model == p.Model && first.Calibrations == p.Calibrations && slices.Equal(first.Sees, p.Sees)
}

func (g *group) sees() []Sight { return g.policies[0].Sees }

// holds reports whether a policy of the group can block.
func (g *group) holds() bool {
	return slices.ContainsFunc(g.policies, func(p *policy) bool { return !p.LogOnly })
}

// inquiry is one decision: a group's questions about a state.
type inquiry struct {
	group  group
	state  []byte
	images []decisions.Image
}

// ruling is what a policy says by the answers to its questions.
type ruling struct {
	policy  *policy
	outcome Outcome
	refusal *Refusal // of what is blocked, or would be
	cause   error    // why the policy failed
}

// ask makes decisions, all at once, and notes what the policies say. last says that
// nothing more of the stage is judged, unless this is blocked. It returns the first
// refusal that blocks, and the error of a policy that could not be asked and blocks
// then, or of ctx or the caller's account.
func (t *Turn) ask(ctx context.Context, stage Stage, asked []inquiry, last bool) (*Refusal, error) {
	ruled := make([][]ruling, len(asked))
	var all errgroup.Group
	for i := range asked {
		decide := func() (err error) {
			ruled[i], err = t.decide(ctx, stage, &asked[i])
			return err
		}
		if len(asked) == 1 {
			if err := decide(); err != nil {
				return nil, err
			}
			break
		}
		all.Go(func() error { return background.Recover(decide) })
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	var refusal *Refusal
	var failure error
	for _, r := range slices.Concat(ruled...) {
		t.note(r.policy, stage, r.outcome, last || r.outcome == Blocked)
		switch {
		case r.outcome == Blocked && refusal == nil:
			refusal = r.refusal
		case r.outcome == Failed && r.policy.OnFailure == BlockRequest && !r.policy.LogOnly && failure == nil:
			failure = unavailable(&Refusal{Policy: r.policy.name, Stage: stage}, r.cause)
		}
		t.tell(ctx, &r)
	}
	if refusal != nil {
		return refusal, nil
	}
	return nil, failure
}

// tell tells of what a policy blocked or failed to judge.
func (t *Turn) tell(ctx context.Context, r *ruling) {
	o := &t.service.o
	if r.outcome == Failed {
		o.Log.WarnContext(ctx, "guard: a policy could not be asked", "policy", r.policy.name, "organization", t.caller.Organization,
			"on_failure", string(r.policy.OnFailure), "err", r.cause)
	}
	if r.outcome != Blocked || o.Blocked == nil {
		return
	}
	if err := o.Blocked(context.WithoutCancel(ctx), t.caller, *r.refusal); err != nil {
		o.Log.ErrorContext(ctx, "guard: nobody could be told what a policy blocked", "policy", r.policy.name, "organization", t.caller.Organization, "err", err)
	}
}

// decide makes a decision and rules by it. A decision that fails is a ruling; the error
// is of ctx or of the caller's account.
func (t *Turn) decide(ctx context.Context, stage Stage, in *inquiry) ([]ruling, error) {
	bounded, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	req, places := in.request(stage)
	var rulings []ruling
	req.Tags = func(resp *decisions.Response) map[string]string {
		rulings = t.rule(bounded, stage, in.group.policies, resp, places)
		tags := make(map[string]string, len(rulings))
		for _, r := range rulings {
			tags["policy:"+r.policy.name] = string(r.outcome)
		}
		return tags
	}
	resp, err := t.service.o.Decider.Decide(bounded, t.caller, req)
	if err != nil {
		return failed(ctx, in.group.policies, err)
	}
	if rulings == nil { // the decision is not stored
		rulings = t.rule(bounded, stage, in.group.policies, resp, places)
	}
	return rulings, nil
}

// failed returns the rulings of policies about a decision that failed.
func failed(ctx context.Context, policies []*policy, err error) ([]ruling, error) {
	if ended := ctx.Err(); ended != nil {
		return nil, ended
	}
	if e := fault.From(err); e.Kind == fault.NoCredits || e.Kind == fault.Denied || e.Kind == fault.Unauthenticated || e.Kind == fault.Canceled {
		return nil, err
	}
	rulings := make([]ruling, len(policies))
	for i, p := range policies {
		rulings[i] = ruling{policy: p, outcome: Failed, cause: err}
	}
	return rulings, nil
}

// request returns the decision of all questions of a group, and for each policy where
// its questions begin.
func (in *inquiry) request(stage Stage) (req *decisions.Request, places []int) {
	first := in.group.policies[0]
	req = &decisions.Request{
		Model: first.Model, State: in.state, Images: in.images, Calibrations: first.Calibrations,
		Metadata: map[string]string{"stage": string(stage)},
	}
	names := map[string]bool{}
	for _, p := range in.group.policies {
		places = append(places, len(req.Questions))
		for _, q := range p.Questions {
			if !names[q.Name] {
				names[q.Name], q.KeptName = true, q.Name // what labels are collected by
			}
			q.Name = p.name + "/" + q.Name
			req.Questions = append(req.Questions, q)
		}
	}
	req.MaxQuestions = len(req.Questions)
	return req, places
}

// rule returns what policies say by the answers to their questions.
func (t *Turn) rule(ctx context.Context, stage Stage, policies []*policy, resp *decisions.Response, places []int) []ruling {
	rulings := make([]ruling, len(policies))
	for i, p := range policies {
		rulings[i] = t.service.rule(ctx, p, resp.Answers[places[i]:places[i]+len(p.Questions)])
		if r := rulings[i].refusal; r != nil {
			r.Stage, r.Decision = stage, resp.ID
		}
	}
	return rulings
}

// rule returns what a policy says by the answers to its questions. One answer that
// blocks is enough, also where another has no threshold.
func (s *Service) rule(ctx context.Context, p *policy, answers []decisions.Answer) ruling {
	r := ruling{policy: p, outcome: Passed}
	for i := range p.Questions {
		name := p.Questions[i].Name
		b, ok := p.Block[name]
		if !ok {
			continue
		}
		refusal, err := s.blocks(ctx, p, name, b, &answers[i])
		switch {
		case err != nil && r.outcome == Passed:
			r.outcome, r.cause = Failed, fmt.Errorf("question %q: %w", name, err)
		case err == nil && refusal != nil:
			r.outcome, r.refusal, r.cause = Blocked, refusal, nil
			if p.LogOnly {
				r.outcome = Logged
			}
			return r
		}
	}
	return r
}

// The causes of a policy's failure.
var (
	errStale         = errors.New("the calibration does not hold any more; make it again")
	errNoCalibration = errors.New("there is no calibration, from which the threshold comes")
)

// blocks returns the refusal where an answer blocks, and nil where it does not.
func (s *Service) blocks(ctx context.Context, p *policy, question string, b Block, a *decisions.Answer) (*Refusal, error) {
	index := p.when[question]
	r := &Refusal{Policy: p.name, Question: question, Probability: a.ProbabilityAt(index), Threshold: b.Threshold}
	if b.FalseBlocks == 0 {
		if r.Probability < b.Threshold {
			return nil, nil
		}
		return r, nil
	}
	switch {
	case a.CalibrationStale:
		return nil, errStale
	case a.Calibration == "":
		return nil, errNoCalibration
	}
	threshold, err := s.threshold(ctx, p, a.Calibration, index, b.FalseBlocks)
	if err != nil {
		return nil, err
	}
	r.Probability, r.Threshold = a.Raw.ProbabilityAt(index), threshold.Score // rows are as the model answered them
	if !threshold.Exceeded(r.Probability) {
		return nil, nil
	}
	return r, nil
}
