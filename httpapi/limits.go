package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
)

// The bounds of what a process works on at once, where [Options] do not say.
const (
	DefaultMaxRequests = 512
	DefaultMaxStreams  = 10_000
	DefaultMaxBodies   = 256 << 20 // bytes

	// smallBody is the size, in bytes, up to which a body is not counted among
	// those in flight: that there are not too many of them is for the slots.
	smallBody = 16 << 10
)

// pool is a number of things that organizations share. Nobody waits for one: what
// a busy process can do for one request more is to say so at once. Each
// organization has a limit of its own below the whole, so that none takes all.
type pool struct {
	most  int64
	share func(most, others int64) int64 // the most for one organization, where others have that many

	mu    sync.Mutex
	taken int64
	by    map[string]int64 // by organization, those that have any
}

func newPool(most, otherwise int64, share func(most, others int64) int64) *pool {
	if most <= 0 {
		most = otherwise
	}
	return &pool{most: most, share: share, by: map[string]int64{}}
}

// halfOfFree leaves as much to everybody else as an organization takes.
func halfOfFree(most, others int64) int64 { return (most - others) / 2 }

func aThird(most, _ int64) int64 { return most / 3 }

// take takes n for an organization, which gives them back with give. The error is
// RateLimited where the organization has its share, and Unavailable where there
// are not that many left. One that has none may take a single one above its share.
func (p *pool) take(organization string, n int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.by[organization]
	if p.taken+n > p.most {
		return &fault.Error{
			Kind:       fault.Unavailable,
			Code:       fault.CodeUnavailable,
			Message:    "The service has too many requests at present. Try again.",
			RetryAfter: time.Second,
		}
	}
	if own > 0 && own+n > p.share(p.most, p.taken-own) {
		return &fault.Error{
			Kind:       fault.RateLimited,
			Code:       accounts.CodeRateLimited,
			Message:    "The organization has too many requests at present. Try again.",
			RetryAfter: time.Second,
		}
	}
	p.taken += n
	p.by[organization] = own + n
	return nil
}

func (p *pool) give(organization string, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken -= n
	if p.by[organization] -= n; p.by[organization] == 0 {
		delete(p.by, organization)
	}
}

// concurrent counts the requests of those organizations that have a limit of
// their own on how many there may be at once, whatever slots they have.
type concurrent struct {
	mu sync.Mutex
	by map[string]int64 // by organization, those that have any
}

// take counts one, or refuses it where there are as many as there may be:
// RateLimited.
func (n *concurrent) take(organization string, most int64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.by[organization] >= most {
		return &fault.Error{
			Kind:       fault.RateLimited,
			Code:       accounts.CodeRateLimited,
			Message:    fmt.Sprintf("The organization's limit of %d requests at once is reached. Try again.", most),
			RetryAfter: time.Second,
		}
	}
	if n.by == nil {
		n.by = map[string]int64{}
	}
	n.by[organization]++
	return nil
}

func (n *concurrent) give(organization string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.by[organization]--; n.by[organization] == 0 {
		delete(n.by, organization)
	}
}

// held is what a call has of the pools.
type held struct {
	slot  *pool // of requests or streams; nil: none yet
	own   bool  // whether it is counted against its organization's own limit
	bytes int64 // of its body
}

// enter takes a slot for the call, unless it has one.
func (c *call) enter() error {
	if c.held.slot != nil || c.caller.Organization == "" {
		return nil
	}
	return c.swap(c.api.requests)
}

// wait exchanges the call's slot for that of a stream, which does nothing but
// wait for its model.
func (c *call) wait() error { return c.swap(c.api.streams) }

func (c *call) swap(slot *pool) error {
	if !c.held.own && c.caller.ConcurrentRequests > 0 {
		if err := c.api.concurrent.take(c.caller.Organization, int64(c.caller.ConcurrentRequests)); err != nil {
			return err
		}
		c.held.own = true
	}
	if err := slot.take(c.caller.Organization, 1); err != nil {
		return err
	}
	if c.held.slot != nil {
		c.held.slot.give(c.caller.Organization, 1)
	}
	c.held.slot = slot
	return nil
}

// grow counts the call's body as one of size bytes.
func (c *call) grow(size int64) error {
	if size <= smallBody || size <= c.held.bytes || c.caller.Organization == "" {
		return nil
	}
	if err := c.api.bodies.take(c.caller.Organization, size-c.held.bytes); err != nil {
		return err
	}
	c.held.bytes = size
	return nil
}

// leave gives back what the call holds.
func (c *call) leave() {
	if c.held.slot != nil {
		c.held.slot.give(c.caller.Organization, 1)
	}
	if c.held.own {
		c.api.concurrent.give(c.caller.Organization)
	}
	if c.held.bytes > 0 {
		c.api.bodies.give(c.caller.Organization, c.held.bytes)
	}
	c.held = held{}
}

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
