package svc

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// endTimeout is how long work has to end once it is cancelled: to store what a
// turn has so far and to charge it.
const endTimeout = 30 * time.Second

// life knows the work that runs: the operations that call a model.
type life struct {
	cancelled context.Context // of all that runs, when its time is up
	cancel    context.CancelFunc

	mu      sync.Mutex
	running int           // guarded by mu, as are the others
	ending  bool          // whether new work is refused
	idle    chan struct{} // closed when ending, and nothing runs any more
}

func newLife() *life {
	l := &life{idle: make(chan struct{})}
	l.cancelled, l.cancel = context.WithCancel(context.Background())
	return l
}

// begin counts one more that runs, until end.
func (l *life) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending {
		return errShutdown()
	}
	l.running++
	return nil
}

func (l *life) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running--; l.running == 0 && l.ending {
		close(l.idle)
	}
}

// refuse lets nothing new begin.
func (l *life) refuse() {
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

// err is what refuses new work, or nil.
func (l *life) err() error {
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
func run[T any](ctx context.Context, l *life, operation func(context.Context) (T, error)) (T, error) {
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
func stream[T any](ctx context.Context, l *life, operation func(context.Context) (iter.Seq2[T, error], error)) (iter.Seq2[T, error], error) {
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
	if err := s.life.err(); err != nil {
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
	s.life.refuse()
	select {
	case <-s.life.idle:
		if s.responses == nil || s.responses.Wait(ctx) {
			return nil
		}
	case <-ctx.Done():
	}
	s.life.cancel()
	select {
	case <-s.life.idle:
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
		s.life.cancel()
		s.background.Wait()
		for _, closer := range slices.Backward(s.closers) {
			if err := closer(); err != nil && first == nil {
				first = err
			}
		}
	})
	return first
}

const (
	// recoverPage is how many organizations recoverAll reads at once.
	recoverPage = 1000
	// recoverEvery is how often it is looked for what was left, if nobody says that
	// a process has ended.
	recoverEvery = 10 * time.Second
	// recoverLease is the name of the lease of who recovers.
	recoverLease = "recovery"
)

// recoverAlways takes up what processes that ended have left: at the start, when
// another one has ended or died, and now and then. One process does it for all.
func (s *Service) recoverAlways(ctx context.Context) {
	once := func() {
		if err := s.recover(ctx); err != nil {
			s.recoveryFailed(ctx, "", err)
		}
	}
	once()
	background.Every(ctx, recoverEvery, s.cluster.PeerGone(), once)
}

// recover takes up what processes that are not alive have noted that they may
// leave, organization by organization. It runs beside the work that has begun
// since: a failure is one organization's, and is tried again the next time.
func (s *Service) recover(ctx context.Context) error {
	left, all, err := s.cluster.Orphans(ctx)
	if err != nil || len(left) == 0 && !all {
		return err
	}
	if held, err := s.cluster.AcquireLease(ctx, recoverLease); err != nil || !held {
		return err
	}
	if all {
		if err := s.recoverAll(ctx); err != nil {
			return err
		}
	}
	for failed := 0; len(left) > failed && ctx.Err() == nil; {
		failed = 0
		for _, l := range left {
			err := s.recoverIn(ctx, l.Namespace)
			if err == nil {
				err = s.cluster.FinishOrphan(ctx, l)
			}
			if err != nil {
				failed++
				s.recoveryFailed(ctx, string(l.Namespace), err)
			}
		}
		if left, _, err = s.cluster.Orphans(ctx); err != nil {
			return err
		}
	}
	return nil
}

// recoverAll takes up what was left in any organization, by processes of versions
// that made no notes of that.
func (s *Service) recoverAll(ctx context.Context) error {
	for p := (page.Params{Limit: recoverPage}); ; {
		organizations, err := s.accounts.OrganizationIDs(ctx, p)
		if err != nil {
			return err
		}
		for _, id := range organizations.Items {
			if err := s.recoverIn(ctx, accounts.Caller{Organization: id}.Namespace()); err != nil {
				s.recoveryFailed(ctx, id, err)
			}
			p.After = id
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !organizations.HasMore {
			return s.cluster.FinishFullScan(ctx)
		}
	}
}

// recoverIn takes up what was left in a namespace.
func (s *Service) recoverIn(ctx context.Context, ns storage.Namespace) error {
	return errors.Join(s.conversations.Recover(ctx, ns), s.responses.Recover(ctx, ns), s.files.Recover(ctx, ns))
}

func (s *Service) recoveryFailed(ctx context.Context, organization string, err error) {
	if ctx.Err() != nil {
		return
	}
	level := slog.LevelError
	if errors.Is(err, storage.ErrFull) {
		level = slog.LevelWarn // nothing is wrong with what was left: it is taken up once there is room
	}
	s.log.Log(ctx, level, "svc: what an earlier process left could not be taken up", "organization", organization, "err", err)
}
