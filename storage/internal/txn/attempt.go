package txn

import (
	"context"

	"github.com/seed-506d8e5d/svc/storage"
)

// prefix returns what the keys of a namespace begin with: its length, so that
// no namespace's keys are among another's, and its name. The high bit of the
// length keeps the keys apart from those that databases use themselves.
func prefix(ns storage.Namespace) []byte {
	p := make([]byte, 0, 1+len(ns))
	p = append(p, 0x80|byte(len(ns)))
	return append(p, ns...)
}

// attempt is one attempt of a transaction: a Tx over a snapshot, and what it
// read there.
type attempt struct {
	*Tx
	store    *Store
	ctx      context.Context
	prefix   []byte
	version  uint64
	snapshot Snapshot
	readOnly bool
	ended    bool

	reads [][]byte // keys read from the snapshot, encoded
	spans []Span   // and ranges
}

// end releases what the attempt holds. It may be called more than once.
func (a *attempt) end() {
	if a.ended {
		return
	}
	a.ended = true
	a.Tx.End()
	a.snapshot.Close()
	a.store.release(a.version)
}

// writes returns what the attempt has written, its keys encoded.
func (a *attempt) writes() []Write {
	writes := make([]Write, 0, a.Len())
	for w := range a.Writes() {
		w.Key = a.encode(w.Key)
		writes = append(writes, w)
	}
	return writes
}

// encode returns a key with its namespace.
func (a *attempt) encode(key []byte) []byte {
	full := make([]byte, 0, len(a.prefix)+len(key))
	return append(append(full, a.prefix...), key...)
}

// span returns a range of keys with their namespace.
func (a *attempt) span(start, end []byte) Span {
	s := Span{Start: a.encode(start), End: storage.After(a.prefix)}
	if end != nil {
		s.End = a.encode(end)
	}
	return s
}

// reader is the attempt as the reader of its Tx.
type reader struct{ *attempt }

// Get implements Reader.
func (r reader) Get(key []byte) ([]byte, error) {
	full := r.encode(key)
	if !r.readOnly {
		r.reads = append(r.reads, full)
	}
	return r.snapshot.Get(full)
}

// Prefetch implements Reader: each key is read at once.
func (r reader) Prefetch(...[]byte) {}

// Iterate implements Reader.
func (r reader) Iterate(in storage.Range) Iterator {
	s := r.span(in.Start, in.End)
	return &rangeIterator{r.snapshot.Iterate(s.Start, s.End, in.Reverse), len(r.prefix)}
}

// Scanned implements Reader.
func (r reader) Scanned(read Span) {
	if s := r.span(read.Start, read.End); !r.readOnly && !s.Empty() {
		r.spans = append(r.spans, s)
	}
}

// rangeIterator is an iterator over a range of one namespace.
type rangeIterator struct {
	Iterator
	prefix int // bytes of the namespace in front of each key
}

// Key implements Iterator.
func (i *rangeIterator) Key() []byte { return i.Iterator.Key()[i.prefix:] }
