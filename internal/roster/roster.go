// Package roster keeps the organizations in which a kind of background work may be
// found, so that no process has to look at all organizations for it.
package roster

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
)

// system is the service's own namespace.
const system storage.Namespace = "system"

// kept is how long an organization stays at least once it was added: longer than it
// takes to write the work that it was added for.
const kept = time.Hour

// Roster is the roster of one kind of work. Its keys are Prefix and the organization;
// the values are when that was added last.
type Roster struct {
	Store  *storage.DB
	Prefix string
}

// Add puts an organization on the roster. It is called before work is written.
func (r Roster) Add(ctx context.Context, ns storage.Namespace) error {
	return r.Store.Update(ctx, system, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		return tx.Set(r.key(ns), binary.BigEndian.AppendUint64(nil, uint64(r.Store.Now().Unix())))
	})
}

func (r Roster) key(ns storage.Namespace) []byte { return []byte(r.Prefix + string(ns)) }

// All returns the organizations on the roster.
func (r Roster) All(ctx context.Context) (found []storage.Namespace, err error) {
	err = r.Store.View(ctx, system, func(tx storage.Tx) error {
		found = nil
		all := storage.Prefix([]byte(r.Prefix))
		all.KeysOnly = true
		for e, err := range tx.Scan(all) {
			if err != nil {
				return err
			}
			found = append(found, storage.Namespace(e.Key[len(r.Prefix):]))
		}
		return nil
	})
	return found, err
}

// Remove takes an organization without work off the roster, unless it was added a
// moment ago.
func (r Roster) Remove(ctx context.Context, ns storage.Namespace) error {
	return r.Store.Update(ctx, system, func(tx storage.Tx) error {
		at, err := tx.Get(r.key(ns))
		if err != nil || len(at) != 8 || r.Store.Now().Unix()-int64(binary.BigEndian.Uint64(at)) < int64(kept/time.Second) {
			return nil // it is not there, or it stays
		}
		return tx.Delete(r.key(ns))
	})
}
