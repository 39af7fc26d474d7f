package accounts

import (
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
)

// minute is how long what was used counts: a minute and the second that had begun.
const minute = 61 * time.Second // as package limits has it: the second that has begun, and 60

// clock is a clock that the test moves.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

func newLimited(t *testing.T, requests, tokens int) (*Service, *clock, Caller) {
	t.Helper()
	s := newService(t, newStore(t))
	c := &clock{start}
	s.now = c.now
	o, err := s.CreateOrganization(t.Context(), NewOrganization{
		Name: "Acme", Credits: Dollar, RequestsPerMinute: requests, TokensPerMinute: tokens,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, c, callerOf(t, s, o.ID)
}

func callerOf(t *testing.T, s *Service, organization string) Caller {
	t.Helper()
	c, err := s.CallerFor(t.Context(), organization)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func rateLimited(after time.Duration) fault.Error {
	return fault.Error{Kind: fault.RateLimited, Code: CodeRateLimited, RetryAfter: after}
}

func TestAdmitCountsRequests(t *testing.T) {
	s, clock, caller := newLimited(t, 3, 0)
	for want := 2; want >= 0; want-- {
		q, err := s.Admit(caller)
		if wanted := (Quotas{Requests: Quota{Limit: 3, Remaining: want, Reset: minute}}); err != nil || q != wanted {
			t.Fatalf("got %+v, %v, want %+v", q, err, wanted)
		}
	}
	for range 5 { // a refusal is not counted
		q, err := s.Admit(caller)
		wantFault(t, err, rateLimited(minute))
		if wanted := (Quotas{Requests: Quota{Limit: 3, Remaining: 0, Reset: minute}}); q != wanted {
			t.Fatalf("got %+v, want %+v", q, wanted)
		}
	}
	clock.Time = clock.Add(minute - time.Second)
	_, err := s.Admit(caller)
	wantFault(t, err, rateLimited(time.Second))
	clock.Time = clock.Add(time.Second)
	if _, err := s.Admit(caller); err != nil {
		t.Errorf("after the time that the error gave: %v", err)
	}
}

func TestTokensAreSpentAfterwards(t *testing.T) {
	s, clock, caller := newLimited(t, 0, 600)
	use := func(input, output int) {
		t.Helper()
		if err := s.Afford(t.Context(), caller); err != nil {
			t.Fatalf("Afford: %v", err)
		}
		if _, err := s.Charge(t.Context(), caller, Use{InputTokens: input, OutputTokens: output}, nil); err != nil {
			t.Fatalf("Charge: %v", err)
		}
	}
	use(100, 99)
	if q, err := s.Admit(caller); err != nil || q.Tokens != (Quota{Limit: 600, Remaining: 401, Reset: minute}) {
		t.Errorf("got %+v, %v", q, err)
	}
	use(1001, 0) // more than is left: 600 owed
	if q, err := s.Admit(caller); err != nil || q.Tokens != (Quota{Limit: 600, Remaining: 0, Reset: 2 * minute}) {
		t.Errorf("got %+v, %v", q, err)
	}
	wantFault(t, s.Afford(t.Context(), caller), rateLimited(2*minute))
	clock.Time = clock.Add(2 * minute)
	use(600*1000, 0)
	if q, _ := s.Admit(caller); q.Tokens.Reset > (60+2)*minute {
		t.Errorf("one call is owed for %v", q.Tokens.Reset)
	}
}

func TestLimitsOfOneAreNotAnothers(t *testing.T) {
	s, _, caller := newLimited(t, 1, 1)
	other, err := s.CreateOrganization(t.Context(), NewOrganization{Name: "B", RequestsPerMinute: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Admit(caller); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Admit(callerOf(t, s, other.ID)); err != nil {
		t.Errorf("another organization: %v", err)
	}
}

func TestLimitsChangeAtOnce(t *testing.T) {
	s, _, caller := newLimited(t, 10, 0)
	set := func(requests, tokens int) {
		t.Helper()
		_, err := s.UpdateOrganization(t.Context(), caller.Organization, OrganizationUpdate{RequestsPerMinute: &requests, TokensPerMinute: &tokens})
		if err != nil {
			t.Fatal(err)
		}
		caller = callerOf(t, s, caller.Organization)
	}
	want := func(requests, tokens Quota) {
		t.Helper()
		if got, err := s.Admit(caller); err != nil || got != (Quotas{Requests: requests, Tokens: tokens}) {
			t.Errorf("got %+v, %v, want %+v, %+v", got, err, requests, tokens)
		}
	}
	want(Quota{Limit: 10, Remaining: 9, Reset: minute}, Quota{})
	set(5, 60)
	want(Quota{Limit: 5, Remaining: 3, Reset: minute}, Quota{Limit: 60, Remaining: 60, Reset: 0})
	set(3, 0)
	want(Quota{Limit: 3, Remaining: 0, Reset: minute}, Quota{})
	set(0, 0)
	want(Quota{}, Quota{})
}
