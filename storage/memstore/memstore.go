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
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
)

// New returns an empty store. What it holds is gone when the program ends. It
// owns a goroutine until it is closed.
func New() storage.Store {
	d := new(database)
	d.tree.Store(txn.NewTree())
	return txn.NewStore(d, 0)
}

// database is the map under the store. A tree is never changed once it is
// there for others to read.
type database struct{ tree atomic.Pointer[txn.Tree] }

func (d *database) Snapshot(uint64) txn.Snapshot { return d.tree.Load().Snapshot() }

func (d *database) Apply(_ uint64, writes []txn.Write) error {
	next := d.tree.Load().Copy()
	for _, w := range writes {
		if w.Deleted {
			next.Delete(w.Key)
			continue
		}
		next.Set(txn.Write{Key: w.Key, Value: bytes.Clone(w.Value)})
	}
	d.tree.Store(next)
	return nil
}

func (d *database) Room(bool) error { return nil }

func (d *database) Forget(uint64) {}

func (d *database) Close() error {
	d.tree.Store(txn.NewTree()) // frees the memory of a store that is still referred to
	return nil
}
