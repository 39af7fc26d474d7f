// Package memstore keeps everything in memory: a [storage.Store] for tests and
// for services that need not remember anything. It is a copy-on-write tree, so
// that a snapshot costs nothing and readers never wait for writers.
//
// Package storage is the contract.
package memstore

import (
	"bytes"
	"sync/atomic"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/occ"
)

// New returns an empty store. What it holds is gone when the program ends. It
// owns a goroutine until it is closed.
func New() storage.Store {
	d := new(database)
	d.tree.Store(occ.NewTree())
	return occ.New(d, 0)
}

// database is the map under the store. A tree is never changed once it is
// there for others to read.
type database struct{ tree atomic.Pointer[occ.Tree] }

func (d *database) Snapshot(uint64) occ.Snapshot { return occ.TreeSnapshot(d.tree.Load()) }

func (d *database) Apply(_ uint64, writes []occ.Write) error {
	next := d.tree.Load().Copy()
	for _, w := range writes {
		if w.Deleted {
			next.Delete(w.Key)
			continue
		}
		next.Set(occ.Write{Key: w.Key, Value: bytes.Clone(w.Value)})
	}
	d.tree.Store(next)
	return nil
}

func (d *database) Room(bool) error { return nil }

func (d *database) Forget(uint64) {}

func (d *database) Close() error {
	d.tree.Store(occ.NewTree()) // frees the memory of a store that is still referred to
	return nil
}
