package accounts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// deletion is what is stored of an organization that is being deleted, or was.
// It outlives the organization for [deletionKept], for what requests that ran at
// the time wrote afterwards.
type deletion struct {
	DeletedAt int64 `json:"deleted_at"` // Unix seconds
}

// deletionKept is how long after its deletion an organization's key space is
// looked at again, in seconds: longer than any request runs.
const deletionKept = 24 * 60 * 60

// DeleteOrganization removes an organization with everything that belongs to it:
// its keys, its ledger and all that is stored with them. It returns when nothing
// is left, which it has counted. From its first moment on, requests of the
// organization are refused. What the end of the process interrupts,
// [Service.SweepDeleted] goes on with. The error is NotFound.
func (s *Service) DeleteOrganization(ctx context.Context, id string) error {
	err := s.store.Update(ctx, system, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		record, err := getOrganization(tx, id)
		if err != nil {
			return err
		}
		record.Status = Suspended
		if err := storage.SetJSON(tx, organizationKey(id), record); err != nil {
			return err
		}
		if err := storage.SetJSON(tx, deletionKey(id), deletion{s.now().Unix()}); err != nil {
			return err
		}
		if err := s.record(tx, ActionDeleteOrganization, id, nil); err != nil {
			return err
		}
		return s.cluster.InvalidateCaches(tx)
	})
	s.forget()
	if err != nil {
		return err
	}
	return s.erase(ctx, id)
}

// SweepDeleted goes on with deletions that were interrupted, and removes what
// requests that ran beside them wrote afterwards. It is called now and then.
func (s *Service) SweepDeleted(ctx context.Context) error {
	var failed []error
	for p := (page.Params{Limit: maxPage}); ; {
		ids, err := listSystem(ctx, s, deletionPrefix, "", p, func(_ storage.Tx, e storage.Entry) (string, error) {
			return strings.TrimPrefix(string(e.Key), deletionPrefix), nil
		})
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		for _, id := range ids.Items {
			p.After = id
			if err := s.erase(ctx, id); err != nil {
				failed = append(failed, fmt.Errorf("deleting the organization %s: %w", id, err))
			}
		}
		if !ids.HasMore || ctx.Err() != nil {
			return errors.Join(append(failed, ctx.Err())...)
		}
	}
}

// erase removes what there is of an organization that was marked as deleted.
func (s *Service) erase(ctx context.Context, id string) error {
	for {
		keys, err := s.Keys(ctx, id, page.Params{Limit: maxPage})
		if err != nil {
			return err
		}
		for _, key := range keys.Items {
			if err := s.RevokeKey(ctx, key.ID); err != nil && fault.From(err).Kind != fault.NotFound {
				return err
			}
		}
		if !keys.HasMore {
			break
		}
	}
	if err := s.eraseTotals(ctx, id); err != nil {
		return err
	}
	if err := s.empty(ctx, storage.Namespace(id)); err != nil {
		return err
	}
	s.ledgers.Delete(id)
	s.limits.Forget(id)
	defer s.forget()
	return s.store.Update(ctx, system, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		var d deletion
		if err := storage.GetJSON(tx, deletionKey(id), &d); err != nil {
			if errors.Is(err, storage.ErrNotFound) {
				return nil // another one was faster
			}
			return err
		}
		if err := tx.Delete(organizationKey(id)); err != nil {
			return err
		}
		if s.now().Unix()-d.DeletedAt < deletionKept {
			return nil
		}
		return tx.Delete(deletionKey(id))
	})
}

const (
	// eraseBatch is how many keys one transaction of a deletion removes.
	eraseBatch = 1000
	// eraseRounds is how often a deletion looks for what is written meanwhile.
	eraseRounds = 100
)

// empty removes every key of a namespace. The last time that it looks it finds
// none: that is the count that confirms it. Keys are read apart from where they are
// removed, as a transaction with both would conflict with whoever writes meanwhile.
// The error is Unavailable where that one does not end.
func (s *Service) empty(ctx context.Context, ns storage.Namespace) error {
	for round := 0; round < eraseRounds; {
		var keys [][]byte
		err := s.store.View(ctx, ns, func(tx storage.Tx) error {
			keys = keys[:0]
			for entry, err := range tx.Scan(storage.Range{KeysOnly: true, Limit: eraseBatch}) {
				if err != nil {
					return err
				}
				keys = append(keys, entry.Key)
			}
			return nil
		})
		if err != nil || len(keys) == 0 {
			return err
		}
		err = s.store.Update(ctx, ns, func(tx storage.Tx) error {
			storage.UseReserve(tx)
			for _, key := range keys {
				if err := tx.Delete(key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if len(keys) < eraseBatch {
			round++ // all that there was is gone
		}
	}
	return &fault.Error{Kind: fault.Unavailable, Code: fault.CodeStorage, Message: "The organization is written to without end. Try again.", RetryAfter: time.Second, Err: storage.ErrConflict}
}
