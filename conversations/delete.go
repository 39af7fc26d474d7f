package conversations

import (
	"context"
	"errors"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/storage"
)

// deleteBatch is how many items one transaction removes.
const deleteBatch = 1000

// Delete removes a conversation with its items and turns, or returns a NotFound
// error. From the moment that it is deleted nothing of it can be read; what the
// end of the process leaves behind, [Service.Recover] removes.
func (s *Service) Delete(ctx context.Context, caller accounts.Caller, id string) error {
	ns := caller.Namespace()
	err := s.store.Update(ctx, ns, func(tx storage.Tx) error {
		if _, err := get(tx, id); err != nil {
			return err
		}
		return errors.Join(tx.Delete(conversationKey(id)), tx.Delete(headKey(id)), tx.Set(deletedKey(id), nil))
	})
	if err != nil {
		return err
	}
	return s.sweep(context.WithoutCancel(ctx), ns, id)
}

// Recover finishes the deletions of a namespace that the end of the process
// interrupted. It is called once for each organization, before the service
// takes requests.
func (s *Service) Recover(ctx context.Context, ns storage.Namespace) error {
	var deleted []string
	err := s.store.View(ctx, ns, func(tx storage.Tx) error {
		deleted = nil
		for entry, err := range tx.Scan(storage.Range{Start: []byte(deletedPrefix), End: storage.After([]byte(deletedPrefix)), KeysOnly: true}) {
			if err != nil {
				return err
			}
			deleted = append(deleted, string(entry.Key[len(deletedPrefix):]))
		}
		return nil
	})
	for _, id := range deleted {
		if err == nil {
			err = s.sweep(ctx, ns, id)
		}
	}
	return err
}

// sweep removes the items and turns of a deleted conversation, batch by batch.
func (s *Service) sweep(ctx context.Context, ns storage.Namespace, id string) error {
	for done := false; !done; {
		err := s.store.Update(ctx, ns, func(tx storage.Tx) (err error) {
			done, err = sweepBatch(tx, id)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func sweepBatch(tx storage.Tx, id string) (done bool, err error) {
	count := 0
	turns := map[string]bool{}
	for found, err := range tx.Scan(storage.Prefix(itemsOf(id))) {
		if err != nil {
			return false, err
		}
		if count++; count > deleteBatch {
			return false, nil
		}
		entry, err := readEntry(found)
		if err != nil {
			return false, err
		}
		if err := errors.Join(tx.Delete(found.Key), tx.Delete(indexKey(entry.Item.ItemID()))); err != nil {
			return false, err
		}
		if entry.Turn != "" && !turns[entry.Turn] {
			turns[entry.Turn] = true
			if err := tx.Delete(turnKey(entry.Turn)); err != nil {
				return false, err
			}
		}
	}
	return true, tx.Delete(deletedKey(id))
}
