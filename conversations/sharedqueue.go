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

// Where several processes share the store, a turn that is first in the queue of its
// own process also joins the conversation's queue in the store. The first turn of
// that queue goes on; places of dead processes are removed.

const (
	firstLook = 20 * time.Millisecond // first pause between two looks at the stored queue
	lastLook  = 300 * time.Millisecond
	leaveMost = 5 * time.Second // for the store

	// recentlyLeftFor is how long a place that was left is watched: a store that
	// fails over may lose what was written last, and have the place again.
	recentlyLeftFor = time.Minute
)

// place is a turn's place in a stored queue.
type place struct {
	Process string `json:"process"`
	Number  uint64 `json:"number"`
}

// places are the places of this process.
type places struct {
	last atomic.Uint64 // number given last

	mu           sync.Mutex
	held         map[place]bool        // by turns that wait or run
	first        map[queueID]place     // of the turns that run
	due          map[queueID]bool      // queues that the store has not removed a place from yet
	recentlyLeft map[queueID]time.Time // see recentlyLeftFor
	epoch        uint64                // of the store, when recentlyLeft was looked at
}

// queueID names the stored queue of a conversation.
type queueID struct {
	ns           storage.Namespace
	conversation string
}

// joinShared waits until a turn is the first of its conversation's stored queue. The
// next turn goes on when leave was called. The error is the store's, or the context's.
func (s *Service) joinShared(ctx context.Context, ns storage.Namespace, conversation string) (leave func(), err error) {
	id, own := queueID{ns, conversation}, place{s.cluster.ID(), s.places.last.Add(1)}
	s.places.mu.Lock()
	if s.places.held == nil {
		s.places.held, s.places.first = map[place]bool{}, map[queueID]place{}
		s.places.due, s.places.recentlyLeft = map[queueID]bool{}, map[queueID]time.Time{}
	}
	s.places.held[own] = true
	s.places.mu.Unlock()
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		first, err := s.join(ctx, id, own)
		if err != nil {
			s.leave(id, own) // the place may have been written
			return nil, err
		}
		if first {
			s.places.mu.Lock()
			s.places.first[id] = own
			s.places.mu.Unlock()
			return func() { s.leave(id, own) }, nil
		}
		if !background.Sleep(ctx, pause) {
			s.leave(id, own)
			return nil, ctx.Err()
		}
	}
}

// join takes a place at the end of a stored queue, or keeps it, and reports whether
// it is the first.
func (s *Service) join(ctx context.Context, id queueID, own place) (first bool, err error) {
	err = s.store.Update(ctx, id.ns, func(tx storage.Tx) error {
		queue, err := readQueue(tx, id.conversation)
		if err != nil {
			return err
		}
		n := len(queue)
		queue = slices.DeleteFunc(queue, s.abandoned)
		changed := len(queue) < n
		if !slices.Contains(queue, own) {
			queue, changed = append(queue, own), true
		}
		first = queue[0] == own
		if !changed {
			return nil
		}
		return storage.SetJSON(tx, queueKey(id.conversation), queue)
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
	queue, err := readQueue(tx, p.Conversation)
	if err != nil {
		return err
	}
	s.places.mu.Lock()
	own, queued := s.places.first[queueID{p.ns, p.Conversation}]
	s.places.mu.Unlock()
	if queued && len(queue) > 0 && queue[0] == own || len(queue) == 0 && h.Turn == p.turn {
		return nil
	}
	return &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable, Message: "The conversation has gone on without this turn, whose server was taken for dead. Try again.",
		Err: errors.New("conversations: a turn has lost its place in the queue")}
}

// abandoned reports whether no turn waits or runs any more that took a place.
func (s *Service) abandoned(p place) bool {
	if p.Process != s.cluster.ID() {
		return !s.cluster.Alive(p.Process)
	}
	s.places.mu.Lock()
	defer s.places.mu.Unlock()
	return !s.places.held[p]
}

// leave gives a place back.
func (s *Service) leave(id queueID, own place) {
	s.places.mu.Lock()
	delete(s.places.held, own)
	if s.places.first[id] == own {
		delete(s.places.first, id)
	}
	s.places.mu.Unlock()
	s.removeAbandoned(id)
}

// removeAbandoned removes abandoned places from a stored queue. Where the store fails
// the queue is due.
func (s *Service) removeAbandoned(id queueID) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveMost)
	defer cancel()
	err := s.store.Update(ctx, id.ns, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		queue, err := readQueue(tx, id.conversation)
		if err != nil || !slices.ContainsFunc(queue, s.abandoned) {
			return err
		}
		queue = slices.DeleteFunc(queue, s.abandoned)
		if len(queue) == 0 {
			return tx.Delete(queueKey(id.conversation))
		}
		return storage.SetJSON(tx, queueKey(id.conversation), queue)
	})
	s.places.mu.Lock()
	defer s.places.mu.Unlock()
	if err == nil || fault.From(err).Kind == fault.NotFound {
		s.places.recentlyLeft[id] = time.Now()
		return
	}
	s.log.LogAttrs(ctx, slog.LevelWarn, "conversations: a turn has ended and still has its place in the queue", slog.String("conversation", id.conversation), slog.Any("err", err))
	s.places.due[id] = true
}

// ClearQueues removes the places of turns that have ended, where the store failed to
// or may have lost that it did. The service calls it once a second: no other process
// removes them while this one lives.
func (s *Service) ClearQueues() {
	p := &s.places
	p.mu.Lock()
	epoch := s.store.Epoch()
	for id, left := range p.recentlyLeft {
		if epoch != p.epoch {
			p.due[id] = true
		}
		if time.Since(left) > recentlyLeftFor {
			delete(p.recentlyLeft, id)
		}
	}
	p.epoch = epoch
	due := slices.Collect(maps.Keys(p.due))
	clear(p.due)
	p.mu.Unlock()
	for i, id := range due {
		s.removeAbandoned(id)
		p.mu.Lock()
		failed := p.due[id]
		if failed { // and so would the others
			for _, other := range due[i+1:] {
				p.due[other] = true
			}
		}
		p.mu.Unlock()
		if failed {
			return
		}
	}
}

func readQueue(tx storage.Tx, conversation string) (queue []place, err error) {
	err = storage.GetJSON(tx, queueKey(conversation), &queue)
	if errors.Is(err, storage.ErrNotFound) {
		err = nil
	}
	return queue, err
}
