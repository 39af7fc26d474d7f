package accounts

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/seed-506d8e5d/svc/storage"
)

const (
	compactMost = 2048      // entries that one transaction compacts
	forgetAge   = 24 * 3600 // seconds after its last entry in which a dead process's lane is forgotten

	// checkpointFormat is of a checkpoint after which the log has no entries. In
	// those of earlier versions entries were written into the log itself.
	checkpointFormat = 2
)

// checkpoint is the sum of all entries of the log up to and including a number.
type checkpoint struct {
	Format   int             `json:"format,omitempty"`
	Sequence uint64          `json:"sequence"`
	Balance  Micros          `json:"balance"`
	Lanes    map[string]lane `json:"lanes,omitempty"` // what was compacted of each process's, by its ID
}

// lane is what was compacted of one process's entries.
type lane struct {
	Sequence uint64 `json:"sequence"` // the largest number
	Sum      Micros `json:"sum"`
	At       int64  `json:"at"` // when the last was made, Unix seconds
}

// sums is what a ledger adds up to, seen from one lane.
type sums struct {
	mine, others        Micros
	sequence, compacted uint64 // the largest numbers of the lane, and of those of its entries that are compacted
	uncompacted         int
	logged              uint64 // the last number of the log
}

// sums reads a ledger.
func (s *Service) sums(ctx context.Context, organization string) (sums, error) {
	var result sums
	err := s.store.View(ctx, storage.Namespace(organization), func(tx storage.Tx) error {
		point, waiting, err := readLedger(tx, storage.Range{Start: checkpointKey(), End: storage.After([]byte(lanePrefix))})
		if err != nil {
			return err
		}
		own := point.Lanes[s.cluster.ID()]
		result = sums{mine: own.Sum, others: point.Balance - own.Sum, sequence: own.Sequence, compacted: own.Sequence, uncompacted: len(waiting), logged: point.Sequence}
		for _, w := range waiting {
			if w.Lane != s.cluster.ID() {
				result.others += w.Amount
				continue
			}
			result.mine += w.Amount
			result.sequence = max(result.sequence, w.Number)
		}
		return nil
	})
	return result, err
}

// readLedger reads the checkpoint and the entries in lanes from ranges of keys
// of which the first begins with the checkpoint's.
func readLedger(tx storage.Tx, ranges ...storage.Range) (point checkpoint, waiting []entryRecord, err error) {
	for _, r := range ranges {
		for e, err := range tx.Scan(r) {
			if err != nil {
				return point, nil, err
			}
			if string(e.Key) == checkpointName {
				err = json.Unmarshal(e.Value, &point)
			} else {
				var w entryRecord
				w, err = readEntry(e.Value)
				w.Lane, w.Number = parseLaneKey(e.Key)
				waiting = append(waiting, w)
			}
			if err != nil {
				return point, nil, err
			}
		}
	}
	if point.Format == checkpointFormat {
		return point, waiting, nil
	}
	point.Format = checkpointFormat
	log := storage.Prefix([]byte(entryPrefix))
	log.Start = entryKey(point.Sequence + 1)
	for e, err := range tx.Scan(log) {
		if err != nil {
			return point, nil, err
		}
		record, err := readEntry(e.Value)
		if err != nil {
			return point, nil, err
		}
		point.Sequence = entrySequence(e.Key)
		point.Balance += record.Amount
	}
	return point, waiting, nil
}

// compactIfDue asks for a ledger to be compacted where that many entries wait for it.
// A later entry asks again where nobody has time for it now.
func (s *Service) compactIfDue(l *ledger, uncompacted int64) {
	if uncompacted < int64(s.compactEvery) || !l.compacting.CompareAndSwap(false, true) {
		return
	}
	select {
	case s.compactions <- l:
	default:
		l.compacting.Store(false)
	}
}

// compact moves what is in lanes into the log.
func (s *Service) compact(ctx context.Context, l *ledger) error {
	defer l.compacting.Store(false)
	if l.loaded.Load() && !s.cluster.Shared() && l.uncompacted.Load() <= 0 {
		return nil // nobody else adds any; a store walks over what was moved before it says so
	}
	for {
		more, err := s.compactSome(ctx, l)
		if err != nil {
			return fmt.Errorf("ledger of %s: %w", l.organization, err)
		}
		if !more {
			return nil
		}
	}
}

// compactSome moves up to compactMost entries. Charges wait for those that run while
// the end of this process's lane is taken, so that none is added before it, but
// not while entries are moved.
func (s *Service) compactSome(ctx context.Context, l *ledger) (more bool, err error) {
	if err := l.mu.Acquire(ctx, all); err != nil {
		return false, err
	}
	end := l.sequence.Load() + 1
	l.mu.Release(all)
	own := s.cluster.ID()
	moved := 0
	err = s.store.Update(ctx, storage.Namespace(l.organization), func(tx storage.Tx) error {
		storage.UseReserve(tx)
		point, waiting, err := readLedger(tx,
			storage.Range{Start: checkpointKey(), End: laneKey(own, end), Limit: compactMost},
			storage.Range{Start: storage.After(laneKeys(own)), End: storage.After([]byte(lanePrefix)), Limit: compactMost})
		if err != nil {
			return err
		}
		more = len(waiting) >= compactMost-1 // there may be a checkpoint besides
		if moved = len(waiting); moved == 0 {
			return nil
		}
		slices.SortStableFunc(waiting, func(a, b entryRecord) int { return int(a.CreatedAt - b.CreatedAt) })
		if s.cluster.Shared() {
			// A store that has lost what was compacted last gives no number again that a
			// reader may have gone on from: later ones are not below the time.
			point.Sequence = max(point.Sequence, uint64(s.store.Now().UnixMicro()))
		}
		for _, w := range waiting {
			point.add(w)
			if err := storage.SetJSON(tx, entryKey(point.Sequence), w); err != nil {
				return err
			}
			if err := tx.Delete(laneKey(w.Lane, w.Number)); err != nil {
				return err
			}
		}
		point.forget(s.now().Unix()-forgetAge, func(id string) bool { return id == own || s.cluster.Alive(id) })
		return storage.SetJSON(tx, checkpointKey(), point)
	})
	if err == nil {
		l.uncompacted.Add(int64(-moved))
	}
	return more, err
}

// add counts an entry as the next of the log.
func (c *checkpoint) add(e entryRecord) {
	c.Sequence++
	c.Balance += e.Amount
	if c.Lanes == nil {
		c.Lanes = map[string]lane{}
	}
	sum := c.Lanes[e.Lane]
	c.Lanes[e.Lane] = lane{Sequence: max(sum.Sequence, e.Number), Sum: sum.Sum + e.Amount, At: max(sum.At, e.CreatedAt)}
}

// forget leaves out the lanes of processes that are gone and have written nothing
// since a time, Unix seconds.
func (c *checkpoint) forget(before int64, living func(id string) bool) {
	for id, sum := range c.Lanes {
		if sum.At < before && !living(id) {
			delete(c.Lanes, id)
		}
	}
}
