// Package limits counts what organizations and keys use of their limits, in requests
// and in tokens for a minute. A [Service] admits a request of the [Subject]s that it
// is for, or says how long they have to wait. Where several processes share a store
// they exchange what each has let through, so that together they let through what one
// would.
package limits

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/cluster"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// Quota is how much of a limit an organization has left. The zero value stands
// for no limit.
type Quota struct {
	Limit     int           // a minute
	Remaining int           // that may be used at once
	Reset     time.Duration // until all of Limit may be, if nothing is used meanwhile; whole milliseconds
}

// Quotas are the quotas of an organization.
type Quotas struct{ Requests, Tokens Quota }

// Subject is an organization or a key with its limits for a minute, 0 for none.
type Subject struct {
	ID       string
	Name     string // whose limit it is, in errors: "The organization's"
	Requests int
	Tokens   int
}

// Service counts. Its methods may be called concurrently, but for
// [Service.Exchange].
type Service struct {
	store      *storage.DB
	cluster    *cluster.Member
	now        func() time.Time
	allowances sync.Map // *allowance by the subject's ID
	exchange   exchange
}

// New returns a Service for one of the processes on a store.
func New(store *storage.DB, member *cluster.Member, now func() time.Time) *Service {
	return &Service{store: store, cluster: member, now: now}
}

// allowance is the remaining quota of one subject for the current minute. It is kept
// in memory only and starts full after a restart. What other processes let through is
// counted a second or two later.
type allowance struct {
	mu               sync.Mutex
	requests, tokens window // guarded by mu
}

func (s *Service) allowance(id string) *allowance {
	if found, ok := s.allowances.Load(id); ok {
		return found.(*allowance)
	}
	found, _ := s.allowances.LoadOrStore(id, &allowance{})
	return found.(*allowance)
}

// lock locks the allowance of a subject, with its limits as they are now.
func (s *Service) lock(subject Subject, now time.Time) *allowance {
	a := s.allowance(subject.ID)
	a.mu.Lock()
	a.requests.advance(now.Unix())
	a.tokens.advance(now.Unix())
	a.requests.limit, a.tokens.limit = int64(subject.Requests), int64(subject.Tokens)
	return a
}

// Forget forgets a subject that is gone.
func (s *Service) Forget(id string) { s.allowances.Delete(id) }

// Admit counts one request of its subjects and returns their quotas, of each kind the
// one of which less is left. Subjects are always given in the same order. The error is
// RateLimited where one has no requests left; the request is not counted then.
func (s *Service) Admit(subjects ...Subject) (Quotas, error) {
	now, processes := s.now(), s.cluster.Members()
	var locked [2]*allowance // in the order of their locks: organization, key
	var refusal error
	subjects = slices.DeleteFunc(slices.Clone(subjects), func(s Subject) bool { return s.Requests == 0 && s.Tokens == 0 })
	for i, subject := range subjects {
		a := s.lock(subject, now)
		defer a.mu.Unlock()
		locked[i] = a
		if refusal == nil && subject.Requests != 0 && !a.requests.mayUse(processes) {
			refusal = errReached(subject.Name, "requests", &a.requests, now)
		}
	}
	var quotas Quotas
	for i, subject := range subjects {
		a := locked[i]
		if refusal == nil && subject.Requests != 0 {
			a.requests.use(1)
		}
		quotas.Requests = tighter(quotas.Requests, a.requests.quota(subject.Requests, now))
		quotas.Tokens = tighter(quotas.Tokens, a.tokens.quota(subject.Tokens, now))
	}
	return quotas, refusal
}

// tighter returns the quota of two of which less is left.
func tighter(a, b Quota) Quota {
	if a.Limit == 0 || b.Limit != 0 && b.Remaining < a.Remaining {
		return b
	}
	return a
}

// CheckTokens returns a RateLimited error where a subject has used up its tokens.
func (s *Service) CheckTokens(subjects ...Subject) error {
	now, processes := s.now(), s.cluster.Members()
	for _, subject := range subjects {
		if subject.Tokens == 0 {
			continue
		}
		a := s.lock(subject, now)
		var err error
		if !a.tokens.mayUse(processes) {
			err = errReached(subject.Name, "tokens", &a.tokens, now)
		}
		a.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// SpendTokens takes what a call used from the tokens of its subjects, which may owe
// some afterwards. Their limits are the ones that the call began with.
func (s *Service) SpendTokens(tokens int, subjects ...Subject) {
	now := s.now()
	for _, subject := range subjects {
		if subject.Tokens == 0 {
			continue
		}
		a := s.lock(subject, now)
		a.tokens.use(int64(tokens))
		a.mu.Unlock()
	}
}

func errReached(of, what string, w *window, now time.Time) error {
	return &fault.Error{
		Kind:       fault.RateLimited,
		Code:       fault.CodeRateLimited,
		Message:    fmt.Sprintf("%s limit of %d %s per minute is reached. Try again later.", of, w.limit, what),
		RetryAfter: max(w.until(1, now), time.Second),
	}
}
