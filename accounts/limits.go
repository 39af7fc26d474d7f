package accounts

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-506d8e5d/svc/fault"
)

// CodeRateLimited is the code of the RateLimited errors of [Service.Admit] and
// [Service.Afford].
const CodeRateLimited = "rate_limit_exceeded"

// Quota is how much of a limit an organization has left. The zero value stands
// for no limit.
type Quota struct {
	Limit     int           // a minute
	Remaining int           // that may be used at once
	Reset     time.Duration // until all of Limit may be, if nothing is used meanwhile; whole milliseconds
}

// Quotas are the quotas of an organization.
type Quotas struct{ Requests, Tokens Quota }

// allowance is what an organization may still use: two buckets, each of which
// holds what is allowed in a minute and fills at that rate.
//
// Buckets are where they are used: a start fills them all. What other processes
// let through is taken from them a second later, see sharing.
type allowance struct {
	mu               sync.Mutex // held while a bucket is made or given another size
	requests, tokens *rate.Limiter

	usedRequests, usedTokens atomic.Int64 // by this process since it began, for the others
}

// maxDebt is how many minutes of its token limit an organization can owe.
const maxDebt = 60

// bucket returns the bucket in *place with that limit a minute, or nil where the
// limit is 0. It remembers how full it is from one limit to the next.
func (a *allowance) bucket(place **rate.Limiter, perMinute int, now time.Time) *rate.Limiter {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case perMinute == 0:
		return nil
	case *place == nil:
		*place = rate.NewLimiter(perSecond(perMinute), perMinute)
	case (*place).Burst() != perMinute:
		(*place).SetBurstAt(now, perMinute)
		(*place).SetLimitAt(now, perSecond(perMinute))
	}
	return *place
}

func perSecond(perMinute int) rate.Limit { return rate.Limit(perMinute) / 60 }

func (s *Service) allowance(organization string) *allowance {
	if a, ok := s.allowances.Load(organization); ok {
		return a.(*allowance)
	}
	a, _ := s.allowances.LoadOrStore(organization, &allowance{})
	return a.(*allowance)
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
	now := s.now()
	var quotas Quotas
	var taken [2]*rate.Reservation
	limited := limitsOf(c)
	for i, l := range limited {
		if l.requests == 0 && l.tokens == 0 {
			continue
		}
		a := s.allowance(l.id)
		requests, tokens := a.bucket(&a.requests, l.requests, now), a.bucket(&a.tokens, l.tokens, now)
		if requests != nil {
			taken[i] = requests.ReserveN(now, 1)
		}
		refused := requests != nil && taken[i].DelayFrom(now) > 0
		if refused {
			for _, r := range taken {
				if r != nil {
					r.CancelAt(now)
				}
			}
		}
		quotas.Requests, quotas.Tokens = tighter(quotas.Requests, quota(requests, now)), tighter(quotas.Tokens, quota(tokens, now))
		if refused {
			return quotas, errRateLimited(l.of, "requests", requests, now)
		}
	}
	for i, l := range limited {
		if taken[i] != nil {
			s.allowance(l.id).usedRequests.Add(1)
		}
	}
	return quotas, nil
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
	now := s.now()
	for _, l := range limitsOf(c) {
		if l.tokens == 0 {
			continue
		}
		a := s.allowance(l.id)
		if tokens := a.bucket(&a.tokens, l.tokens, now); tokens.TokensAt(now) < 1 {
			return errRateLimited(l.of, "tokens", tokens, now)
		}
	}
	return nil
}

// spendTokens takes what a call used from the tokens of the caller's organization
// and key, which may owe some afterwards. The limits are the ones that the call
// began with.
func (s *Service) spendTokens(c Caller, use Use) {
	for _, l := range limitsOf(c) {
		if l.tokens == 0 {
			continue
		}
		a := s.allowance(l.id)
		a.mu.Lock()
		tokens := a.tokens
		a.mu.Unlock()
		if tokens == nil {
			continue
		}
		a.usedTokens.Add(int64(use.InputTokens + use.OutputTokens))
		take(tokens, int64(use.InputTokens+use.OutputTokens), s.now())
	}
}

func quota(l *rate.Limiter, now time.Time) Quota {
	if l == nil {
		return Quota{}
	}
	has := l.TokensAt(now)
	return Quota{Limit: l.Burst(), Remaining: max(int(has), 0), Reset: refill(l, float64(l.Burst())-has)}
}

// refill returns how long a bucket takes to gain that much, in whole
// milliseconds, rounded up.
func refill(l *rate.Limiter, gain float64) time.Duration {
	return time.Duration(math.Ceil(max(gain, 0)/float64(l.Limit())*1000-1e-3)) * time.Millisecond
}

func errRateLimited(of, what string, l *rate.Limiter, now time.Time) error {
	return &fault.Error{
		Kind:       fault.RateLimited,
		Code:       CodeRateLimited,
		Message:    fmt.Sprintf("%s limit of %d %s per minute is reached. Try again later.", of, l.Burst(), what),
		RetryAfter: refill(l, 1-l.TokensAt(now)),
	}
}
