package openai

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/seed-506d8e5d/svc/model/openai/internal/fairqueue"
)

const (
	// maxRounds is how often all targets of a model are tried, and retryTime how
	// long after the first attempt another one may begin.
	maxRounds = 3
	retryTime = 4 * time.Second

	firstPause = 250 * time.Millisecond
	lastPause  = 2 * time.Second

	// retryShare is how many of a tenant's requests to a server may be asked
	// again, firstRetries how many when none was for long.
	retryShare   = 0.2
	firstRetries = 10

	// maxIndebted is how many tenants a budget remembers.
	maxIndebted = 1 << 12
)

// do calls op for a tenant with the targets of a model in turn until one
// succeeds, and again after a while where all have failed. Servers that ail come
// last. A failure that is not passing, and any other error, ends it at once: op
// must return such a one when it cannot be called again. Errors are those of the
// contract.
func (m *served) do(ctx context.Context, tenant string, op func(context.Context, *target) error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.Multiplier, pauses.MaxInterval = firstPause, 2, lastPause
	c := attempts{op: op, tenant: tenant}
	_, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, m.round(ctx, &c) },
		backoff.WithBackOff(pauses), backoff.WithMaxTries(maxRounds), backoff.WithMaxElapsedTime(retryTime))
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	return err
}

// attempts are those of one request.
type attempts struct {
	op     func(context.Context, *target) error
	tenant string
	failed error // the last round, nil before
}

// round tries each target once, but again only those with retries left.
func (m *served) round(ctx context.Context, c *attempts) error {
	targets := m.preferred()
	if c.failed != nil {
		targets = affordable(targets, c.tenant)
		if len(targets) == 0 {
			return backoff.Permanent(c.failed)
		}
	}
	var failures []error
	var pause time.Duration
	for i, t := range targets {
		err := t.attempt(ctx, c, i == len(targets)-1)
		if err == nil {
			return nil
		}
		f, ok := errors.AsType[*failure](err)
		if !ok || !f.passing {
			return backoff.Permanent(err)
		}
		if after := f.fault.RetryAfter; after > 0 && (pause == 0 || after < pause) {
			pause = after
		}
		failures = append(failures, err)
	}
	c.failed = errors.Join(failures...)
	if pause > 0 {
		return errors.Join(c.failed, &backoff.RetryAfterError{Duration: pause})
	}
	return c.failed
}

// preferred returns the targets in the order in which they are asked.
func (m *served) preferred() []*target {
	if len(m.targets) == 1 {
		return m.targets
	}
	var well, ailing []*target
	for _, t := range m.targets {
		if t.health.ailing.Load() {
			ailing = append(ailing, t)
		} else {
			well = append(well, t)
		}
	}
	return append(well, ailing...)
}

// affordable returns the targets that the tenant may ask again.
func affordable(targets []*target, tenant string) []*target {
	var may []*target
	for _, t := range targets {
		if t.retries.spend(tenant) {
			may = append(may, t)
		}
	}
	return may
}

// attempt calls op unless the server has its hands full. Only the last target of
// a model is waited for.
func (t *target) attempt(ctx context.Context, c *attempts, last bool) error {
	if c.failed == nil {
		t.retries.earn(c.tenant)
	}
	wait := t.QueueWait
	if !last {
		wait = 0
	}
	if err := t.queue.Enter(ctx, c.tenant, wait); err == fairqueue.ErrBusy {
		return &failure{fault: unavailable(fmt.Errorf("%s: %w", t.host, fairqueue.ErrBusy), time.Second), passing: !last}
	} else if err != nil {
		return err
	}
	defer t.queue.Leave(c.tenant)
	err := c.op(ctx, t)
	if f, ok := errors.AsType[*failure](err); ok {
		if f.sick {
			t.load.failures.Add(1)
			t.health.suspect()
			t.facts.forget() // it may come back as another
		}
		if f.window > 0 {
			t.tokenizer.window.Store(int64(f.window))
		}
	}
	return err
}

// budget bounds how often a server is asked again, so that retries do not keep
// down one that is down: for each tenant by itself, so that nobody uses up the
// retries of others.
type budget struct {
	mu   sync.Mutex
	left map[string]float64 // by tenant, those that have spent any
}

// earn counts a request that is no retry.
func (b *budget) earn(tenant string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	left, ok := b.left[tenant]
	if !ok {
		return
	}
	if left += retryShare; left >= firstRetries {
		delete(b.left, tenant)
		return
	}
	b.left[tenant] = left
}

// spend counts a retry, and reports false where none is left.
func (b *budget) spend(tenant string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	left, ok := b.left[tenant]
	if !ok {
		if left = firstRetries; b.left == nil || len(b.left) >= maxIndebted {
			b.left = map[string]float64{}
		}
	}
	if left < 1 {
		return false
	}
	b.left[tenant] = left - 1
	return true
}
