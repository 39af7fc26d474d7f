package cluster

import (
	"context"
	"errors"
	"strings"

	"github.com/seed-506d8e5d/svc/storage"
)

// Every process has notes of the namespaces in which it may have begun what
// another one would have to finish, should it die. So what the dead have left is
// found without a look at every namespace that there is.
//
//	w/{process}/{namespace}   a note
//	w                         notes were kept from the first process on, or all namespaces were looked at since
const (
	workPrefix = "w/"
	workKey    = "w"

	maxLeft = 1000 // notes that are read at once
)

// RegisterWork writes down that this process may leave something unfinished in a
// namespace. It is called before anything is begun there that has to be finished,
// and is free but for the first time, and the first after the store may have lost
// it, or others may have taken the process for dead, and its notes for done with.
func (p *Member) RegisterWork(ctx context.Context, ns storage.Namespace) error {
	if p.lapsed() {
		if err := p.beat(ctx); err != nil {
			return err
		}
	}
	now := standing{p.lapses.Load(), p.store.Age()}
	if noted, ok := p.noted.Load(ns); ok && noted == now {
		return nil
	}
	err := p.store.Update(ctx, system, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		return tx.Set([]byte(workPrefix+p.id+"/"+string(ns)), nil)
	})
	if err == nil {
		p.noted.Store(ns, now)
	}
	return err
}

// standing is what has to be as it was for a note to be there.
type standing struct{ lapses, age uint64 }

// Orphan is a namespace in which a process that is not alive may have left
// something unfinished.
type Orphan struct {
	Namespace storage.Namespace
	process   string
	count     uint64 // of its process, 0 where that has no record
}

// Orphans returns what processes that are not alive have left, up to a thousand
// namespaces. all says that nobody has kept notes before: then every namespace has
// to be looked at, after which [Member.FinishFullScan] is called.
func (p *Member) Orphans(ctx context.Context) (left []Orphan, all bool, err error) {
	err = p.store.View(ctx, system, func(tx storage.Tx) error {
		left, all = nil, false
		if _, err := tx.Get([]byte(workKey)); errors.Is(err, storage.ErrNotFound) {
			all = true
		} else if err != nil {
			return err
		}
		for r := storage.Prefix([]byte(workPrefix)); len(left) < maxLeft; {
			process, err := firstProcess(tx, r)
			if err != nil || process == "" {
				return err
			}
			notes := storage.Prefix([]byte(workPrefix + process + "/"))
			r.Start = notes.End
			if p.Alive(process) {
				continue
			}
			count, err := number(tx.Get([]byte(processPrefix + process)))
			if err != nil {
				return err
			}
			notes.KeysOnly, notes.Limit = true, maxLeft-len(left)
			for e, err := range tx.Scan(notes) {
				if err != nil {
					return err
				}
				left = append(left, Orphan{storage.Namespace(e.Key[len(notes.Start):]), process, count})
			}
		}
		return nil
	})
	return left, all, err
}

// firstProcess returns the process of the first note of a range.
func firstProcess(tx storage.Tx, r storage.Range) (string, error) {
	r.KeysOnly, r.Limit = true, 1
	for e, err := range tx.Scan(r) {
		if err != nil {
			return "", err
		}
		process, _, _ := strings.Cut(string(e.Key[len(workPrefix):]), "/")
		return process, nil
	}
	return "", nil
}

// FinishOrphan says that nothing is left any more of what a process that is not alive
// had begun in a namespace. Where that one has shown itself since, its note stays.
func (p *Member) FinishOrphan(ctx context.Context, l Orphan) error {
	return p.store.Update(ctx, system, func(tx storage.Tx) error {
		count, err := number(tx.Get([]byte(processPrefix + l.process)))
		if err != nil {
			return err
		}
		if count != l.count {
			return nil
		}
		return tx.Delete([]byte(workPrefix + l.process + "/" + string(l.Namespace)))
	})
}

// FinishFullScan says that nothing is left of processes that kept no notes.
func (p *Member) FinishFullScan(ctx context.Context) error {
	return p.store.Update(ctx, system, func(tx storage.Tx) error { return tx.Set([]byte(workKey), nil) })
}
