package badgerstore

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/occ"
)

// lookups is how often a value is looked for whose place in the value log turns
// out to be gone, because it was moved meanwhile.
const lookups = 3

// snapshot is a view of badger at one version.
type snapshot struct {
	db   *badger.DB
	txn  *badger.Txn
	gone *lostKeys
}

// Get implements occ.Snapshot.
func (s *snapshot) Get(key []byte) ([]byte, error) {
	if err := s.gone.of(key); err != nil {
		return nil, err
	}
	for range lookups {
		item, err := s.txn.Get(key)
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil, storage.ErrNotFound
		}
		if err != nil {
			return nil, translated("get", err)
		}
		if value, ok, err := read(item); ok || err != nil {
			return value, err
		}
	}
	return nil, fmt.Errorf("badgerstore: %w: a value cannot be read from the value log", storage.ErrDamaged)
}

// read returns the value of the item, or false where the value log has it no
// longer or it is damaged: badger only logs that, and returns an empty value.
func read(item *badger.Item) ([]byte, bool, error) {
	value, err := item.ValueCopy(nil)
	if err != nil {
		return nil, false, translated("read value", err)
	}
	if len(value) == 0 && item.ValueSize() > 0 {
		return nil, false, nil
	}
	return value, true, nil
}

// Iterate implements occ.Snapshot.
func (s *snapshot) Iterate(start, end []byte, reverse bool) occ.Iterator {
	it := s.txn.NewIterator(badger.IteratorOptions{Reverse: reverse, Prefix: common(start, end)})
	return &iterator{it: it, snapshot: s, start: start, end: end, reverse: reverse}
}

// Close implements occ.Snapshot.
func (s *snapshot) Close() { s.txn.Discard() }

// common returns what both keys begin with, and so all keys between them.
func common(a, b []byte) []byte {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// iterator walks over a range of a snapshot.
type iterator struct {
	it               *badger.Iterator
	snapshot         *snapshot
	start, end       []byte
	reverse, started bool
}

// Next implements occ.Iterator.
func (i *iterator) Next() (bool, error) {
	if !i.started {
		if err := i.snapshot.gone.within(i.start, i.end); err != nil {
			return false, err
		}
	}
	return i.next(), nil
}

func (i *iterator) next() bool {
	switch {
	case i.started:
		i.it.Next()
	case i.reverse:
		// Badger goes to the last key up to the end, the end included.
		i.it.Seek(i.end)
		if i.it.Valid() && bytes.Equal(i.Key(), i.end) {
			i.it.Next()
		}
	default:
		i.it.Seek(i.start)
	}
	i.started = true
	if !i.it.Valid() {
		return false
	}
	if i.reverse {
		return bytes.Compare(i.Key(), i.start) >= 0
	}
	return bytes.Compare(i.Key(), i.end) < 0
}

// Key implements occ.Iterator.
func (i *iterator) Key() []byte { return i.it.Item().Key() }

// Value implements occ.Iterator.
func (i *iterator) Value() ([]byte, error) {
	item := i.it.Item()
	if value, ok, err := read(item); ok || err != nil {
		return value, err
	}
	return i.snapshot.Get(item.KeyCopy(nil))
}

// Close implements occ.Iterator.
func (i *iterator) Close() { i.it.Close() }
