package conversations

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
)

// CodeBusy is the code of the error for a conversation whose turns have not ended
// in time.
const CodeBusy = "conversation_busy"

// patience is how long a turn waits for the one before it.
const patience = 30 * time.Second

// queues are the turns that continue from conversations, in the order in which
// they came. The zero value has none.
type queues struct {
	mu sync.Mutex
	of map[string][]chan struct{} // the ones that wait, by conversation; an entry is there while one runs
}

// lock waits for the queue and reports whether its turn came before ctx ended. Then
// unlock must be called.
func (q *queues) lock(ctx context.Context, name string) bool {
	q.mu.Lock()
	waiting, busy := q.of[name]
	if !busy {
		if q.of == nil {
			q.of = map[string][]chan struct{}{}
		}
		q.of[name] = nil
		q.mu.Unlock()
		return true
	}
	own := make(chan struct{})
	q.of[name] = append(waiting, own)
	q.mu.Unlock()
	select {
	case <-own:
		return true
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.of[name], own)
	if i < 0 {
		return true // it came at the same moment
	}
	q.of[name] = slices.Delete(q.of[name], i, i+1)
	return false
}

// unlock lets the next turn go on.
func (q *queues) unlock(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.of[name]
	if len(waiting) == 0 {
		delete(q.of, name)
		return
	}
	q.of[name] = waiting[1:]
	close(waiting[0])
}

// Queue waits until the turns that continue from a conversation and came before
// have ended, in whichever process, at most half a minute: then the error is a
// Conflict. The next one waits until release is called, which may be done more than
// once.
func (s *Service) Queue(ctx context.Context, caller accounts.Caller, conversation string) (release func(), err error) {
	ns := caller.Namespace()
	name := string(ns) + "/" + conversation
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if !s.queues.lock(limited, name) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, busy(conversation)
	}
	release = func() { s.queues.unlock(name) }
	if s.cluster != nil && s.cluster.Shared() {
		leave, err := s.joinShared(limited, ns, conversation)
		if err != nil {
			release()
			if ctx.Err() == nil && limited.Err() != nil {
				err = busy(conversation)
			}
			return nil, err
		}
		release = func() { leave(); s.queues.unlock(name) }
	}
	return sync.OnceFunc(release), nil
}

func busy(conversation string) error {
	return &fault.Error{Kind: fault.Conflict, Code: CodeBusy,
		Message: "Another turn of the conversation \"" + conversation + "\" is still running. Try again when it has ended, or continue from a response."}
}
