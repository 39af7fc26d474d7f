package conversations

import (
	"bytes"
	"context"
	"log/slog"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/storage"
)

// deleteBatch is how many entries of the store one transaction removes, each
// with the two keys at most that it leads to.
const deleteBatch = 1000

// Delete removes a conversation with its items and turns, or returns a NotFound
// error. From the moment that it is deleted nothing of it can be read; what a
// failing store or the end of the process leaves behind, [Service.Recover]
// removes.
func (s *Service) Delete(ctx context.Context, caller accounts.Caller, id string) error {
	ns := caller.Namespace()
	if err := s.note(ctx, ns); err != nil {
		return err
	}
	err := s.update(ctx, caller, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		if _, err := get(tx, id); err != nil {
			return err
		}
		for _, key := range [][]byte{conversationKey(id), headKey(id)} {
			if err := tx.Delete(key); err != nil {
				return err
			}
		}
		return tx.Set(deletedKey(id), nil)
	})
	if err != nil {
		return err
	}
	s.histories.forget(ns, id)
	// The conversation is gone: an error now would have it deleted again.
	if err := s.sweep(context.WithoutCancel(ctx), ns, id); err != nil {
		s.log.LogAttrs(ctx, slog.LevelError, "conversations: a deletion is left to the next start",
			slog.String("conversation", id), slog.Any("err", err))
	}
	return nil
}

// Recover finishes the deletions of a namespace that were interrupted. It is
// called once for each organization, before the service takes requests.
func (s *Service) Recover(ctx context.Context, ns storage.Namespace) error {
	var deleted []string
	err := s.store.View(ctx, ns, func(tx storage.Tx) error {
		deleted = nil
		r := storage.Prefix([]byte(deletedPrefix))
		r.KeysOnly = true
		for entry, err := range tx.Scan(r) {
			if err != nil {
				return err
			}
			deleted = append(deleted, string(entry.Key[len(deletedPrefix):]))
		}
		return nil
	})
	if err != nil {
		return storeError(err)
	}
	for _, id := range deleted {
		if err := s.sweep(ctx, ns, id); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes what is left of a deleted conversation, batch by batch, and in
// the end what says that it is to be swept.
func (s *Service) sweep(ctx context.Context, ns storage.Namespace, id string) error {
	for done := false; !done; {
		err := s.store.Update(ctx, ns, func(tx storage.Tx) (err error) {
			storage.UseReserve(tx)
			b := batch{tx: tx, conversation: id}
			for _, prefix := range [][]byte{itemsOf(id), incompleteItemsOf(id, ""), eventsOf(id, ""), leftoversOf(id)} {
				if err := b.remove(prefix); err != nil {
					return err
				}
			}
			if done = !b.full; done {
				return tx.Delete(deletedKey(id))
			}
			return nil
		})
		if err != nil {
			return storeError(err)
		}
	}
	return nil
}

// batch is one transaction of a sweep.
type batch struct {
	tx           storage.Tx
	conversation string
	removed      int
	full         bool // whether there is more
}

// remove removes entries with a prefix, and the keys that they lead to.
func (b *batch) remove(prefix []byte) error {
	for found, err := range b.tx.Scan(storage.Prefix(prefix)) {
		if err != nil {
			return err
		}
		if b.removed == deleteBatch {
			b.full = true
			return nil
		}
		b.removed++
		others, err := b.leadsTo(found)
		if err != nil {
			return err
		}
		for _, key := range append(others, found.Key) {
			if err := b.tx.Delete(key); err != nil {
				return err
			}
		}
	}
	return nil
}

// leadsTo returns the keys that go with an entry of the conversation.
func (b *batch) leadsTo(found storage.Entry) ([][]byte, error) {
	if bytes.HasPrefix(found.Key, eventsOf(b.conversation, "")) {
		return nil, nil
	}
	if named, ok := bytes.CutPrefix(found.Key, leftoversOf(b.conversation)); ok {
		return [][]byte{named}, nil
	}
	e, err := readEntry(found)
	if err != nil {
		return nil, err
	}
	keys := [][]byte{indexKey(e.Item.ItemID())}
	if e.Turn != "" {
		keys = append(keys, turnKey(e.Turn))
	}
	return keys, nil
}
