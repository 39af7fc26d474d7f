package txn

import (
	"bytes"

	"github.com/tidwall/btree"

	"github.com/seed-506d8e5d/svc/storage"
)

// Write is one change of a key.
type Write struct {
	Key, Value []byte
	Deleted    bool
}

// Span is a half-open interval of keys; a nil End is after the last key.
type Span struct{ Start, End []byte }

// Contains says whether the key is in the span.
func (s Span) Contains(key []byte) bool {
	return bytes.Compare(s.Start, key) <= 0 && (s.End == nil || bytes.Compare(key, s.End) < 0)
}

// Empty says whether no key is in the span.
func (s Span) Empty() bool { return s.End != nil && bytes.Compare(s.Start, s.End) >= 0 }

// Tree is an ordered map of writes by their keys. A copy costs nothing until one
// of the two is changed. Any number of goroutines may read a tree that nobody
// changes.
type Tree struct{ t *btree.BTreeG[*Write] } // of pointers, since to change a copy copies nodes

// NewTree returns an empty tree.
func NewTree() *Tree {
	less := func(a, b *Write) bool { return bytes.Compare(a.Key, b.Key) < 0 }
	return &Tree{btree.NewBTreeGOptions(less, btree.Options{NoLocks: true, Degree: 8})}
}

// Copy returns a tree with the same writes that changes apart from t.
func (t *Tree) Copy() *Tree { return &Tree{t.t.Copy()} }

// Set puts w in the place of the write with its key. The tree keeps the bytes.
func (t *Tree) Set(w Write) { t.t.Set(&w) }

// Delete removes the write with the key.
func (t *Tree) Delete(key []byte) { t.t.Delete(&Write{Key: key}) }

// Get returns the write with the key, its bytes still the tree's.
func (t *Tree) Get(key []byte) (Write, bool) {
	if w, ok := t.t.Get(&Write{Key: key}); ok {
		return *w, true
	}
	return Write{}, false
}

// Len returns the number of writes.
func (t *Tree) Len() int { return t.t.Len() }

// Writes calls yield with each write, in order, until it returns false.
func (t *Tree) Writes(yield func(Write) bool) { t.t.Scan(func(w *Write) bool { return yield(*w) }) }

// Iterate returns an iterator over the keys from start up to and without end; a
// nil end is after the last key.
func (t *Tree) Iterate(start, end []byte, reverse bool) *TreeIterator {
	return &TreeIterator{iter: t.t.Iter(), span: Span{start, end}, reverse: reverse}
}

// TreeIterator walks over a part of a tree. It begins before the first write.
type TreeIterator struct {
	iter             btree.IterG[*Write]
	span             Span
	reverse, started bool
}

// Next implements Source.
func (i *TreeIterator) Next() (bool, error) { return i.step() && i.span.Contains(i.Key()), nil }

func (i *TreeIterator) step() bool {
	first := !i.started
	i.started = true
	switch {
	case first && !i.reverse:
		return i.iter.Seek(&Write{Key: i.span.Start})
	case first && (i.span.End == nil || !i.iter.Seek(&Write{Key: i.span.End})):
		return i.iter.Last()
	case i.reverse:
		return i.iter.Prev()
	}
	return i.iter.Next()
}

// Write returns the present write, its bytes still the tree's.
func (i *TreeIterator) Write() Write { return *i.iter.Item() }

// Key implements Source.
func (i *TreeIterator) Key() []byte { return i.iter.Item().Key }

// Deleted implements Source.
func (i *TreeIterator) Deleted() bool { return i.iter.Item().Deleted }

// Value implements Source.
func (i *TreeIterator) Value() ([]byte, error) { return copied(i.iter.Item().Value), nil }

// Close implements Iterator.
func (i *TreeIterator) Close() {}

// Snapshot returns the tree, which nobody changes any more, as a Snapshot without
// tombstones.
func (t *Tree) Snapshot() Snapshot { return treeSnapshot{t} }

type treeSnapshot struct{ tree *Tree }

func (s treeSnapshot) Get(key []byte) ([]byte, error) {
	w, ok := s.tree.Get(key)
	if !ok {
		return nil, storage.ErrNotFound
	}
	return copied(w.Value), nil
}

func (s treeSnapshot) Iterate(start, end []byte, reverse bool) Iterator {
	return s.tree.Iterate(start, end, reverse)
}

func (s treeSnapshot) Close() {}
