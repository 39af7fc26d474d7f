package txn

import "bytes"

// Source is what a [Merge] needs of an iterator. See [Iterator].
type Source interface {
	Next() (bool, error)
	Key() []byte
	Value() ([]byte, error)
}

// Merge walks over the writes of a tree and over what lies under them, in the order
// of their keys: a write hides what is under it with its key. It begins before the
// first. The zero value is empty.
type Merge struct {
	under           Source        // nil: nothing
	over            *TreeIterator // nil: nothing
	reverse         bool
	underAt, overAt place
	own             bool // it is at a write
}

// NewMerge returns a Merge of both over the same range, in the same order.
func NewMerge(over *TreeIterator, under Source, reverse bool) *Merge {
	return &Merge{under: under, over: over, reverse: reverse}
}

// place is where an iterator stands.
type place uint8

const (
	due     place = iota // before the next entry, which is still to be asked for
	onEntry              // on an entry that was not consumed
	atEnd
)

// Next moves to the next key, which may be a deleted one, and says whether there is
// one. The error ends the iteration.
func (m *Merge) Next() (bool, error) {
	if err := m.fill(); err != nil || m.underAt == atEnd && m.overAt == atEnd {
		return false, err
	}
	m.choose()
	return true, nil
}

// fill moves both iterators to their next entry where the present one was
// consumed.
func (m *Merge) fill() error {
	if m.underAt == due {
		m.underAt = atEnd
		if m.under != nil {
			more, err := m.under.Next()
			if err != nil {
				return err
			}
			if more {
				m.underAt = onEntry
			}
		}
	}
	if m.overAt == due {
		m.overAt = atEnd
		if m.over != nil && m.over.Next() {
			m.overAt = onEntry
		}
	}
	return nil
}

// choose consumes the next entry in order.
func (m *Merge) choose() {
	order := 0
	switch {
	case m.overAt == atEnd:
		order = -1
	case m.underAt == atEnd:
		order = 1
	default:
		order = bytes.Compare(m.under.Key(), m.over.Key())
		if m.reverse {
			order = -order
		}
	}
	if order <= 0 {
		m.underAt = due
	}
	if order >= 0 {
		m.overAt = due
	}
	m.own = order >= 0
}

// Deleted says whether the present key was deleted by a write.
func (m *Merge) Deleted() bool { return m.own && m.over.Write().Deleted }

// Key returns the key, valid until the next call of Next.
func (m *Merge) Key() []byte {
	if m.own {
		return m.over.Key()
	}
	return m.under.Key()
}

// Value returns the value as bytes of the caller's, never nil.
func (m *Merge) Value() ([]byte, error) {
	if m.own {
		return copied(m.over.Write().Value), nil
	}
	return m.under.Value()
}
