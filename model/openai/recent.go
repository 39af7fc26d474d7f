package openai

import (
	"sync"
	"time"
)

const (
	// leftLately is for how long the answers to a tenant whose caller has left are
	// asked for piece by piece.
	leftLately = time.Hour

	// refusedLately is for how long a question that a target cannot answer is not
	// asked again.
	refusedLately = time.Minute

	// mostRecent is how many keys a recent remembers.
	mostRecent = 10_000
)

// recent remembers values for a while. It may be used concurrently; the zero value
// is empty.
type recent[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]dated[V] // guarded by mu
}

type dated[V any] struct {
	value V
	at    time.Time
}

func (r *recent[K, V]) put(key K, value V, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.values == nil || len(r.values) >= mostRecent {
		r.values = map[K]dated[V]{}
	}
	r.values[key] = dated[V]{value, now}
}

// get returns a value that is younger than the age.
func (r *recent[K, V]) get(key K, now time.Time, age time.Duration) (value V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.values[key]
	if ok && now.Sub(v.at) >= age {
		delete(r.values, key)
		return value, false
	}
	return v.value, ok
}

// abandonments are the tenants with callers that left before an answer came which was
// asked for as a whole. Nobody knows what the server had generated for them, so that
// it cannot be charged: their next answers come in pieces, which are counted.
type abandonments struct{ recent[string, struct{}] }

// lately reports whether a tenant is among them.
func (a *abandonments) lately(tenant string, now time.Time) bool {
	_, ok := a.get(tenant, now, leftLately)
	return ok
}

// stopsWhole reports whether an answer may be asked for as a whole: the server stops
// when the caller leaves, and the tenant's callers have not left lately.
func (t *target) stopsWhole(tenant string, b *Backend) bool {
	return t.traits().stopsWhole && !b.abandonments.lately(tenant, time.Now())
}
