package svc

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
)

// endTimeout is how long work has to end once it is cancelled: to store what a
// turn has so far and to charge it.
const endTimeout = 30 * time.Second

// lifecycle counts the operations that call a model, and cancels them.
type lifecycle struct {
	cancelled context.Context // ends when whatever still runs is cancelled
	cancel    context.CancelFunc

	mu      sync.Mutex
	running int           // guarded by mu, as are the others
	ending  bool          // whether new work is refused
	idle    chan struct{} // closed when ending, and nothing runs any more
}

func newLifecycle() *lifecycle {
	l := &lifecycle{idle: make(chan struct{})}
	l.cancelled, l.cancel = context.WithCancel(context.Background())
	return l
}

// begin counts one more operation, until end.
func (l *lifecycle) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending {
		return errShutdown()
	}
	l.running++
	return nil
}

func (l *lifecycle) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running--; l.running == 0 && l.ending {
		close(l.idle)
	}
}

// refuse refuses new operations from now on.
func (l *lifecycle) refuse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending {
		return
	}
	l.ending = true
	if l.running == 0 {
		close(l.idle)
	}
}

// err returns the error that refuses new operations, or nil.
func (l *lifecycle) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending {
		return errShutdown()
	}
	return nil
}

func errShutdown() error {
	return &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable, Message: "The service is shutting down.", RetryAfter: time.Second}
}

// run does one operation that calls a model.
func run[T any](ctx context.Context, l *lifecycle, operation func(context.Context) (T, error)) (T, error) {
	if err := l.begin(); err != nil {
		var none T
		return none, err
	}
	defer l.end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.cancelled, cancel)()
	return operation(ctx)
}

// stream is run for an operation whose answer is a sequence: it runs while the
// sequence is ranged over.
func stream[T any](ctx context.Context, l *lifecycle, operation func(context.Context) (iter.Seq2[T, error], error)) (iter.Seq2[T, error], error) {
	if err := l.err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	sequence, err := operation(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	return func(yield func(T, error) bool) {
		defer cancel()
		if err := l.begin(); err != nil {
			fail(yield, err)
			return
		}
		defer l.end()
		defer context.AfterFunc(l.cancelled, cancel)()
		sequence(yield)
	}, nil
}

// fail yields an error. It is a function of its own because the empty element would
// otherwise lie in the stack of every stream for as long as it runs.
//
//go:noinline
func fail[T any](yield func(T, error) bool, err error) {
	var none T
	yield(none, err)
}

// Ready returns nil where the service can do work, and otherwise why not: it is
// shutting down, or its store cannot be written. ctx bounds the question.
func (s *Service) Ready(ctx context.Context) error {
	if err := s.lifecycle.err(); err != nil {
		return err
	}
	return s.store.Writable(ctx)
}

// Shutdown refuses new work from now on (Unavailable), lets the work that runs
// end, and cancels what has not when ctx ends: turns are stored as cancelled then,
// and charged. What has nothing to do with models, such as reading what is stored,
// goes on until [Service.Close]. The error is that work did not end within half a
// minute of being cancelled.
func (s *Service) Shutdown(ctx context.Context) error {
	s.lifecycle.refuse()
	select {
	case <-s.lifecycle.idle:
		if s.responses == nil || s.responses.Wait(ctx) {
			return nil
		}
	case <-ctx.Done():
	}
	s.lifecycle.cancel()
	select {
	case <-s.lifecycle.idle:
		return nil
	case <-time.After(endTimeout):
		return errors.New("svc: work goes on although it was cancelled")
	}
}

// Close cancels the work that runs, as [Service.Shutdown] does whose time is up,
// ends background work, waits for it, and closes the store if New made it. Nothing
// else may be asked of the service afterwards. It returns the first error; closing
// twice is no error.
func (s *Service) Close() error {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	first := s.Shutdown(now)
	s.closing.Do(func() {
		s.lifecycle.cancel()
		s.background.Wait()
		for _, closer := range slices.Backward(s.closers) {
			if err := closer(); err != nil && first == nil {
				first = err
			}
		}
	})
	return first
}
