package occ

import (
	"bytes"
	"iter"

	"github.com/seed-506d8e5d/svc/storage"
)

// Scan implements storage.Tx.
func (t *tx) Scan(r storage.Range) iter.Seq2[storage.Entry, error] {
	return func(yield func(storage.Entry, error) bool) {
		c, err := t.open(r)
		if err != nil {
			yield(storage.Entry{}, err)
			return
		}
		defer c.close()
		for {
			entry, ok, err := c.next()
			if err != nil {
				yield(storage.Entry{}, err)
				return
			}
			if !ok || !yield(entry, nil) {
				return
			}
		}
	}
}

// open begins a scan.
func (t *tx) open(r storage.Range) (*cursor, error) {
	if t.ended {
		return nil, errEnded
	}
	if t.cursor != nil {
		return nil, errScan
	}
	s := span{start: t.encode(r.Start), end: storage.After(t.prefix)}
	if r.End != nil {
		s.end = t.encode(r.End)
	}
	c := &cursor{tx: t, span: s, reverse: r.Reverse, keysOnly: r.KeysOnly}
	if bytes.Compare(s.start, s.end) < 0 {
		c.stored.Iterator = t.snapshot.Iterate(s.start, s.end, r.Reverse)
		if t.writes != nil {
			c.own = t.writes.Copy().Iterate(s.start, s.end, r.Reverse)
			c.written.Iterator = c.own
		}
	}
	t.cursor = c
	return c, nil
}

// cursor is an open scan: the snapshot's entries merged with those that the
// transaction had written when the scan began.
type cursor struct {
	tx                *tx
	span              span
	reverse, keysOnly bool
	stored, written   head
	own               *TreeIterator // the one that written moves
	started           bool
	last              []byte // the key yielded last
	exhausted, closed bool
}

// head is an iterator and whether it stands on an entry. Without an iterator it
// is empty.
type head struct {
	Iterator
	valid, taken bool // taken: the entry was consumed, the next one is due
}

// fill moves to the next entry where the present one was consumed.
func (h *head) fill(started bool) {
	if h.Iterator != nil && (h.taken || !started) {
		h.valid, h.taken = h.Next(), false
	}
}

// next returns the next entry, or false after the last.
func (c *cursor) next() (storage.Entry, bool, error) {
	for {
		if c.closed {
			return storage.Entry{}, false, errEnded
		}
		if err := c.tx.ctx.Err(); err != nil {
			return storage.Entry{}, false, err
		}
		c.stored.fill(c.started)
		c.written.fill(c.started)
		c.started = true
		h := c.choose()
		if h == nil {
			c.exhausted = true
			return storage.Entry{}, false, nil
		}
		if h == &c.written && c.own.Write().Deleted {
			continue
		}
		entry, err := c.entry(h)
		return entry, err == nil, err
	}
}

// choose takes the next entry in order from one of the two sources, or nil where
// both are at their end. What the transaction wrote hides what was stored.
func (c *cursor) choose() *head {
	order := 0
	switch {
	case !c.stored.valid && !c.written.valid:
		return nil
	case !c.written.valid:
		order = -1
	case !c.stored.valid:
		order = 1
	default:
		order = bytes.Compare(c.stored.Key(), c.written.Key())
		if c.reverse {
			order = -order
		}
	}
	if order < 0 {
		c.stored.taken = true
		return &c.stored
	}
	c.written.taken = true
	c.stored.taken = order == 0
	return &c.written
}

func (c *cursor) entry(h *head) (storage.Entry, error) {
	c.last = append(c.last[:0], h.Key()...)
	entry := storage.Entry{Key: copied(c.last[len(c.tx.prefix):])}
	if c.keysOnly {
		return entry, nil
	}
	var err error
	entry.Value, err = h.Value()
	return entry, err
}

// close ends the scan and records the part of the range that was read.
func (c *cursor) close() {
	if c.closed {
		return
	}
	c.closed = true
	c.tx.cursor = nil
	if c.stored.Iterator != nil {
		c.stored.Close()
	}
	if c.tx.readOnly {
		return
	}
	switch {
	case c.exhausted:
	case c.last == nil:
		return // nothing was asked for
	case c.reverse:
		c.span.start = c.last
	default:
		c.span.end = append(c.last, 0)
	}
	c.tx.spans = append(c.tx.spans, c.span)
}
