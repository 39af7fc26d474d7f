package conversations

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/storage"
)

// Where several processes share the store, a turn that is the first in its own
// queue stands in a line of the conversation's, which is stored. The first of the
// line goes on; a process that died is not waited for.

const (
	lineLook  = 20 * time.Millisecond // first pause between two looks at the line
	lineMost  = 300 * time.Millisecond
	leaveMost = 5 * time.Second // for the store

	// leftLately is how far back a store may lose what was written.
	leftLately = time.Minute
)

// ticket is a place in a line.
type ticket struct {
	Process string `json:"process"`
	Number  uint64 `json:"number"`
}

// tickets are those of this process.
type tickets struct {
	last atomic.Uint64

	mu     sync.Mutex
	held   map[ticket]bool    // of turns that stand in lines
	first  map[spot]ticket    // of those the ones whose turn it is
	due    map[spot]bool      // lines that the store did not take a ticket out of yet
	lately map[spot]time.Time // lines that were left, which a store may forget that loses what was written last
	age    uint64             // of the store when that was seen to
}

// spot is where a line is.
type spot struct {
	ns           storage.Namespace
	conversation string
}

// line waits until a turn is the first of its conversation's line. The next one
// goes on when leave was called. The error is the store's, or the context's.
func (s *Service) line(ctx context.Context, ns storage.Namespace, conversation string) (leave func(), err error) {
	at, own := spot{ns, conversation}, ticket{s.cluster.ID(), s.tickets.last.Add(1)}
	s.tickets.mu.Lock()
	if s.tickets.held == nil {
		s.tickets.held, s.tickets.due, s.tickets.lately = map[ticket]bool{}, map[spot]bool{}, map[spot]time.Time{}
		s.tickets.first = map[spot]ticket{}
	}
	s.tickets.held[own] = true
	s.tickets.mu.Unlock()
	for pause := lineLook; ; pause = min(2*pause, lineMost) {
		first, err := s.stand(ctx, at, own)
		if err != nil {
			s.leave(at, own) // the ticket may have been written
			return nil, err
		}
		if first {
			s.tickets.mu.Lock()
			s.tickets.first[at] = own
			s.tickets.mu.Unlock()
			return func() { s.leave(at, own) }, nil
		}
		if !background.Sleep(ctx, pause) {
			s.leave(at, own)
			return nil, ctx.Err()
		}
	}
}

// stand takes a place at the end of the line, or keeps it, and says whether it is
// the first now.
func (s *Service) stand(ctx context.Context, at spot, own ticket) (first bool, err error) {
	err = s.store.Update(ctx, at.ns, func(tx storage.Tx) error {
		line, err := readLine(tx, at.conversation)
		if err != nil {
			return err
		}
		n := len(line)
		line = slices.DeleteFunc(line, s.gone)
		changed := len(line) < n
		if !slices.Contains(line, own) {
			line, changed = append(line, own), true
		}
		first = line[0] == own
		if !changed {
			return nil
		}
		return storage.SetJSON(tx, lineKey(at.conversation), line)
	})
	return first && err == nil, storeError(err)
}

// checkPlace returns an error if the conversation may go on without a turn that
// continues from its head: the turn lost its place in the queue, because other
// processes took this one for dead, and another turn has the place or has been stored
// since. It is called in the transaction that stores the turn.
func (s *Service) checkPlace(tx storage.Tx, p *Parent, h *branchHead) error {
	if !p.fromHead || s.cluster == nil || !s.cluster.Shared() {
		return nil
	}
	line, err := readLine(tx, p.Conversation)
	if err != nil {
		return err
	}
	s.tickets.mu.Lock()
	own, queued := s.tickets.first[spot{p.ns, p.Conversation}]
	s.tickets.mu.Unlock()
	if queued && len(line) > 0 && line[0] == own || len(line) == 0 && h.Turn == p.turn {
		return nil
	}
	return &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable, Message: "The conversation has gone on without this turn, whose server was taken for dead. Try again.",
		Err: errors.New("conversations: a turn has lost its place in the queue")}
}

// gone says whether nobody waits or works any more who had a ticket.
func (s *Service) gone(t ticket) bool {
	if t.Process != s.cluster.ID() {
		return !s.cluster.Alive(t.Process)
	}
	s.tickets.mu.Lock()
	defer s.tickets.mu.Unlock()
	return !s.tickets.held[t]
}

// leave gives a ticket back.
func (s *Service) leave(at spot, own ticket) {
	s.tickets.mu.Lock()
	delete(s.tickets.held, own)
	if s.tickets.first[at] == own {
		delete(s.tickets.first, at)
	}
	s.tickets.mu.Unlock()
	s.clear(at)
}

// clear takes the tickets of those who are gone out of a line. What the store does
// not take is due.
func (s *Service) clear(at spot) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveMost)
	defer cancel()
	err := s.store.Update(ctx, at.ns, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		line, err := readLine(tx, at.conversation)
		if err != nil || !slices.ContainsFunc(line, s.gone) {
			return err
		}
		line = slices.DeleteFunc(line, s.gone)
		if len(line) == 0 {
			return tx.Delete(lineKey(at.conversation))
		}
		return storage.SetJSON(tx, lineKey(at.conversation), line)
	})
	s.tickets.mu.Lock()
	defer s.tickets.mu.Unlock()
	if err == nil || fault.From(err).Kind == fault.NotFound {
		s.tickets.lately[at] = time.Now()
		return
	}
	s.log.LogAttrs(ctx, slog.LevelWarn, "conversations: a turn has ended and still stands in line", slog.String("conversation", at.conversation), slog.Any("err", err))
	s.tickets.due[at] = true
}

// ClearLines gives back the places in lines of turns that have ended, where the store
// did not take them at once or may have lost that. Nobody else does while this
// process lives: it is called again and again.
func (s *Service) ClearLines() {
	t := &s.tickets
	t.mu.Lock()
	age := s.store.Age()
	for at, left := range t.lately {
		if age != t.age {
			t.due[at] = true
		}
		if time.Since(left) > leftLately {
			delete(t.lately, at)
		}
	}
	t.age = age
	due := slices.Collect(maps.Keys(t.due))
	clear(t.due)
	t.mu.Unlock()
	for i, at := range due {
		s.clear(at)
		t.mu.Lock()
		failed := t.due[at]
		if failed { // and so would the others
			for _, other := range due[i+1:] {
				t.due[other] = true
			}
		}
		t.mu.Unlock()
		if failed {
			return
		}
	}
}

func readLine(tx storage.Tx, conversation string) (line []ticket, err error) {
	err = storage.GetJSON(tx, lineKey(conversation), &line)
	if errors.Is(err, storage.ErrNotFound) {
		err = nil
	}
	return line, err
}
