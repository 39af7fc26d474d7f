package badgerstore

import (
	"bytes"
	"slices"

	"github.com/seed-506d8e5d/svc/storage/internal/occ"
)

const (
	// recentBytes is how much the log may have that badger has not: a commit is then a
	// write to the log and to memory. Badger passes each of its own on between three
	// goroutines, which costs more than a small one is worth.
	recentBytes = 128 << 10

	// recentWrite is about what a write takes besides its key and value.
	recentWrite = 64
)

// recent is what was written up to and with one version, and badger may not have
// yet: what a recent before it has, and then its own writes. Who reads first makes a
// tree of that, since most versions are never read. What a tree has is not changed.
type recent struct {
	version uint64
	size    int // bytes

	// Guarded by database.merging.
	before *recent     // nil with the tree
	writes []occ.Write // nil with the tree
	tree   *occ.Tree   // nil before somebody reads
}

// nothingRecent says that badger has all up to and with a version.
func nothingRecent(version uint64) *recent { return &recent{version: version, tree: occ.NewTree()} }

// keep puts the writes of a version among the recent ones, and gives those to badger
// where they have become too many.
func (d *database) keep(version uint64, writes []occ.Write) error {
	before := d.recent.Load()
	next := &recent{version: version, size: before.size, before: before, writes: writes}
	for _, w := range writes {
		next.size += recentWrite + len(w.Key) + len(w.Value)
	}
	if next.size > recentBytes {
		return d.give(next)
	}
	next.writes = slices.Clone(writes)
	for i := range next.writes {
		next.writes[i].Value = bytes.Clone(next.writes[i].Value) // it is the caller's
	}
	d.recent.Store(next)
	return nil
}

// treeOf returns all that is recent.
func (d *database) treeOf(r *recent) *occ.Tree {
	d.merging.Lock()
	defer d.merging.Unlock()
	var unmerged []*recent
	under := r
	for ; under.tree == nil; under = under.before {
		unmerged = append(unmerged, under)
	}
	if len(unmerged) == 0 {
		return r.tree
	}
	tree := under.tree.Copy()
	for _, r := range slices.Backward(unmerged) {
		for _, w := range r.writes {
			tree.Set(w)
		}
	}
	r.tree, r.before, r.writes = tree, nil, nil
	return tree
}

// give gives badger what is recent, as its version. Who reads an older one meanwhile
// has these writes, or those that they replace, above badger's.
func (d *database) give(r *recent) error {
	if err := d.index(r.version, d.treeOf(r).Writes); err != nil {
		return err
	}
	d.recent.Store(nothingRecent(r.version))
	return nil
}

// giveAll gives badger all that it has not.
func (d *database) giveAll() error {
	if r := d.recent.Load(); r != nil && r.size > 0 { // nil while the store is opened
		return d.give(r)
	}
	return nil
}

// seal gives badger all that it has not, and a mark behind it: the tables that have
// the mark, or were made later, have all that was written before.
func (d *database) seal() error {
	if err := d.giveAll(); err != nil {
		return err
	}
	if d.mark >= d.version || d.failed.Load() != nil {
		return nil
	}
	if err := d.index(d.version, slices.Values([]occ.Write{markWrite(d.version)})); err != nil {
		return err
	}
	d.mark = d.version
	return nil
}
