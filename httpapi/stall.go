package httpapi

import (
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/internal/admission"
	"github.com/seed-506d8e5d/svc/internal/cpu"
)

const (
	// blockedAfter is how long a write takes that waits for its client.
	blockedAfter = time.Millisecond
	// stalledAfter is how long a client may take nothing until what waits for it is
	// counted.
	stalledAfter = time.Second
	// stalledBytes is what is counted for a client that is behind: about what the
	// process and the kernel hold of its answer.
	stalledBytes = sendBuffer + 2*heldEvents
)

// streamWriter is of one goroutine at a time. It does the writes of a stream to its client: each in a turn of the
// organization, which ends where the client makes it wait. A client that takes
// nothing for a while is counted among the bytes in flight until it does; where
// those are too many already the write fails.
type streamWriter struct {
	ticket      *admission.Ticket
	setDeadline func(time.Time) error

	mu      sync.Mutex
	timer   *time.Timer
	turn    cpu.Turn
	writing bool // a write is under way
	waited  bool // it has waited for its client already
	counted bool // it is counted
}

// write calls do, which writes to the client and returns when the client, or the
// kernel for it, has taken that.
func (w *streamWriter) write(do func() error) error {
	w.turn.Enter(w.ticket.Organization())
	w.mu.Lock()
	w.writing, w.waited = true, false
	if w.timer == nil {
		w.timer = time.AfterFunc(blockedAfter, w.blocked)
	} else {
		w.timer.Reset(blockedAfter)
	}
	w.mu.Unlock()
	defer w.done()
	return do()
}

func (w *streamWriter) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
	w.turn.Leave()
	w.writing = false
	if w.counted {
		w.counted = false
		w.ticket.ReleaseBytes(stalledBytes)
	}
}

// blocked is called while a write waits for its client: it ends the turn, and a
// second later counts what waits.
func (w *streamWriter) blocked() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.writing: // it is done
	case !w.waited:
		w.waited = true
		w.turn.Leave()
		w.timer.Reset(stalledAfter)
	case !w.counted:
		if w.ticket.AcquireBytes(stalledBytes) != nil {
			_ = w.setDeadline(time.Now()) // a connection without deadlines never waits for its client
			return
		}
		w.counted = true
	}
}
