package pgstore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
)

// Every transaction that writes leaves a mark, a row of its own that it inserts
// into a table where nobody reads ranges, which would conflict with that.
// Where the answer to COMMIT is lost the mark says what became of it: it is there,
// or the store puts a row in its place, so that the transaction cannot commit any
// more, however late what was sent arrives.
const (
	sweepEvery  = 10 * time.Second // marks that nobody will ask for
	marksOldest = 24 * time.Hour   // those that processes left which are gone, and rows in their place
)

// settleFor is how long it is tried to find out what became of a transaction. Only
// tests change it.
var settleFor = 20 * time.Second

// What a mark's value says.
var (
	markCommitted = []byte("c")
	markRefused   = []byte("r")
)

// marks makes the marks of a process and knows which are needed.
type marks struct {
	prefix []byte // of the process: the hour it began, and a random part

	mu     sync.Mutex
	last   uint64              // the number of the last mark
	needed map[uint64]struct{} // those whose transactions have not ended
	swept  uint64              // up to which marks were removed
}

func newMarks(now time.Time) *marks {
	return &marks{prefix: append(hourOf(now), rand.Text()[:10]...), needed: map[uint64]struct{}{}}
}

// hourOf is what the marks of processes begin with that began in an hour.
func hourOf(t time.Time) []byte { return binary.BigEndian.AppendUint32(nil, uint32(t.Unix()/3600)) }

// take returns the key of a new mark.
func (m *marks) take() (number uint64, key []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	m.needed[m.last] = struct{}{}
	return m.last, m.key(m.last)
}

func (m *marks) key(number uint64) []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, len(m.prefix)+8), m.prefix...), number)
}

// leave says that nobody will ask for a mark.
func (m *marks) leave(number uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.needed, number)
}

// old returns the range of marks that are not needed any more, nil where there
// are none.
func (m *marks) old() (start, end []byte, upTo uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	upTo = m.last + 1
	for number := range m.needed {
		upTo = min(upTo, number)
	}
	if upTo <= m.swept+1 {
		return nil, nil, 0
	}
	return m.key(m.swept), m.key(upTo), upTo
}

// settle finds out whether a transaction was committed whose answer was lost, and
// sees to it that it will not be where it was not. The error wraps
// storage.ErrUnknown where the database does not say for long.
func (s *Store) settle(mark []byte, cause error) (committed bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), min(s.timeout, settleFor))
	defer cancel()
	for n := 1; ; n++ {
		var value []byte
		err := s.pool.QueryRow(ctx, putMark, mark, markRefused).Scan(&value)
		s.statements.Add(1)
		s.trips.Add(1)
		if err == nil {
			s.settled.Add(1)
			return string(value) == string(markCommitted), nil
		}
		if pause(ctx, n); ctx.Err() != nil {
			return false, fmt.Errorf("%w: %v", storage.ErrUnknown, errors.Join(cause, err))
		}
	}
}

// sweepMarks removes marks now and then until the store is closed.
func (s *Store) sweepMarks() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.closing:
			s.sweepOnce()
			return
		case <-tick.C:
			s.sweepOnce()
		}
	}
}

// sweepOnce removes the marks of this process that nobody will ask for, and all
// that is very old.
func (s *Store) sweepOnce() {
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	start, end, upTo := s.marks.old()
	if upTo == 0 {
		return
	}
	_, err := s.pool.Exec(ctx, sweepMarks, start, end, markCommitted, hourOf(time.Now().Add(-marksOldest)))
	if err != nil {
		s.log.Debug("pgstore: marks of transactions were not removed yet", "err", err)
		return
	}
	s.marks.mu.Lock()
	defer s.marks.mu.Unlock()
	s.marks.swept = upTo - 1
}
