package svc

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
)

// openGuard makes the policies, which must be ones that can be asked.
func (s *Service) openGuard(ctx context.Context, o Options) (err error) {
	s.guard, err = guard.NewService(guard.Options{
		Policies: o.Policies, Defaults: o.DefaultPolicies, Decider: s.decisions,
		Blocked: s.recordBlocked, Observe: o.PolicyDecided, Log: s.log,
	})
	if err != nil {
		return err
	}
	organization := func(ctx context.Context, id string) error {
		_, err := s.accounts.Organization(ctx, id)
		return err
	}
	decides := func(id string) bool {
		info, ok := s.models.Find(id)
		return ok && info.Decides
	}
	return s.guard.Check(ctx, organization, decides)
}

// blockedRecord is what the audit log says of what a policy blocked. It has nothing of
// what was said.
type blockedRecord struct {
	Policy      string  `json:"policy"`
	Question    string  `json:"question"`
	Stage       string  `json:"stage"`
	Probability float64 `json:"probability"`
	Threshold   float64 `json:"threshold"`
	Decision    string  `json:"decision,omitempty"` // ID of the stored one
	Key         string  `json:"key,omitempty"`
}

// recordBlocked writes into the audit log what a policy blocked.
func (s *Service) recordBlocked(ctx context.Context, c Caller, r guard.Refusal) error {
	return s.accounts.Record(ctx, accounts.ActionBlock, c.Organization, blockedRecord{
		Policy: r.Policy, Question: r.Question, Stage: string(r.Stage), Probability: r.Probability, Threshold: r.Threshold,
		Decision: r.Decision, Key: c.Key,
	})
}

// Guard returns the policies of one request: the defaults, those of the caller's
// organization, and those that the request asks for. Set as the Guard of the request it
// says afterwards what the policies said; a request without one gets one by its Policies
// and Moderate. It is nil where there are no policies. The error is Invalid for a policy
// that does not exist, and Unavailable for one of the organization's.
func (s *Service) Guard(caller Caller, ask guard.Ask) (*guard.Turn, error) {
	return s.guard.Turn(caller, ask)
}

// guardOf returns the guard of a request.
func (s *Service) guardOf(caller Caller, given model.Guard, policies []string, moderate string) (model.Guard, error) {
	if given != nil {
		return given, nil
	}
	turn, err := s.guard.Turn(caller, guard.Ask{Policies: policies, Moderate: guard.Stage(moderate)})
	if turn == nil || err != nil {
		return nil, err
	}
	return turn, nil
}

// chatRequest returns a request with the ID of its model and its guard.
func (s *Service) chatRequest(caller Caller, req *chat.Request) (named *chat.Request, err error) {
	copied := *req
	copied.Model = s.modelID(req.Model)
	copied.Guard, err = s.guardOf(caller, req.Guard, req.Policies, req.Moderate)
	return &copied, err
}

// textRequest is chatRequest for a text that is continued.
func (s *Service) textRequest(caller Caller, req *chat.TextRequest) (named *chat.TextRequest, err error) {
	copied := *req
	copied.Model = s.modelID(req.Model)
	copied.Guard, err = s.guardOf(caller, req.Guard, nil, "")
	return &copied, err
}

// responseRequest is chatRequest for a turn.
func (s *Service) responseRequest(caller Caller, req *responses.Request) (named *responses.Request, err error) {
	named = s.named(req)
	named.Guard, err = s.guardOf(caller, req.Guard, req.Policies, req.Moderate)
	return named, err
}

// checkPolicies returns an Invalid error for names that are none of a policy.
func (s *Service) checkPolicies(names []string) error {
	for i, name := range names {
		if !s.guard.Has(name) {
			path := fmt.Sprintf("policies[%d]", i)
			return fault.Invalidf(path, "%s names the policy %.64q, which does not exist.", path, name)
		}
	}
	return nil
}

// Moderate judges inputs by the categories of OpenAI's moderation. A request without a
// model, or with a name of OpenAI's, is for the service's decision model. See
// [guard.Service.Moderate].
func (s *Service) Moderate(ctx context.Context, caller Caller, req *guard.ModerationRequest) (*guard.ModerationResult, error) {
	named := *req
	named.Model = s.moderator(req.Model)
	id := "modr-" + strings.TrimPrefix(s.newID("modr"), "modr_")
	return run(ctx, s.lifecycle, func(ctx context.Context) (*guard.ModerationResult, error) {
		return s.guard.Moderate(ctx, caller, &named, id)
	})
}

// moderator returns the ID of the model that moderates, by the name in a request.
func (s *Service) moderator(name string) string {
	id := s.modelID(name)
	if id != name || name != "" && !strings.Contains(name, "-moderation-") {
		return id
	}
	if info, ok := s.models.Find(model.DefaultDecider); ok && info.Decides {
		return model.DefaultDecider
	}
	for _, info := range s.models.List() {
		if info.Decides {
			return info.ID
		}
	}
	return model.DefaultDecider
}
