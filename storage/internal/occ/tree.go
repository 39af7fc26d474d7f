package occ

import (
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
)

// Write is one change of a key.
type Write = txn.Write

// Tree is an ordered map of writes by their keys, for databases in memory.
type Tree = txn.Tree

// NewTree returns an empty tree.
func NewTree() *Tree { return txn.NewTree() }

// Over returns a snapshot of the writes of a tree that nobody changes any more, and
// of what is in a snapshot under them. It closes that one with itself. The tree is
// asked for when something is read, always the same.
func Over(tree func() *Tree, under Snapshot) Snapshot { return over{under, tree} }

type over struct {
	Snapshot
	tree func() *Tree
}

// Get implements Snapshot.
func (s over) Get(key []byte) ([]byte, error) {
	w, ok := s.tree().Get(key)
	switch {
	case !ok:
		return s.Snapshot.Get(key)
	case w.Deleted:
		return nil, storage.ErrNotFound
	}
	return value(w), nil
}

// Iterate implements Snapshot.
func (s over) Iterate(start, end []byte, reverse bool) Iterator {
	under := s.Snapshot.Iterate(start, end, reverse)
	return overIterator{txn.NewMerge(s.tree().Iterate(start, end, reverse), under, reverse), under}
}

// overIterator is the Iterator of both.
type overIterator struct {
	*txn.Merge
	under Iterator
}

// Next implements Iterator.
func (i overIterator) Next() (bool, error) {
	for {
		if more, err := i.Merge.Next(); !more || err != nil || !i.Deleted() {
			return more, err
		}
	}
}

// Close implements Iterator.
func (i overIterator) Close() { i.under.Close() }

// TreeSnapshot returns a tree that nobody changes any more as a Snapshot.
func TreeSnapshot(t *Tree) Snapshot { return treeSnapshot{t} }

type treeSnapshot struct{ tree *Tree }

func (s treeSnapshot) Get(key []byte) ([]byte, error) {
	w, ok := s.tree.Get(key)
	if !ok {
		return nil, storage.ErrNotFound
	}
	return value(w), nil
}

func (s treeSnapshot) Iterate(start, end []byte, reverse bool) Iterator {
	return treeIterator{s.tree.Iterate(start, end, reverse)}
}

func (s treeSnapshot) Close() {}

// treeIterator is the Iterator of a tree.
type treeIterator struct{ *txn.TreeIterator }

// Next implements Iterator.
func (i treeIterator) Next() (bool, error) { return i.TreeIterator.Next(), nil }

// Value implements Iterator.
func (i treeIterator) Value() ([]byte, error) { return value(i.Write()), nil }

// Close implements Iterator.
func (i treeIterator) Close() {}

// value returns a copy of a write's value that is not nil.
func value(w Write) []byte { return append(make([]byte, 0, len(w.Value)), w.Value...) }
