package accounts

import (
	"fmt"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
)

// CodeRateLimited is the code of the RateLimited errors of [Service.Admit] and
// [Service.Afford].
const CodeRateLimited = fault.CodeRateLimited

// Quota is how much of a limit an organization has left. The zero value stands
// for no limit.
type Quota struct {
	Limit     int           // a minute
	Remaining int           // that may be used at once
	Reset     time.Duration // until all of Limit may be, if nothing is used meanwhile; whole milliseconds
}

// Quotas are the quotas of an organization.
type Quotas struct{ Requests, Tokens Quota }

// allowance is what somebody may still use in this minute. It is where it is used:
// a start knows of nothing. What other processes let through is counted a second or
// two later, see sharing.
type allowance struct {
	mu               sync.Mutex
	requests, tokens window // guarded by mu
}

// open locks the allowance of somebody, with its limits as they are now.
func (s *Service) open(l limited, now time.Time) *allowance {
	a := s.allowance(l.id)
	a.mu.Lock()
	a.requests.turn(now.Unix())
	a.tokens.turn(now.Unix())
	a.requests.limit, a.tokens.limit = int64(l.requests), int64(l.tokens)
	return a
}

func (s *Service) allowance(id string) *allowance {
	return under(&s.allowances, id, func() *allowance { return &allowance{} })
}

// Admit counts one request of the caller and returns the quotas of its
// organization, or of its key where less is left of those. The error is RateLimited
// (rate_limit_exceeded) where one has no requests left; such a request is not
// counted.
func (s *Service) Admit(c Caller) (Quotas, error) {
	if s.own != nil {
		return s.own.Admit(c)
	}
	if c.RequestsPerMinute == 0 && c.TokensPerMinute == 0 && c.KeyLimits == (KeyLimits{}) {
		return Quotas{}, nil
	}
	now, processes := s.now(), s.cluster.Members()
	var open [2]*allowance // of the organization, then of the key, which is the order of their locks
	var refusal error
	for i, l := range limitsOf(c) {
		if l.requests == 0 && l.tokens == 0 {
			continue
		}
		a := s.open(l, now)
		defer a.mu.Unlock()
		open[i] = a
		if refusal == nil && l.requests != 0 && !a.requests.mayUse(processes) {
			refusal = errRateLimited(l.of, "requests", &a.requests, now)
		}
	}
	var quotas Quotas
	for i, l := range limitsOf(c) {
		a := open[i]
		if a == nil {
			continue
		}
		if refusal == nil && l.requests != 0 {
			a.requests.use(1)
		}
		quotas.Requests, quotas.Tokens = tighter(quotas.Requests, a.requests.quota(l.requests, now)), tighter(quotas.Tokens, a.tokens.quota(l.tokens, now))
	}
	return quotas, refusal
}

// limited is somebody who has limits a minute: an organization or a key.
type limited struct {
	id, of           string
	requests, tokens int
}

// limitsOf are the limits that hold for a caller.
func limitsOf(c Caller) [2]limited {
	all := [2]limited{{c.Organization, "The organization's", c.RequestsPerMinute, c.TokensPerMinute}}
	if c.Key != "" {
		all[1] = limited{c.Key, "The API key's", c.KeyLimits.RequestsPerMinute, c.KeyLimits.TokensPerMinute}
	}
	return all
}

// tighter returns the quota of two of which less is left.
func tighter(a, b Quota) Quota {
	if a.Limit == 0 || b.Limit != 0 && b.Remaining < a.Remaining {
		return b
	}
	return a
}

// checkTokens returns a RateLimited error where the caller's organization, or its
// key, has used up its tokens.
func (s *Service) checkTokens(c Caller) error {
	now, processes := s.now(), s.cluster.Members()
	check := func(l limited) error {
		a := s.open(l, now)
		defer a.mu.Unlock()
		if !a.tokens.mayUse(processes) {
			return errRateLimited(l.of, "tokens", &a.tokens, now)
		}
		return nil
	}
	for _, l := range limitsOf(c) {
		if l.tokens == 0 {
			continue
		}
		if err := check(l); err != nil {
			return err
		}
	}
	return nil
}

// spendTokens takes what a call used from the tokens of the caller's organization
// and key, which may owe some afterwards. The limits are the ones that the call
// began with.
func (s *Service) spendTokens(c Caller, use Use) {
	now := s.now()
	for _, l := range limitsOf(c) {
		if l.tokens == 0 {
			continue
		}
		a := s.open(l, now)
		a.tokens.use(int64(use.InputTokens + use.OutputTokens))
		a.mu.Unlock()
	}
}

func errRateLimited(of, what string, w *window, now time.Time) error {
	return &fault.Error{
		Kind:       fault.RateLimited,
		Code:       CodeRateLimited,
		Message:    fmt.Sprintf("%s limit of %d %s per minute is reached. Try again later.", of, w.limit, what),
		RetryAfter: max(w.wait(1, now), time.Second),
	}
}
