package cluster

import (
	"context"
	"errors"
	"strings"

	"github.com/seed-506d8e5d/svc/storage"
)

// Every process registers the namespaces in which it begins work that another process
// would have to finish if it died. So orphaned work is found without a scan of every
// namespace.
//
//	w/{process}/{namespace}   a registration
//	w                         all work is registered: the first process registered its own, or FinishFullScan was called
const (
	workPrefix = "w/"
	workKey    = "w"

	maxOrphans = 1000 // returned at once
)

// registration is what must not have changed for a registration to be in the store.
type registration struct{ lapses, epoch uint64 }

// RegisterWork registers that this process may begin work in a namespace. It is
// called before any work is begun that must be finished. It only writes the first
// time, and again after the store may have lost commits or peers may have taken this
// process for dead.
func (m *Member) RegisterWork(ctx context.Context, ns storage.Namespace) error {
	if m.lapsed() {
		if err := m.beat(ctx); err != nil {
			return err
		}
	}
	current := registration{m.lapses.Load(), m.store.Epoch()}
	if r, ok := m.registered.Load(ns); ok && r == current {
		return nil
	}
	err := m.store.Update(ctx, system, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		return tx.Set([]byte(workPrefix+m.id+"/"+string(ns)), nil)
	})
	if err == nil {
		m.registered.Store(ns, current)
	}
	return err
}

// Orphan is a namespace in which a dead process may have left unfinished work.
type Orphan struct {
	Namespace storage.Namespace
	process   string
	heartbeat string // of the process; empty if it has no record
}

// Orphans returns the work that dead processes have left, up to a thousand
// namespaces. all reports that the store was written by a version that registered no
// work: then the caller must look at every namespace and call [Member.FinishFullScan].
func (m *Member) Orphans(ctx context.Context) (orphans []Orphan, all bool, err error) {
	err = m.store.View(ctx, system, func(tx storage.Tx) error {
		orphans = nil
		_, err := tx.Get([]byte(workKey))
		if all = errors.Is(err, storage.ErrNotFound); err != nil && !all {
			return err
		}
		for r := storage.Prefix([]byte(workPrefix)); len(orphans) < maxOrphans; {
			process, found, err := firstProcess(tx, r)
			if err != nil || !found {
				return err
			}
			work := storage.Prefix([]byte(workPrefix + process + "/"))
			r.Start = work.End
			if m.Alive(process) {
				continue
			}
			heartbeat, err := heartbeatOf(tx, process)
			if err != nil {
				return err
			}
			work.KeysOnly, work.Limit = true, maxOrphans-len(orphans)
			for e, err := range tx.Scan(work) {
				if err != nil {
					return err
				}
				orphans = append(orphans, Orphan{storage.Namespace(e.Key[len(work.Start):]), process, heartbeat})
			}
		}
		return nil
	})
	return orphans, all, err
}

// firstProcess returns the process of the first registration in a range.
func firstProcess(tx storage.Tx, r storage.Range) (process string, found bool, err error) {
	r.KeysOnly, r.Limit = true, 1
	for e, err := range tx.Scan(r) {
		if err != nil {
			return "", false, err
		}
		process, _, _ = strings.Cut(string(e.Key[len(workPrefix):]), "/")
		return process, true, nil
	}
	return "", false, nil
}

// heartbeatOf returns the heartbeat of a process, empty if it has no record.
func heartbeatOf(tx storage.Tx, process string) (string, error) {
	heartbeat, err := tx.Get([]byte(peerPrefix + process))
	if errors.Is(err, storage.ErrNotFound) {
		err = nil
	}
	return string(heartbeat), err
}

// FinishOrphan removes the registration of orphaned work that was finished. It does
// nothing if the process has written a heartbeat since [Member.Orphans] was called.
func (m *Member) FinishOrphan(ctx context.Context, o Orphan) error {
	return m.store.Update(ctx, system, func(tx storage.Tx) error {
		heartbeat, err := heartbeatOf(tx, o.process)
		if err != nil || heartbeat != o.heartbeat {
			return err
		}
		return tx.Delete([]byte(workPrefix + o.process + "/" + string(o.Namespace)))
	})
}

// FinishFullScan records that no unregistered work is left.
func (m *Member) FinishFullScan(ctx context.Context) error {
	return m.store.Update(ctx, system, func(tx storage.Tx) error { return tx.Set([]byte(workKey), nil) })
}
