package pgstore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-506d8e5d/svc/storage"
)

// Every transaction that writes inserts a commit record into a table of its own,
// kv_marks. If the answer to COMMIT is lost, the record tells what happened: if it
// is there, the transaction was committed. If it is not, resolve inserts a refusal
// under the same key, so that a COMMIT which is still on its way to the server
// fails. No transaction reads a range of that table, so records cause no conflicts.
//
// The key of a record is the hour in which it was made (4 bytes), a random part that
// is the store's own (10 bytes) and a number (8 bytes). The hour is that of the
// database's clock, which is the same for all processes.
const (
	sweepEvery     = 10 * time.Second // how often a store removes the records that it no longer needs
	recordLifetime = 24 * time.Hour   // after which any store removes the refusals, and the records of dead processes
)

// resolveTimeout is how long a store tries to resolve a commit in doubt. Only tests
// change it.
var resolveTimeout = 20 * time.Second

// The outcomes that a record can have.
var (
	outcomeCommitted = []byte("c")
	outcomeRefused   = []byte("r")
)

// commitRecords makes the keys of a store's commit records and knows which records
// are still needed. All methods may be called concurrently.
type commitRecords struct {
	store string // the random part of the keys

	mu      sync.Mutex
	last    uint64
	pending map[uint64]struct{} // numbers of transactions that have not ended
	written []hourOfRecords     // what was not removed yet, oldest first
}

// hourOfRecords are the records of one hour that were not removed yet.
type hourOfRecords struct {
	hour        uint32
	first, last uint64
}

func newCommitRecords() *commitRecords {
	return &commitRecords{store: rand.Text()[:10], pending: map[uint64]struct{}{}}
}

func hourOf(t time.Time) uint32 { return uint32(t.Unix() / 3600) }

// add returns the number and the key of a new record. The record is needed until
// done is called.
func (r *commitRecords) add(now time.Time) (number uint64, key []byte) {
	hour := hourOf(now)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	r.pending[r.last] = struct{}{}
	if n := len(r.written); n > 0 && r.written[n-1].hour == hour {
		r.written[n-1].last = r.last
	} else {
		r.written = append(r.written, hourOfRecords{hour, r.last, r.last})
	}
	return r.last, r.key(hour, r.last)
}

func (r *commitRecords) key(hour uint32, number uint64) []byte {
	key := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(r.store)+8), hour)
	return binary.BigEndian.AppendUint64(append(key, r.store...), number)
}

// done says that the outcome of a transaction is known.
func (r *commitRecords) done(number uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, number)
}

// removable returns the ranges of records that are no longer needed, those with a
// number below end, and calls queue with each.
func (r *commitRecords) removable(queue func(first, end []byte)) (end uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	end = r.last + 1
	for number := range r.pending {
		end = min(end, number)
	}
	for _, w := range r.written {
		if w.first < end {
			queue(r.key(w.hour, w.first), r.key(w.hour, end))
		}
	}
	return end
}

// removed says that the records with a number below end were removed.
func (r *commitRecords) removed(end uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written = slices.DeleteFunc(r.written, func(w hourOfRecords) bool { return w.last < end })
	for i := range r.written {
		r.written[i].first = max(r.written[i].first, end)
	}
}

// resolve returns whether a transaction in doubt was committed, and makes sure that
// it is not committed later if it was not. The error wraps storage.ErrInDoubt if the
// database does not answer in time.
func (s *Store) resolve(record []byte, cause error) (committed bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), min(s.timeout, resolveTimeout))
	defer cancel()
	for n := 1; ; n++ {
		var outcome []byte
		err := s.pool.QueryRow(ctx, resolveRecord, record, outcomeRefused).Scan(&outcome)
		s.statements.Add(1)
		s.trips.Add(1)
		if err == nil {
			s.resolved.Add(1)
			return string(outcome) == string(outcomeCommitted), nil
		}
		if pause(ctx, n); ctx.Err() != nil {
			return false, fmt.Errorf("%w: %v", storage.ErrInDoubt, errors.Join(cause, err))
		}
	}
}

// removeRecords removes the records of this store that are no longer needed, and
// those of any store that are older than recordLifetime.
func (s *Store) removeRecords() {
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	var b pgx.Batch
	end := s.records.removable(func(first, end []byte) { b.Queue(deleteRecords, first, end, outcomeCommitted) })
	if b.Len() == 0 {
		return
	}
	oldest := binary.BigEndian.AppendUint32(nil, hourOf(s.Now().Add(-recordLifetime)))
	b.Queue(deleteOldRecords, oldest)
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		s.log.Debug("pgstore: commit records were not removed yet", "err", err)
		return
	}
	s.records.removed(end)
}
