package badgerstore

import (
	"bytes"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/y"
)

// lostKeys are the keys that were in blocks which have become damaged since the start.
// Badger takes such a block for one without keys: what was in it would be missing,
// or be what it was before. It may be used concurrently; there is one writer.
type lostKeys struct{ spans atomic.Pointer[[]lostSpan] }

// lostSpan is the keys from first to last, both included.
type lostSpan struct {
	first, last []byte
	why         damage
}

// add adds a place of one of the tables.
func (l *lostKeys) add(found damage, tables []badger.TableInfo) {
	s := lostSpan{first: found.part.first, last: found.part.next, why: found}
	for _, t := range tables {
		if t.ID != found.part.table {
			continue
		}
		if s.first == nil {
			s.first = y.ParseKey(t.Left)
		}
		if s.last == nil {
			s.last = y.ParseKey(t.Right)
		}
	}
	var spans []lostSpan
	if before := l.spans.Load(); before != nil {
		spans = append(spans, *before...)
	}
	spans = append(spans, s)
	l.spans.Store(&spans)
}

// within returns what is lost of the keys from start up to and without end, or nil.
func (l *lostKeys) within(start, end []byte) error {
	spans := l.spans.Load()
	if spans == nil {
		return nil
	}
	for _, s := range *spans {
		if bytes.Compare(s.first, end) < 0 && (s.last == nil || bytes.Compare(start, s.last) <= 0) {
			return s.why
		}
	}
	return nil
}

// of returns what is lost of a key, or nil.
func (l *lostKeys) of(key []byte) error {
	if l.spans.Load() == nil {
		return nil
	}
	return l.within(key, append(bytes.Clone(key), 0))
}
