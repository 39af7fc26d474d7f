package occ

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
)

// errLost says that an attempt read what another transaction changed.
var errLost = errors.New("occ: lost to another transaction")

// commit is an attempt that waits to be written.
type commit struct {
	version  uint64 // of its snapshot
	reads    [][]byte
	spans    []txn.Span
	writes   []Write
	size     storage.Size
	reserved bool       // may use the last of the disk
	done     chan error // takes one value without blocking
}

// commit hands the writes of an ended attempt to the committer and waits for
// the result.
func (s *Store) commit(ctx context.Context, a *attempt) error {
	c := &commit{version: a.version, reads: a.reads, spans: a.spans, writes: a.writes(), size: a.Size(), reserved: a.Reserved(), done: make(chan error, 1)}
	select {
	case s.commits <- c:
	case <-ctx.Done():
		return ctx.Err()
	}
	return <-c.done
}

// committer writes the commits of a store, in the order in which they came.
type committer struct {
	store   *Store
	version uint64
	log     log
	failed  error // why nothing can be written any more

	held  *commit   // did not fit into the last group
	group []*commit // reused
}

// run writes groups of commits until the store closes.
func (c *committer) run() {
	defer close(c.store.stopped)
	for {
		first := c.held
		c.held = nil
		if first == nil {
			var ok bool
			if first, ok = <-c.store.commits; !ok {
				return
			}
		}
		c.apply(c.gather(first))
	}
}

// gather returns first and those that wait behind it, up to what one
// transaction may write.
func (c *committer) gather(first *commit) []*commit {
	c.group = append(c.group[:0], first)
	size := first.size
	for {
		var next *commit
		select {
		case next = <-c.store.commits:
		default:
		}
		if next == nil { // nobody waits, or the store closes
			return c.group
		}
		if size = size.Plus(next.size); !size.Fits() {
			c.held = next
			return c.group
		}
		c.group = append(c.group, next)
	}
}

// apply writes those of the group that read nothing that has changed, as the
// next version.
func (c *committer) apply(group []*commit) {
	version := c.version + 1
	accepted := group[:0]
	var writes []Write
	var together log
	room := c.room()
	for _, w := range group {
		switch {
		case c.failed != nil:
			w.done <- c.failed
		case room(w.reserved) != nil:
			w.done <- room(w.reserved)
		case c.log.conflicts(w) || together.conflicts(w):
			c.store.stats.conflicts.Add(1)
			w.done <- errLost
		default:
			together.add(version, w.writes)
			writes = append(writes, w.writes...)
			accepted = append(accepted, w)
		}
	}
	if len(accepted) == 0 {
		return
	}
	err := c.store.db.Apply(version, writes)
	switch {
	case err == nil:
		c.log.add(version, writes)
		c.version = version
		c.store.publish(version, len(accepted))
	case !errors.Is(err, ErrRefused):
		// Whether the writes are there is unknown. A later version would bring
		// them to light, so there is none before the database is opened again.
		c.failed = fmt.Errorf("storage: no writes until the store is opened again: %w", err)
	}
	for _, w := range accepted {
		w.done <- err
	}
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
