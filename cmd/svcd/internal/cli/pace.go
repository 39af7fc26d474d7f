package cli

import (
	"context"
	"sync"
)

// pace is how many requests a server is sent at once: one more for each round
// that it took, and half as many when it says that it is too many.
type pace struct {
	mu      sync.Mutex
	changed chan struct{} // closed when a place may have become free; guarded by mu, as is all below
	most    int
	limit   float64
	running int
	round   int // counts the halvings, of which one round of requests makes one
}

// firstPace is how many requests there are at once in the beginning.
const firstPace = 4

func newPace(most int) *pace {
	return &pace{most: most, limit: float64(min(most, firstPace)), changed: make(chan struct{})}
}

// enter waits for a place, and returns what leave takes.
func (p *pace) enter(ctx context.Context) (round int, err error) {
	for {
		p.mu.Lock()
		if p.running < int(p.limit) {
			p.running++
			defer p.mu.Unlock()
			return p.round, nil
		}
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// leave gives a place back that was entered in a round.
func (p *pace) leave(round int, tooMany bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	switch {
	case tooMany && round == p.round: // not those that were under way when it was halved
		p.round++
		p.limit = max(p.limit/2, 1)
	case !tooMany:
		p.limit = min(p.limit+1/p.limit, float64(p.most))
	}
	close(p.changed)
	p.changed = make(chan struct{})
}
