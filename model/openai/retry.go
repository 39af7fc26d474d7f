package openai

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	// maxRounds is how often all targets of a model are tried, and retryTime how
	// long after the first attempt another one may begin.
	maxRounds = 3
	retryTime = 4 * time.Second

	firstPause = 250 * time.Millisecond
	lastPause  = 2 * time.Second
)

// do calls op with the targets of a model in turn until one succeeds, and again
// after a while where all have failed. A failure that is not passing, and any
// other error, ends it at once: op must return such a one when it cannot be
// called again. Errors are those of the contract.
func (m *served) do(ctx context.Context, op func(context.Context, *target) error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.Multiplier, pauses.MaxInterval = firstPause, 2, lastPause
	_, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, m.round(ctx, op) },
		backoff.WithBackOff(pauses), backoff.WithMaxTries(maxRounds), backoff.WithMaxElapsedTime(retryTime))
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	return err
}

// round tries each target once.
func (m *served) round(ctx context.Context, op func(context.Context, *target) error) error {
	var failures []error
	var pause time.Duration
	for i, t := range m.targets {
		err := t.attempt(ctx, op, i == len(m.targets)-1)
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
	if pause > 0 {
		failures = append(failures, &backoff.RetryAfterError{Duration: pause})
	}
	return errors.Join(failures...)
}

// attempt calls op unless the server is to be left alone or has its hands full.
// Only the last target of a model is waited for.
func (t *target) attempt(ctx context.Context, op func(context.Context, *target) error, last bool) error {
	done, err := t.breaker.Allow()
	if err != nil {
		return &failure{passing: true, fault: unavailable(fmt.Errorf("%s: %w", t.host, err), restFor)}
	}
	if err := t.enter(ctx, last); err != nil {
		done(context.Canceled) // says nothing about the server
		return err
	}
	defer t.leave()
	err = context.Canceled // where op panics
	defer func() { done(err) }()
	err = op(ctx, t)
	return err
}

// enter takes one of the server's slots.
func (s *server) enter(ctx context.Context, wait bool) error {
	if s.slots == nil {
		return nil
	}
	select {
	case s.slots <- struct{}{}:
		return nil
	default:
	}
	full := &failure{fault: unavailable(fmt.Errorf("%s: %w", s.host, errQueue), time.Second), passing: !wait}
	if !wait {
		return full
	}
	timer := time.NewTimer(s.QueueWait)
	defer timer.Stop()
	select {
	case s.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return full
	}
}

func (s *server) leave() {
	if s.slots != nil {
		<-s.slots
	}
}
