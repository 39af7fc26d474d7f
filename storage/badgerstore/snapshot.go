package badgerstore

import (
	"errors"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
)

// snapshot is the store at one moment. What it refers to is not changed.
type snapshot struct {
	*database
	trees  []*txn.Tree // of memtables, the newest first
	tables *tableSet   // in place of the database's, which changes
}

// Get implements txn.Snapshot.
func (s *snapshot) Get(key []byte) ([]byte, error) {
	for _, tree := range s.trees {
		if w, ok := tree.Get(key); ok {
			if w.Deleted {
				return nil, storage.ErrNotFound
			}
			return append(make([]byte, 0, len(w.Value)), w.Value...), nil
		}
	}
	value, err := []byte(nil), error(storage.ErrNotFound)
	s.tables.candidates(key, func(t *table) bool {
		entry, found, failed := t.get(key)
		switch {
		case failed != nil:
			err = failed
		case !found:
			return true
		case entry.Meta&metaDeleted == 0:
			value, err = valueOf(entry, s.readBlob)
		}
		return false
	})
	return value, err
}

func (s *snapshot) readBlob(ref blobRef) ([]byte, error) { return readBlob(s.dir, ref) }

// Iterate implements txn.Snapshot.
func (s *snapshot) Iterate(start, end []byte, reverse bool) txn.Iterator {
	tables := s.tables.sources(start, end, reverse, reading{s.readBlob, s.lost})
	sources := make([]txn.Source, 0, len(s.trees)+len(tables))
	for _, tree := range s.trees {
		sources = append(sources, tree.Iterate(start, end, reverse))
	}
	for _, t := range tables {
		sources = append(sources, t)
	}
	i := &iterator{Merge: txn.NewMerge(reverse, sources...), tables: tables, lost: s.lost}
	if s.unlisted {
		i.Newer = newerEntry
	}
	return i
}

// newerEntry compares entries of tables of which it is not known which hide which.
func newerEntry(a, earlier txn.Source) bool {
	table, ok := earlier.(*tableSource)
	return ok && tableSourceOf(a).version() > table.version()
}

// Close implements txn.Snapshot.
func (s *snapshot) Close() { s.release(s.tables) }

// iterator walks over a range of a snapshot. It is an txn.Iterator.
type iterator struct {
	*txn.Merge
	tables []closer
	lost   func(error) // see settings
}

// Next implements txn.Iterator.
func (i *iterator) Next() (bool, error) {
	for {
		more, err := i.Merge.Next()
		if !more || err != nil {
			return more, err
		}
		if !i.Deleted() && i.readable() {
			return true, nil
		}
	}
}

// readable reports whether the value can be read, where damage is tolerated.
func (i *iterator) readable() bool {
	if i.lost == nil {
		return true
	}
	_, err := i.Value()
	if errors.Is(err, storage.ErrDamaged) {
		i.lost(err)
		return false
	}
	return true
}

// Close implements txn.Iterator.
func (i *iterator) Close() {
	for _, t := range i.tables {
		t.close()
	}
}
