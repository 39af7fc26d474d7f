package limits

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
)

// ExchangeEvery is how often [Service.Exchange] is to be called where several
// processes share the store.
const ExchangeEvery = 500 * time.Millisecond

// system is the service's own namespace. In it
//
//	a/s/<process>   is what a process has used of limits, JSON by subject
const (
	system       storage.Namespace = "system"
	recordPrefix string            = "a/s/"
)

func recordKey(process string) []byte { return []byte(recordPrefix + process) }

// used is what a process has used of a subject's limits since it began.
type used struct {
	Requests int64 `json:"r,omitempty"`
	Tokens   int64 `json:"t,omitempty"`

	// In the minute up to when this was written, by all: for processes that begin.
	LastRequests int64 `json:"lr,omitempty"`
	LastTokens   int64 `json:"lt,omitempty"`
}

// exchange is what this process knows of the records of all. It belongs to the
// goroutine that calls Exchange.
type exchange struct {
	collectNext bool
	published   map[string]used            // by subject, what this process wrote last
	collected   map[string]map[string]used // by process and subject
	orphans     []string                   // processes whose records are to be removed
}

// Exchange either writes what this process has used, where that has changed, or reads
// what the others have, in turns: one transaction for all subjects. One goroutine
// calls it, every [ExchangeEvery].
func (s *Service) Exchange(ctx context.Context) error {
	x := &s.exchange
	if x.collectNext = !x.collectNext; x.collectNext {
		return s.collect(ctx, x)
	}
	return s.publish(ctx, x)
}

func (s *Service) publish(ctx context.Context, x *exchange) error {
	all, changed := map[string]used{}, len(x.orphans) > 0
	s.allowances.Range(func(key, value any) bool {
		a, id := value.(*allowance), key.(string)
		now := s.now().Unix()
		a.mu.Lock()
		a.requests.advance(now)
		a.tokens.advance(now)
		u := used{a.requests.total, a.tokens.total, a.requests.sum, a.tokens.sum}
		a.mu.Unlock()
		if u.Requests != 0 || u.Tokens != 0 {
			before := x.published[id]
			all[id] = u
			changed = changed || u.Requests != before.Requests || u.Tokens != before.Tokens
		}
		return true
	})
	if !changed {
		return nil
	}
	err := s.store.Update(ctx, system, func(tx storage.Tx) error {
		for _, id := range x.orphans {
			if err := tx.Delete(recordKey(id)); err != nil {
				return err
			}
		}
		return storage.SetJSON(tx, recordKey(s.cluster.ID()), all)
	})
	if err == nil {
		x.published, x.orphans = all, nil
	}
	return err
}

// collect reads what others have used and counts what is new.
func (s *Service) collect(ctx context.Context, x *exchange) error {
	records, err := s.records(ctx)
	if err != nil {
		return err
	}
	delete(records, s.cluster.ID())
	x.orphans = nil
	last := map[string]used{} // by subject, of processes that were there before this one
	for process, all := range records {
		before, known := x.collected[process]
		if !s.cluster.Alive(process) {
			x.orphans = append(x.orphans, process)
		}
		for id, u := range all {
			if known || x.collected != nil {
				s.count(id, u.Requests-before[id].Requests, u.Tokens-before[id].Tokens)
				continue
			}
			// What was used before this process began is over, but for the last minute.
			l := last[id]
			l.LastRequests, l.LastTokens = max(l.LastRequests, u.LastRequests), max(l.LastTokens, u.LastTokens)
			last[id] = l
		}
	}
	for id, u := range last {
		s.count(id, u.LastRequests, u.LastTokens)
	}
	x.collected = records
	return nil
}

// records reads the records of all processes. One that cannot be read is left out:
// it must not keep the others from being counted.
func (s *Service) records(ctx context.Context) (map[string]map[string]used, error) {
	records := map[string]map[string]used{}
	err := s.store.View(ctx, system, func(tx storage.Tx) error {
		clear(records)
		for e, err := range tx.Scan(storage.Prefix([]byte(recordPrefix))) {
			if err != nil {
				return err
			}
			var all map[string]used
			if json.Unmarshal(e.Value, &all) == nil {
				records[strings.TrimPrefix(string(e.Key), recordPrefix)] = all
			}
		}
		return nil
	})
	return records, err
}

// count counts what other processes have used.
func (s *Service) count(id string, requests, tokens int64) {
	a := s.allowance(id)
	now := s.now().Unix()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests.advance(now)
	a.tokens.advance(now)
	a.requests.add(requests)
	a.tokens.add(tokens)
}
