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

// Close implements Iterator.
func (i treeIterator) Close() {}

// value returns a copy of a write's value that is not nil.
func value(w Write) []byte { return append(make([]byte, 0, len(w.Value)), w.Value...) }
