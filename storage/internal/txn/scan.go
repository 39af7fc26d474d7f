package txn

import (
	"iter"

	"github.com/seed-506d8e5d/svc/storage"
)

// Scan implements storage.Tx.
func (t *Tx) Scan(r storage.Range) iter.Seq2[storage.Entry, error] {
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
func (t *Tx) open(r storage.Range) (*cursor, error) {
	if t.ended {
		return nil, ErrEnded
	}
	if t.cursor != nil {
		return nil, ErrScan
	}
	c := &cursor{tx: t, r: r, merge: NewMerge(r.Reverse)}
	if !(Span{r.Start, r.End}).Empty() {
		var sources []Source
		if t.writes != nil {
			sources = append(sources, t.writes.Copy().Iterate(r.Start, r.End, r.Reverse))
			if r.Limit > 0 {
				r.Limit += t.writes.Len() // as many may be hidden
			}
		}
		c.stored = t.reader.Iterate(r)
		c.merge = NewMerge(r.Reverse, append(sources, undeleted{c.stored})...)
	}
	t.cursor = c
	return c, nil
}

// undeleted is an Iterator, which has no tombstones, as a Source.
type undeleted struct{ Iterator }

// Deleted implements Source.
func (undeleted) Deleted() bool { return false }

// cursor is an open scan: what the reader yields merged with what the
// transaction had written when the scan began.
type cursor struct {
	tx                *Tx
	r                 storage.Range
	stored            Iterator // nil for an empty range
	merge             *Merge
	yielded           int
	last              []byte // the key yielded last
	exhausted, closed bool
}

// next returns the next entry, or false after the last.
func (c *cursor) next() (storage.Entry, bool, error) {
	if c.r.Limit > 0 && c.yielded == c.r.Limit {
		return storage.Entry{}, false, nil
	}
	for {
		if c.closed {
			return storage.Entry{}, false, ErrEnded
		}
		if err := c.tx.ctx.Err(); err != nil {
			return storage.Entry{}, false, err
		}
		more, err := c.merge.Next()
		if err != nil {
			return storage.Entry{}, false, err
		}
		if !more {
			c.exhausted = true
			return storage.Entry{}, false, nil
		}
		if c.merge.Deleted() {
			continue
		}
		entry, err := c.entry()
		c.yielded++
		return entry, err == nil, err
	}
}

func (c *cursor) entry() (storage.Entry, error) {
	c.last = append(c.last[:0], c.merge.Key()...)
	entry := storage.Entry{Key: copied(c.last)}
	if c.r.KeysOnly {
		return entry, nil
	}
	var err error
	if entry.Value, err = c.merge.Value(); err != nil {
		return storage.Entry{}, err
	}
	return entry, nil
}

// close ends the scan and tells the reader which part of the range was read.
func (c *cursor) close() {
	if c.closed {
		return
	}
	c.closed = true
	c.tx.cursor = nil
	if c.stored == nil {
		return
	}
	read := Span{c.r.Start, c.r.End}
	switch {
	case c.exhausted:
	case c.last == nil: // nothing was asked for
		read = Span{c.r.Start, append([]byte{}, c.r.Start...)}
	case c.r.Reverse:
		read.Start = c.last
	default:
		read.End = append(c.last, 0)
	}
	c.stored.Close()
	c.tx.reader.Scanned(read)
}
