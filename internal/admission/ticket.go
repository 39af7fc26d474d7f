package admission

import "sync"

// Ticket is what one request has acquired. The organization is that of the moment
// when the ticket was opened: whatever becomes of the caller's key meanwhile,
// Release gives back what was acquired. The zero Ticket is not open: it acquires
// and releases nothing. It may be used concurrently.
type Ticket struct {
	controller   *Controller
	organization string
	concurrent   int64 // the organization's own limit on requests at once, 0 for none

	mu      sync.Mutex
	slot    *pool // requests or streams; nil before the first
	counted bool  // against the organization's own limit
	bytes   int64
}

// Open makes the ticket one of an organization, which may have that many requests
// at once where concurrent is not 0.
func (t *Ticket) Open(c *Controller, organization string, concurrent int) {
	t.controller, t.organization, t.concurrent = c, organization, int64(concurrent)
}

// Organization is whom the ticket was opened for, empty while it is not open.
func (t *Ticket) Organization() string { return t.organization }

// AcquireRequest takes a slot of a request, unless the ticket has one of any kind.
func (t *Ticket) AcquireRequest() error {
	if t.controller == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.slot != nil {
		return nil
	}
	return t.exchange(t.controller.requests)
}

// AcquireStream exchanges the ticket's slot for that of a stream, which does
// nothing but wait for its model.
func (t *Ticket) AcquireStream() error {
	if t.controller == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.exchange(t.controller.streams)
}

func (t *Ticket) exchange(slot *pool) error {
	if t.slot == slot {
		return nil
	}
	if !t.counted && t.concurrent > 0 {
		if err := t.controller.concurrent.acquire(t.organization, t.concurrent); err != nil {
			return err
		}
		t.counted = true
	}
	if err := slot.acquire(t.organization, 1); err != nil {
		return err
	}
	if t.slot != nil {
		t.slot.release(t.organization, 1)
	}
	t.slot = slot
	return nil
}

// GrowBody counts the request's body as one of size bytes, unless it is counted as
// a larger one or is small.
func (t *Ticket) GrowBody(size int64) error {
	if size <= SmallBody {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if size <= t.bytes {
		return nil
	}
	return t.acquireBytes(size - t.bytes)
}

// AcquireBytes counts n more bytes.
func (t *Ticket) AcquireBytes(n int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.acquireBytes(n)
}

func (t *Ticket) acquireBytes(n int64) error {
	if t.controller == nil || n == 0 {
		return nil
	}
	if err := t.controller.bytes.acquire(t.organization, n); err != nil {
		return err
	}
	t.bytes += n
	return nil
}

// ReleaseBytes gives back n of the bytes that the ticket has, or all where it has
// fewer.
func (t *Ticket) ReleaseBytes(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.releaseBytes(n)
}

func (t *Ticket) releaseBytes(n int64) {
	if n = min(n, t.bytes); n > 0 {
		t.bytes -= n
		t.controller.bytes.release(t.organization, n)
	}
}

// Release gives back all that the ticket has.
func (t *Ticket) Release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.slot != nil {
		t.slot.release(t.organization, 1)
		t.slot = nil
	}
	if t.counted {
		t.controller.concurrent.release(t.organization)
		t.counted = false
	}
	t.releaseBytes(t.bytes)
}
