package accounts

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// busyStore is a store with a namespace that somebody writes into after each look
// at it, so that no transaction which reads a range of it commits.
type busyStore struct {
	storage.Store
	busy   storage.Namespace
	writes int // that are still to come
}

func (b *busyStore) View(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	err := b.Store.View(ctx, ns, fn)
	if err != nil || ns != b.busy || b.writes == 0 {
		return err
	}
	b.writes--
	return b.Store.Update(ctx, ns, func(tx storage.Tx) error {
		return tx.Set(fmt.Append(nil, "late", b.writes), nil)
	})
}

func (b *busyStore) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	if ns != b.busy {
		return b.Store.Update(ctx, ns, fn)
	}
	return b.Store.Update(ctx, ns, func(tx storage.Tx) error {
		scanned := &scannedTx{Tx: tx}
		if err := fn(scanned); err != nil || !scanned.any {
			return err
		}
		return storage.ErrConflict
	})
}

// scannedTx is a transaction that notes whether a range was read in it.
type scannedTx struct {
	storage.Tx
	any bool
}

func (s *scannedTx) Scan(r storage.Range) iter.Seq2[storage.Entry, error] {
	s.any = true
	return s.Tx.Scan(r)
}

// TestDeletingABusyOrganization deletes an organization while something of it is
// still written: all of that goes, and what does not end is an error.
func TestDeletingABusyOrganization(t *testing.T) {
	for writes, done := range map[int]bool{5: true, 1 << 30: false} {
		store := &busyStore{Store: newStore(t)}
		s := newService(t, store)
		o := newOrganization(t, s, Dollar)
		store.busy, store.writes = storage.Namespace(o.ID), writes
		err := s.DeleteOrganization(t.Context(), o.ID)
		if !done {
			if !fault.Is(err, fault.Unavailable) || !errors.Is(err, storage.ErrConflict) {
				t.Errorf("with writes that do not end: %v", err)
			}
			store.writes = 0
			err = s.SweepDeleted(t.Context())
		}
		if err != nil {
			t.Error(err)
		}
		if store.writes > 0 {
			t.Errorf("%d writes are still to come", store.writes)
		}
		empty := false
		err = store.View(t.Context(), store.busy, func(tx storage.Tx) (err error) {
			empty, err = none(tx, storage.Range{})
			return err
		})
		if err != nil || !empty {
			t.Errorf("something is left: %v", err)
		}
	}
}
