// Package admission decides what a process works on at once. A [Controller] has
// slots for requests, slots for streams, and bytes for bodies, which organizations
// share: each may have a part of the whole, so that none takes all. Nobody waits.
// A busy process refuses, and the client asks again.
//
// A [Ticket] holds what one request has acquired, and releases exactly that.
package admission

import (
	"fmt"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
)

// The defaults of [Options].
const (
	DefaultRequests = 512
	DefaultStreams  = 10_000
	DefaultBytes    = 256 << 20
)

// SmallBody is the size in bytes up to which a body is not counted: the slots of
// requests bound how many small bodies there are.
const SmallBody = 16 << 10

// Options are the limits of a process. 0 is the default.
type Options struct {
	Requests int64 // requests that are worked on at once
	Streams  int64 // streams that wait for their model, besides
	Bytes    int64 // bytes of bodies and of what waits to be read by clients
}

// Controller counts what the requests of a process have acquired. It may be used
// concurrently.
type Controller struct {
	requests, streams, bytes *pool
	concurrent               counter
}

// New returns a controller.
func New(o Options) *Controller {
	return &Controller{
		requests: newPool(o.Requests, DefaultRequests, halfOfFree),
		streams:  newPool(o.Streams, DefaultStreams, halfOfFree),
		bytes:    newPool(o.Bytes, DefaultBytes, oneThird),
	}
}

// Usage is how much is acquired, and by how many organizations.
type Usage struct{ Requests, Streams, Bytes, Concurrent, Organizations int64 }

// Usage returns what is acquired at the moment.
func (c *Controller) Usage() Usage {
	var u Usage
	organizations := map[string]bool{}
	for p, taken := range map[*pool]*int64{c.requests: &u.Requests, c.streams: &u.Streams, c.bytes: &u.Bytes} {
		p.mu.Lock()
		*taken = p.taken
		for organization := range p.by {
			organizations[organization] = true
		}
		p.mu.Unlock()
	}
	c.concurrent.mu.Lock()
	defer c.concurrent.mu.Unlock()
	for organization, n := range c.concurrent.by {
		u.Concurrent += n
		organizations[organization] = true
	}
	u.Organizations = int64(len(organizations))
	return u
}

// pool is a number of equal things that organizations share.
type pool struct {
	most  int64
	share func(most, others int64) int64 // the most for one organization while the others have that many

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

func oneThird(most, _ int64) int64 { return most / 3 }

// acquire takes n for an organization. The error is RateLimited where the
// organization has its share, and Unavailable where too few are left. An
// organization that has none may take one piece larger than its share.
func (p *pool) acquire(organization string, n int64) error {
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
		return rateLimited("The organization has too many requests at present. Try again.")
	}
	p.taken += n
	p.by[organization] = own + n
	return nil
}

func (p *pool) release(organization string, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken -= n
	if p.by[organization] -= n; p.by[organization] == 0 {
		delete(p.by, organization)
	}
}

// counter counts the requests of organizations that have a limit of their own on
// concurrent requests.
type counter struct {
	mu sync.Mutex
	by map[string]int64 // by organization, those that have any
}

// acquire counts a request. The error is RateLimited where the organization has
// most already.
func (c *counter) acquire(organization string, most int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[organization] >= most {
		return rateLimited(fmt.Sprintf("The organization's limit of %d requests at once is reached. Try again.", most))
	}
	if c.by == nil {
		c.by = map[string]int64{}
	}
	c.by[organization]++
	return nil
}

func (c *counter) release(organization string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[organization]--; c.by[organization] == 0 {
		delete(c.by, organization)
	}
}

func rateLimited(message string) error {
	return &fault.Error{Kind: fault.RateLimited, Code: fault.CodeRateLimited, Message: message, RetryAfter: time.Second}
}
