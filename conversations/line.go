package conversations

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// Where several processes share the store, a turn that is the first in its own
// queue stands in a line of the conversation's, which is stored. The first of the
// line goes on; a process that died is not waited for.

const (
	lineLook  = 20 * time.Millisecond // first pause between two looks at the line
	lineMost  = 300 * time.Millisecond
	leaveMost = 5 * time.Second // for the store
)

// ticket is a place in a line.
type ticket struct {
	Process string `json:"process"`
	Number  uint64 `json:"number"`
}

// tickets are those of this process.
type tickets struct {
	last atomic.Uint64

	mu   sync.Mutex
	left []spot // that the store did not take back yet
}

type spot struct {
	ns           storage.Namespace
	conversation string
	ticket       ticket
}

// line waits until a turn is the first of its conversation's line. The next one
// goes on when leave was called. The error is the store's, or the context's.
func (s *Service) line(ctx context.Context, ns storage.Namespace, conversation string) (leave func(), err error) {
	s.leaveAgain()
	own := spot{ns, conversation, ticket{s.replicas.ID(), s.tickets.last.Add(1)}}
	for pause := lineLook; ; pause = min(2*pause, lineMost) {
		first, err := s.stand(ctx, own)
		if err != nil {
			s.leave(own) // the place may have been written
			return nil, err
		}
		if first {
			return func() { s.leave(own) }, nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			s.leave(own)
			return nil, ctx.Err()
		}
	}
}

// stand takes a place at the end of the line, or keeps it, and says whether it is
// the first now.
func (s *Service) stand(ctx context.Context, p spot) (first bool, err error) {
	err = s.store.Update(ctx, p.ns, func(tx storage.Tx) error {
		line, err := readLine(tx, p.conversation)
		if err != nil {
			return err
		}
		n := len(line)
		line = slices.DeleteFunc(line, func(t ticket) bool { return !s.replicas.Living(t.Process) })
		changed := len(line) < n
		if !slices.Contains(line, p.ticket) {
			line, changed = append(line, p.ticket), true
		}
		first = line[0] == p.ticket
		if !changed {
			return nil
		}
		return storage.SetJSON(tx, lineKey(p.conversation), line)
	})
	return first && err == nil, storeError(err)
}

// leave gives a place back. What the store does not take is tried again with the
// next turn that this process makes.
func (s *Service) leave(p spot) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveMost)
	defer cancel()
	err := s.store.Update(ctx, p.ns, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		line, err := readLine(tx, p.conversation)
		if err != nil || !slices.Contains(line, p.ticket) {
			return err
		}
		line = slices.DeleteFunc(line, func(t ticket) bool { return t == p.ticket })
		if len(line) == 0 {
			return tx.Delete(lineKey(p.conversation))
		}
		return storage.SetJSON(tx, lineKey(p.conversation), line)
	})
	if err == nil || fault.From(err).Kind == fault.NotFound {
		return
	}
	s.log.LogAttrs(ctx, slog.LevelWarn, "conversations: a turn has ended and still stands in line", slog.String("conversation", p.conversation), slog.Any("err", err))
	s.tickets.mu.Lock()
	defer s.tickets.mu.Unlock()
	s.tickets.left = append(s.tickets.left, p)
}

// leaveAgain gives back the places that the store did not take.
func (s *Service) leaveAgain() {
	s.tickets.mu.Lock()
	left := s.tickets.left
	s.tickets.left = nil
	s.tickets.mu.Unlock()
	for _, p := range left {
		s.leave(p)
	}
}

func readLine(tx storage.Tx, conversation string) (line []ticket, err error) {
	err = storage.GetJSON(tx, lineKey(conversation), &line)
	if errors.Is(err, storage.ErrNotFound) {
		err = nil
	}
	return line, err
}
