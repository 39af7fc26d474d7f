package txn

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-506d8e5d/svc/storage"
)

// errConflict says that an attempt read what another transaction has changed.
var errConflict = errors.New("storage: conflict with another transaction")

// errLead tells the commit that has waited longest to write the next group.
var errLead = errors.New("storage: lead the next group")

// commit is an attempt that waits to be written.
type commit struct {
	version  uint64 // of its snapshot
	reads    [][]byte
	spans    []Span
	writes   []Write
	size     storage.Size
	reserved bool       // may use the last of the disk
	done     chan error // takes one value without blocking
}

// commit writes an ended attempt, alone or in a group with others, and returns
// the result.
func (s *Store) commit(a *attempt) error {
	c := &commit{version: a.version, reads: a.reads, spans: a.spans, writes: a.writes(), size: a.Size(), reserved: a.Reserved(), done: make(chan error, 1)}
	if !s.committer.enter(c) {
		if err := <-c.done; err != errLead {
			return err
		}
	}
	s.committer.lead()
	return <-c.done
}

// committer writes the commits of a store, in the order in which they came. The
// first that comes while nothing is being written writes all that wait by then,
// itself among them, and leaves what has come meanwhile to the next: a commit
// that is alone wakes nobody.
type committer struct {
	store *Store

	mu      sync.Mutex
	waiting []*commit // in the order in which they came
	leading bool      // one of them writes a group, or is about to

	// Of the one that leads.
	version uint64
	recent  recentCommits
	group   []*commit // reused

	failed atomic.Pointer[error] // why nothing can be written any more
}

// enter lets a commit wait and reports whether it leads.
func (c *committer) enter(w *commit) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, w)
	first := !c.leading
	c.leading = true
	return first
}

// lead writes the commits that wait, the first of which is the caller's.
func (c *committer) lead() {
	defer c.pass()
	c.apply(c.gather())
}

// pass lets the commit lead that has waited longest.
func (c *committer) pass() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leading = len(c.waiting) > 0; c.leading {
		c.waiting[0].done <- errLead
	}
}

// gather takes those that wait, up to what one transaction may write.
func (c *committer) gather() []*commit {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := c.waiting[0].size
	n := 1
	for n < len(c.waiting) {
		if size = size.Plus(c.waiting[n].size); !size.Fits() {
			break
		}
		n++
	}
	c.group = append(c.group[:0], c.waiting[:n]...)
	c.waiting = slices.Delete(c.waiting, 0, n)
	return c.group
}

// apply writes those of the group that read nothing that has changed, as the
// next version.
func (c *committer) apply(group []*commit) {
	version := c.version + 1
	accepted := group[:0]
	var writes []Write
	var together recentCommits
	room := c.room()
	for _, w := range group {
		switch {
		case c.failed.Load() != nil:
			w.done <- *c.failed.Load()
		case room(w.reserved) != nil:
			w.done <- room(w.reserved)
		case c.recent.conflicts(w) || together.conflicts(w):
			c.store.stats.conflicts.Add(1)
			w.done <- errConflict
		default:
			together.add(version, w.writes)
			writes = append(writes, w.writes...)
			accepted = append(accepted, w)
		}
	}
	if len(accepted) == 0 {
		return
	}
	err := c.write(version, writes)
	switch {
	case err == nil:
		c.recent.add(version, writes)
		c.version = version
		c.store.publish(version, len(accepted))
	case !errors.Is(err, ErrRefused):
		// Whether the writes are there is unknown. A later version would bring
		// them to light, so there is none before the database is opened again.
		failed := fmt.Errorf("storage: no writes until the store is opened again: %w", err)
		c.failed.Store(&failed)
	}
	for _, w := range accepted {
		w.done <- err
	}
}

// write makes the writes the next version. A panic is an error here: those that
// wait must not wait for ever.
func (c *committer) write(version uint64, writes []Write) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: a write panicked: %v\n%s", storage.ErrFailed, p, debug.Stack())
		}
	}()
	return c.store.db.Apply(version, writes)
}

// Failed returns why nothing can be written before the store is opened again, or nil.
func (s *Store) Failed() error {
	if err := s.committer.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// room returns what the database says about its room, asked at most once for
// either kind of commit.
func (c *committer) room() func(reserved bool) error {
	var errs [2]func() error
	for i, reserved := range []bool{false, true} {
		errs[i] = sync.OnceValue(func() error { return c.store.db.Room(reserved) })
	}
	return func(reserved bool) error {
		if reserved {
			return errs[1]()
		}
		return errs[0]()
	}
}
