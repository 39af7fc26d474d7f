package httpapi

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
)

// DefaultMaxRequests is how many requests with an API key run at once where
// [Options] do not say.
const DefaultMaxRequests = 512

// slots bound how many requests run at once. Nobody waits for one: what a busy
// process can do for one request more is to say so at once.
type slots struct {
	most  int64
	taken *atomic.Int64
}

func newSlots(most int) slots {
	if most <= 0 {
		most = DefaultMaxRequests
	}
	return slots{int64(most), new(atomic.Int64)}
}

// take takes a slot, which is given back with give, or returns an Unavailable
// error.
func (s slots) take() error {
	if s.taken.Add(1) <= s.most {
		return nil
	}
	s.give()
	return &fault.Error{
		Kind:       fault.Unavailable,
		Code:       fault.CodeUnavailable,
		Message:    "The service has too many requests at present. Try again.",
		RetryAfter: time.Second,
	}
}

func (s slots) give() { s.taken.Add(-1) }

// admit counts the call against its organization's limits and tells the client
// what is left of them, in the headers that clients of the OpenAI API know.
func (c *call) admit() error {
	quotas, err := c.api.service.Admit(c.caller)
	h := c.w.Header()
	setQuota(h, "Requests", quotas.Requests)
	setQuota(h, "Tokens", quotas.Tokens)
	return err
}

func setQuota(h http.Header, what string, q accounts.Quota) {
	if q.Limit == 0 {
		return
	}
	h.Set("X-Ratelimit-Limit-"+what, strconv.Itoa(q.Limit))
	h.Set("X-Ratelimit-Remaining-"+what, strconv.Itoa(q.Remaining))
	// As the OpenAI API writes it: 6ms, 1.5s, 1m0s.
	h.Set("X-Ratelimit-Reset-"+what, q.Reset.String())
}
