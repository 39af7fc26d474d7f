package txn

import (
	"bytes"
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
	c := &cursor{tx: t, r: r}
	if !(Span{r.Start, r.End}).Empty() {
		if t.writes != nil {
			c.own = t.writes.Copy().Iterate(r.Start, r.End, r.Reverse)
			if r.Limit > 0 {
				r.Limit += t.writes.Len() // as many may be hidden
			}
		}
		c.stored = t.reader.Iterate(r)
	}
	t.cursor = c
	return c, nil
}

// cursor is an open scan: what the reader yields merged with what the
// transaction had written when the scan began.
type cursor struct {
	tx                *Tx
	r                 storage.Range
	stored            Iterator      // nil for an empty range
	own               *TreeIterator // nil without writes
	storedAt, ownAt   place
	yielded           int
	last              []byte // the key yielded last
	exhausted, closed bool
}

// place is where an iterator stands.
type place uint8

const (
	due     place = iota // before the next entry, which is still to be asked for
	onEntry              // on an entry that was not consumed
	atEnd
)

// fill moves both iterators to their next entry where the present one was
// consumed.
func (c *cursor) fill() error {
	if c.storedAt == due {
		c.storedAt = atEnd
		if c.stored != nil {
			ok, err := c.stored.Next()
			if err != nil {
				return err
			}
			if ok {
				c.storedAt = onEntry
			}
		}
	}
	if c.ownAt == due {
		c.ownAt = atEnd
		if c.own != nil && c.own.Next() {
			c.ownAt = onEntry
		}
	}
	return nil
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
		if err := c.fill(); err != nil {
			return storage.Entry{}, false, err
		}
		if c.storedAt == atEnd && c.ownAt == atEnd {
			c.exhausted = true
			return storage.Entry{}, false, nil
		}
		own := c.choose()
		if own && c.own.Write().Deleted {
			continue
		}
		entry, err := c.entry(own)
		c.yielded++
		return entry, err == nil, err
	}
}

// choose consumes the next entry in order and says whether it is one of the
// transaction's own, which hide what was stored.
func (c *cursor) choose() (own bool) {
	order := 0
	switch {
	case c.ownAt == atEnd:
		order = -1
	case c.storedAt == atEnd:
		order = 1
	default:
		order = bytes.Compare(c.stored.Key(), c.own.Key())
		if c.r.Reverse {
			order = -order
		}
	}
	if order <= 0 {
		c.storedAt = due
	}
	if order >= 0 {
		c.ownAt = due
	}
	return order >= 0
}

func (c *cursor) entry(own bool) (storage.Entry, error) {
	if own {
		c.last = append(c.last[:0], c.own.Key()...)
	} else {
		c.last = append(c.last[:0], c.stored.Key()...)
	}
	entry := storage.Entry{Key: copied(c.last)}
	switch {
	case c.r.KeysOnly:
	case own:
		entry.Value = copied(c.own.Write().Value)
	default:
		var err error
		if entry.Value, err = c.stored.Value(); err != nil {
			return storage.Entry{}, err
		}
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
	c.stored.Close(read)
}
