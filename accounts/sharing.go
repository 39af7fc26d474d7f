package accounts

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
)

// shareEvery is how often a process either writes what it has used of limits or
// reads what others have, in turns: one transaction for all organizations.
const shareEvery = 500 * time.Millisecond

// spent is what a process has used of an organization's limits since it began.
type spent struct {
	Requests int64 `json:"r,omitempty"`
	Tokens   int64 `json:"t,omitempty"`

	// In the minute up to when this was written, by all: for those who begin.
	LastRequests int64 `json:"lr,omitempty"`
	LastTokens   int64 `json:"lt,omitempty"`
}

// sharing is what the processes tell each other of the use of limits. Each counts
// what others have used, too, so that together they let through what one would. It
// belongs to the background goroutine.
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
		now := s.now().Unix()
		a.mu.Lock()
		a.requests.turn(now)
		a.tokens.turn(now)
		u := spent{a.requests.total, a.tokens.total, a.requests.sum, a.tokens.sum}
		a.mu.Unlock()
		if u.Requests != 0 || u.Tokens != 0 {
			before := h.told[organization.(string)]
			all[organization.(string)] = u
			changed = changed || u.Requests != before.Requests || u.Tokens != before.Tokens
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
		return storage.SetJSON(tx, spentKey(s.cluster.ID()), all)
	})
	if err == nil {
		h.told, h.gone = all, nil
	}
	return err
}

// hear reads what others have used and counts what is new.
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
	delete(heard, s.cluster.ID())
	h.gone = nil
	begun := map[string]spent{}
	for id, all := range heard {
		before, known := h.heard[id]
		if !s.cluster.Alive(id) {
			h.gone = append(h.gone, id)
		}
		for id, u := range all {
			if known || h.heard != nil {
				s.takeShared(id, u.Requests-before[id].Requests, u.Tokens-before[id].Tokens)
				continue
			}
			last := begun[id] // what was used before this process began is over, but for the last minute
			last.LastRequests, last.LastTokens = max(last.LastRequests, u.LastRequests), max(last.LastTokens, u.LastTokens)
			begun[id] = last
		}
	}
	for id, u := range begun {
		s.takeShared(id, u.LastRequests, u.LastTokens)
	}
	h.heard = heard
	return nil
}

// takeShared counts what other processes have used.
func (s *Service) takeShared(id string, requests, tokens int64) {
	a := s.allowance(id)
	now := s.now().Unix()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests.turn(now)
	a.tokens.turn(now)
	a.requests.add(requests)
	a.tokens.add(tokens)
}
