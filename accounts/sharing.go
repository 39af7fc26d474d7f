package accounts

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-506d8e5d/svc/storage"
)

// shareEvery is how often a process either writes what it has used of limits or
// reads what others have, in turns: one transaction for all organizations.
const shareEvery = 500 * time.Millisecond

// spent is what a process has used of an organization's limits since it began.
type spent struct {
	Requests int64 `json:"r,omitempty"`
	Tokens   int64 `json:"t,omitempty"`
}

// sharing is what the processes tell each other of the use of limits. Each takes
// what others have used from its own buckets, so that together they let through
// what one would. It belongs to the background goroutine.
type sharing struct {
	read  bool             // what is next
	told  map[string]spent // by organization, what was written last
	heard map[string]map[string]spent
	gone  []string // processes whose records are to be removed
}

// shareUse does the next of the two.
func (s *Service) shareUse(ctx context.Context) error {
	h := &s.sharing
	if h.read = !h.read; h.read {
		return s.hear(ctx, h)
	}
	return s.tell(ctx, h)
}

// tell writes what this process has used, where that has changed.
func (s *Service) tell(ctx context.Context, h *sharing) error {
	all, changed := map[string]spent{}, len(h.gone) > 0
	s.allowances.Range(func(organization, value any) bool {
		a := value.(*allowance)
		u := spent{a.usedRequests.Load(), a.usedTokens.Load()}
		if u != (spent{}) {
			all[organization.(string)] = u
			changed = changed || u != h.told[organization.(string)]
		}
		return true
	})
	if !changed {
		return nil
	}
	err := s.store.Update(ctx, system, func(tx storage.Tx) error {
		for _, id := range h.gone {
			if err := tx.Delete(spentKey(id)); err != nil {
				return err
			}
		}
		return storage.SetJSON(tx, spentKey(s.replicas.ID()), all)
	})
	if err == nil {
		h.told, h.gone = all, nil
	}
	return err
}

// hear reads what others have used and takes what is new from the buckets here.
func (s *Service) hear(ctx context.Context, h *sharing) error {
	heard := map[string]map[string]spent{}
	err := s.store.View(ctx, system, func(tx storage.Tx) error {
		clear(heard)
		for e, err := range tx.Scan(storage.Prefix([]byte(spentPrefix))) {
			if err != nil {
				return err
			}
			var all map[string]spent
			if err := json.Unmarshal(e.Value, &all); err != nil {
				return err
			}
			heard[strings.TrimPrefix(string(e.Key), spentPrefix)] = all
		}
		return nil
	})
	if err != nil {
		return err
	}
	delete(heard, s.replicas.ID())
	h.gone = nil
	for id, all := range heard {
		before, known := h.heard[id]
		if !s.replicas.Living(id) {
			h.gone = append(h.gone, id)
		}
		for organization, u := range all {
			if known || h.heard != nil { // what was used before this process began is over
				s.takeShared(organization, spent{u.Requests - before[organization].Requests, u.Tokens - before[organization].Tokens})
			}
		}
	}
	h.heard = heard
	return nil
}

// takeShared takes what another process has used from the buckets here. Those
// are made when the organization is first seen here, from then on what is used
// elsewhere counts.
func (s *Service) takeShared(organization string, u spent) {
	a := s.allowance(organization)
	a.mu.Lock()
	requests, tokens := a.requests, a.tokens
	a.mu.Unlock()
	now := s.now()
	take(requests, u.Requests, now)
	take(tokens, u.Tokens, now)
}

// take takes from a bucket, which may owe some afterwards.
func take(l *rate.Limiter, n int64, now time.Time) {
	if l == nil {
		return
	}
	most := l.Burst()
	for left := int(n); left > 0 && l.TokensAt(now) > float64(-maxDebt*most); {
		part := min(left, most)
		l.ReserveN(now, part) // one reservation takes at most a whole bucket
		left -= part
	}
}
