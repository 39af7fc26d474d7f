package httpapi

import (
	"net/http"
	"strconv"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/internal/admission"
)

// The limits of what a process works on at once, where [Options] do not say.
const (
	DefaultMaxRequests = admission.DefaultRequests
	DefaultMaxStreams  = admission.DefaultStreams
	DefaultMaxBodies   = admission.DefaultBytes
)

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
