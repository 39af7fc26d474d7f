package httpapi

import (
	"net/http"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/internal/status"
)

const (
	// keepaliveEvery is the silence after which a comment line is sent.
	keepaliveEvery = 15 * time.Second
	// stallTimeout is how long a client may take no bytes, give or take a
	// keepalive, until its connection is given up.
	stallTimeout = time.Minute
)

// keepalive is a comment that belongs to the event that follows it: with a
// blank line of its own some clients take it for an empty event.
var keepalive = []byte(": keepalive\n")

// heldEvents is about how many bytes of events wait for one write together.
const heldEvents = 16 << 10

// eventBuffers are for events that wait: between bursts a stream has none.
var eventBuffers = sync.Pool{New: func() any { return new(make([]byte, 0, heldEvents)) }}

// eventStream writes server-sent events: each, with those that follow it at once,
// with one write and one flush, and a keepalive whenever nothing was sent for a
// while after the first. The header goes out with that, so that until then the call
// can still be refused. It must be closed. send and close belong to one goroutine;
// the keepalives come from a timer's.
type eventStream struct {
	w     *status.Writer
	rc    *http.ResponseController
	out   streamWriter
	timer *time.Timer

	alive []byte // what is sent where nothing was for a while

	mu     sync.Mutex
	held   *[]byte   // events that are not written yet; nil where there are none
	last   time.Time // when something was sent
	err    error     // of the first write that failed
	closed bool
}

// stream begins an event stream that sends alive when it is silent. The caller closes
// it.
func (c *call) stream(alive []byte) *eventStream {
	// The controller of the server's own writer: it flushes without unwrapping.
	rc := http.NewResponseController(c.w.ResponseWriter)
	s := &eventStream{w: c.w, rc: rc, alive: alive, out: streamWriter{ticket: &c.ticket, setDeadline: rc.SetWriteDeadline}, last: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extend()
	s.timer = time.AfterFunc(keepaliveEvery, s.tick)
	return s
}

// extend moves the write deadline, which the server sets for whole answers. A
// writer that knows no deadlines has none to move.
func (s *eventStream) extend() { _ = s.rc.SetWriteDeadline(time.Now().Add(stallTimeout)) }

// send writes encoded events and reports why it could not: the client is gone.
// Where more follows at once they are not flushed yet. The caller may reuse the
// bytes.
func (s *eventStream) send(events []byte, more bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold(events)
	if !more || len(*s.held) >= heldEvents {
		s.release(!more)
	}
	return s.err
}

// hold puts events behind those that are held, with the lock held.
func (s *eventStream) hold(events []byte) {
	if s.held == nil {
		s.held = eventBuffers.Get().(*[]byte)
	}
	*s.held = append(*s.held, events...)
}

// release writes what is held, and flushes it where nothing follows at once, with
// the lock held.
func (s *eventStream) release(flush bool) {
	if s.held == nil {
		return
	}
	if s.err == nil && !s.closed {
		s.err = s.out.write(func() error { return s.write(*s.held, flush) })
	}
	if cap(*s.held) <= 2*heldEvents {
		*s.held = (*s.held)[:0]
		eventBuffers.Put(s.held)
	}
	s.held = nil
}

// write is called with the lock held.
func (s *eventStream) write(p []byte, flush bool) error {
	if s.w.Status == 0 {
		h := s.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache, no-transform")
		h.Set("X-Accel-Buffering", "no") // proxies must not hold events back
		s.w.WriteHeader(http.StatusOK)
	}
	_, err := s.w.Write(p)
	if err == nil && flush {
		err = s.rc.Flush()
		s.last = time.Now()
	}
	return err
}

// tick sends a keepalive if nothing was sent for long enough, and arms the
// timer for when that will be the case again. Sending an event leaves the timer
// alone, which keeps events cheap.
func (s *eventStream) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.err != nil {
		return
	}
	s.extend()
	if s.w.Status == 0 {
		s.timer.Reset(keepaliveEvery) // nothing comes before the first event
		return
	}
	if time.Since(s.last) >= keepaliveEvery {
		s.hold(s.alive)
		s.release(true)
	}
	s.timer.Reset(keepaliveEvery - time.Since(s.last))
}

// abort ends a stream that failed: it writes the event that says so, if
// anything was written before it. Otherwise the error can still be an answer of
// its own. Nothing is written afterwards. It reports whether the event was
// written.
func (s *eventStream) abort(event []byte) (told bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w.Status != 0 || s.held != nil {
		s.hold(event)
		s.release(false)
		told = s.err == nil
	}
	s.closed = true
	return told
}

// close stops the keepalives. When it returns none is being written.
func (s *eventStream) close() {
	s.timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(false)
	s.closed = true
}
