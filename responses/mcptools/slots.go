package mcptools

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// callsAtOnce is how many calls of an organization run at once in a process. More
// wait.
const callsAtOnce = 32

// slots bound calls by organization.
type slots struct {
	mu sync.Mutex
	of map[string]*slot
}

type slot struct {
	calls *semaphore.Weighted
	users int // that hold a place or wait for one
}

// acquire waits for a place, until ctx ends. The caller releases it.
func (s *slots) acquire(ctx context.Context, organization string) (release func(), err error) {
	s.mu.Lock()
	one := s.of[organization]
	if one == nil {
		one = &slot{calls: semaphore.NewWeighted(callsAtOnce)}
		s.of[organization] = one
	}
	one.users++
	s.mu.Unlock()
	leave := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(s.of, organization)
		}
	}
	if err := one.calls.Acquire(ctx, 1); err != nil {
		leave()
		return nil, err
	}
	return func() {
		one.calls.Release(1)
		leave()
	}, nil
}
