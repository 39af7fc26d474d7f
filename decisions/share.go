package decisions

import (
	"context"
	"sync"
)

// maxAtOnce is how many calls of models the decisions of one organization make
// at once, all of them together: one decision may need hundreds.
const maxAtOnce = 64

// shares are the calls that each organization makes at once.
type shares struct {
	mu sync.Mutex
	by map[string]*share // by organization, those that decide; guarded by mu
}

// share is what the decisions of one organization have together.
type share struct {
	decisions int           // guarded by the mu of shares
	slots     chan struct{} // one element for each call under way
}

// join returns the share of an organization for one more decision, which leaves
// it in the end.
func (s *shares) join(organization string) (own *share, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own = s.by[organization]
	if own == nil {
		own = &share{slots: make(chan struct{}, maxAtOnce)}
		if s.by == nil {
			s.by = map[string]*share{}
		}
		s.by[organization] = own
	}
	own.decisions++
	return own, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if own.decisions--; own.decisions == 0 {
			delete(s.by, organization)
		}
	}
}

// enter waits for a slot. The error is that of ctx.
func (s *share) enter(ctx context.Context) error {
	select {
	case s.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *share) leave() { <-s.slots }
