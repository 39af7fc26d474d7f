package guard

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// Ask is what policies a request asks for.
type Ask struct {
	Policies []string // names, besides those that hold anyway
	Moderate Stage    // the stages of [ModerationPolicy]; empty is none
}

// MaxPolicies is how many policies a request may ask for.
const MaxPolicies = 16

// Turn is the policies of one request. It is a [model.Guard].
type Turn struct {
	service *Service
	caller  accounts.Caller
	input   []group // what the stages ask
	output  []group

	judging sync.Mutex // held while the input is judged
	count   int        // messages of the prompt that was judged last; guarded by judging
	judged  [][]byte   // its states, by group; guarded by judging

	mu       sync.Mutex
	verdicts []verdict // in the order of the policies; guarded by mu
}

var _ model.Guard = (*Turn)(nil)

type verdict struct {
	Verdict
	awaits int // stages that have not been judged to their end
}

// Turn returns the policies of a request of a caller's: the defaults, those of the
// caller's organization, and those that the request asks for. It is nil where there are
// none. The error is Invalid for a policy that the request asks for and that does not
// exist, and Unavailable for one of the organization's.
func (s *Service) Turn(c accounts.Caller, ask Ask) (*Turn, error) {
	t := &Turn{service: s, caller: c}
	t.caller.Models, t.caller.Claim = nil, nil // the operator's model, and not the request's object
	for _, name := range s.o.Defaults {
		t.add(s.policies[name], s.policies[name].Stage)
	}
	for _, name := range c.Policies {
		p := s.policies[name]
		if p == nil {
			s.o.Log.Warn("guard: an organization has a policy that does not exist", "organization", c.Organization, "policy", name)
			return nil, unavailable(&Refusal{Policy: name}, nil)
		}
		t.add(p, p.Stage)
	}
	if len(ask.Policies) > MaxPolicies {
		return nil, fault.Invalidf("policies", "policies must have at most %d names.", MaxPolicies)
	}
	for i, name := range ask.Policies {
		p := s.policies[name]
		if p == nil {
			path := fmt.Sprintf("policies[%d]", i)
			return nil, fault.Invalidf(path, "%s names the policy %.64q, which does not exist.", path, name)
		}
		t.add(p, p.Stage)
	}
	if ask.Moderate != "" {
		p := s.policies[ModerationPolicy]
		if p == nil {
			p = s.builtIn
		}
		t.add(p, ask.Moderate)
	}
	if len(t.verdicts) == 0 {
		return nil, nil
	}
	return t, nil
}

// Has reports whether there is a policy with a name.
func (s *Service) Has(name string) bool { return s.policies[name] != nil }

// add adds a policy for a stage, unless it is there.
func (t *Turn) add(p *policy, stage Stage) {
	added := false
	if stage != Output {
		added = addTo(&t.input, p)
	}
	if stage != Input {
		added = addTo(&t.output, p) || added
	}
	at := slices.IndexFunc(t.verdicts, func(v verdict) bool { return v.Policy == p.name })
	switch {
	case at < 0:
		at = len(t.verdicts)
		t.verdicts = append(t.verdicts, verdict{Verdict: Verdict{Policy: p.name}})
	case !added:
		return
	}
	t.verdicts[at].awaits = 0
	for _, groups := range [][]group{t.input, t.output} {
		if slices.ContainsFunc(groups, func(g group) bool { return slices.Contains(g.policies, p) }) {
			t.verdicts[at].awaits++
		}
	}
}

// addTo adds a policy to the group that asks the same model about the same, and reports
// whether it was not there.
func addTo(groups *[]group, p *policy) bool {
	at := slices.IndexFunc(*groups, func(g group) bool { return g.takes(p) })
	if at < 0 {
		*groups = append(*groups, group{policies: []*policy{p}})
		return true
	}
	if slices.Contains((*groups)[at].policies, p) {
		return false
	}
	(*groups)[at].policies = append((*groups)[at].policies, p)
	return true
}

// note notes what a policy has said; last says that its stage has been judged to its
// end.
func (t *Turn) note(p *policy, stage Stage, outcome Outcome, last bool) {
	if observe := t.service.o.Observe; observe != nil {
		observe(p.name, stage, outcome)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.IndexFunc(t.verdicts, func(v verdict) bool { return v.Policy == p.name })
	v := &t.verdicts[at]
	if weights[outcome] > weights[v.Outcome] {
		v.Outcome = outcome
	}
	if last {
		v.awaits = max(v.awaits-1, 0)
	}
}

// Verdicts returns what is known of what the policies say. A policy whose stages have
// not all been judged is there only where it has said something other than that it
// passed.
func (t *Turn) Verdicts() []Verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	var known []Verdict
	for _, v := range t.verdicts {
		if v.Outcome != "" && (v.awaits == 0 || v.Outcome != Passed) {
			known = append(known, v.Verdict)
		}
	}
	return known
}

// Header returns the verdicts as they are sent: NAME=OUTCOME, with commas between.
func (t *Turn) Header() string {
	var parts []string
	for _, v := range t.Verdicts() {
		parts = append(parts, v.Policy+"="+string(v.Outcome))
	}
	return strings.Join(parts, ",")
}

// Input implements [model.Guard]. The error is Rejected with the code policy_blocked, or
// Unavailable with policy_unavailable, with a *[Refusal] in its cause; or that of the
// caller's credits, or of ctx.
func (t *Turn) Input(ctx context.Context, req *model.Request) error {
	if len(t.input) == 0 {
		return nil
	}
	t.judging.Lock()
	defer t.judging.Unlock()
	if t.judged != nil && t.count == len(req.Messages) {
		return nil
	}
	p := newPrompt(req)
	again := t.judged != nil
	if !again {
		t.judged = make([][]byte, len(t.input))
	}
	var asked []inquiry
	for i, g := range t.input {
		w := p.state(g.sees())
		w.EndObject()
		if again && bytes.Equal(w.Buf, t.judged[i]) {
			continue
		}
		t.judged[i] = w.Buf
		asked = append(asked, inquiry{group: g, state: w.Buf, images: p.images()})
	}
	t.count = len(req.Messages)
	refusal, err := t.ask(ctx, Input, asked, !again)
	if err == nil && refusal != nil {
		err = blocked(refusal)
	}
	if err != nil {
		t.judged = nil // nothing has passed
	}
	return err
}

// blocked is the error of an input that a policy blocked.
func blocked(r *Refusal) error {
	return &fault.Error{
		Kind: fault.Rejected, Code: fault.CodePolicyBlocked, Err: r,
		Message: fmt.Sprintf("The request was blocked by the policy %q, question %q.", r.Policy, r.Question),
	}
}

// unavailable is the error of a policy that could not be asked, because of cause.
func unavailable(r *Refusal, cause error) error {
	if cause != nil {
		cause = fmt.Errorf("%w: %w", r, cause)
	} else {
		cause = r
	}
	return &fault.Error{
		Kind: fault.Unavailable, Code: fault.CodePolicyUnavailable, Err: cause,
		Message: fmt.Sprintf("The policy %q could not be asked. Try again later.", r.Policy),
	}
}
