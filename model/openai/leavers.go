package openai

import (
	"sync"
	"time"
)

const (
	// leftLately is for how long the answers to a tenant whose caller has left are
	// asked for piece by piece, and mostLeavers how many tenants are remembered.
	leftLately  = time.Hour
	mostLeavers = 10_000
)

// leavers are the tenants with callers that left before an answer came which was
// asked for as a whole. What the server had generated for them nobody knows, so
// that it cannot be charged: their next answers come in pieces, which are counted.
// The zero value has none.
type leavers struct {
	mu sync.Mutex
	at map[string]time.Time // when a caller left; guarded by mu
}

func (l *leavers) note(tenant string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at == nil || len(l.at) >= mostLeavers {
		l.at = map[string]time.Time{}
	}
	l.at[tenant] = now
}

func (l *leavers) lately(tenant string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.at[tenant]
	if ok && now.Sub(at) >= leftLately {
		delete(l.at, tenant)
		ok = false
	}
	return ok
}
