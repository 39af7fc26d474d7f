package txn

import "bytes"

// Source is an ordered input of a [Merge]. It begins before its first entry.
type Source interface {
	// Next moves to the next entry and says whether there is one. The error
	// ends the iteration.
	Next() (bool, error)

	// Key returns the key, valid until the next call of Next.
	Key() []byte

	// Deleted reports whether the entry is a tombstone.
	Deleted() bool

	// Value returns the value as bytes of the caller's, never nil.
	Value() ([]byte, error)
}

// Merge walks over several sources in the order of their keys. Of entries with the
// same key only that of the first source counts. It begins before the first entry.
type Merge struct {
	// Newer, if set, reports whether the present entry of a source counts rather than
	// that of an earlier one with the same key.
	Newer func(a, earlier Source) bool

	// Shadowed, if set, is called with each source whose present entry is hidden by
	// an entry of an earlier source.
	Shadowed func(Source)

	sources []Source
	states  []sourceState
	reverse bool
	current int
}

// NewMerge returns a Merge of sources over the same range, all in the same order.
func NewMerge(reverse bool, sources ...Source) *Merge {
	return &Merge{sources: sources, states: make([]sourceState, len(sources)), reverse: reverse}
}

// sourceState says where a source of a merge stands.
type sourceState uint8

const (
	consumed sourceState = iota // the present entry was used, or there is none yet
	waiting                     // on an entry that is still to be used
	atEnd
)

// Next moves to the next key, which may be a tombstone, and says whether there is
// one. The error ends the iteration.
func (m *Merge) Next() (bool, error) {
	m.current = -1
	for i, s := range m.sources {
		if m.states[i] == consumed {
			more, err := s.Next()
			if err != nil {
				return false, err
			}
			m.states[i] = waiting
			if !more {
				m.states[i] = atEnd
			}
		}
		if m.states[i] == waiting && (m.current < 0 || m.before(s, m.sources[m.current])) {
			m.current = i
		}
	}
	if m.current < 0 {
		return false, nil
	}
	m.consume()
	return true, nil
}

// before reports whether a's entry comes before b's, which is an earlier source.
func (m *Merge) before(a, b Source) bool {
	order := bytes.Compare(a.Key(), b.Key())
	if order == 0 {
		return m.Newer != nil && m.Newer(a, b)
	}
	return order > 0 == m.reverse
}

// consume marks the present entry and those that it hides as used.
func (m *Merge) consume() {
	key := m.sources[m.current].Key()
	m.states[m.current] = consumed
	for i := range m.sources {
		if m.states[i] == waiting && bytes.Equal(m.sources[i].Key(), key) {
			m.states[i] = consumed
			if m.Shadowed != nil {
				m.Shadowed(m.sources[i])
			}
		}
	}
}

// Current returns the source of the present entry.
func (m *Merge) Current() Source { return m.sources[m.current] }

// Deleted reports whether the present entry is a tombstone.
func (m *Merge) Deleted() bool { return m.Current().Deleted() }

// Key returns the key, valid until the next call of Next.
func (m *Merge) Key() []byte { return m.Current().Key() }

// Value returns the value as bytes of the caller's, never nil.
func (m *Merge) Value() ([]byte, error) { return m.Current().Value() }
