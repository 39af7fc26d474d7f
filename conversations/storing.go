package conversations

import (
	"context"
	"errors"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// view and update run a transaction in the caller's namespace.
func (s *Service) view(ctx context.Context, caller accounts.Caller, fn func(storage.Tx) error) error {
	return storeError(s.store.View(ctx, caller.Namespace(), fn))
}

func (s *Service) update(ctx context.Context, caller accounts.Caller, fn func(storage.Tx) error) error {
	return storeError(s.store.Update(ctx, caller.Namespace(), fn))
}

// storeError classifies an error of the store or of a function that ran in one
// of its transactions.
func storeError(err error) error {
	if errors.Is(err, storage.ErrTooLarge) {
		return tooLarge(err)
	}
	return err
}

func tooLarge(cause error) error {
	return &fault.Error{Kind: fault.TooLarge, Code: CodeTooLarge, Message: "The items are too large to be stored.", Err: cause}
}

// answer is what a transaction that stores a turn has room for beside the turn's
// input.
var answer = storage.Size{Writes: 1000, Bytes: storage.MaxTxBytes / 2, Small: storage.MaxTxSmall / 16}

// CheckSize returns a TooLarge error for items that are too large to be stored:
// one of them, or all together with an answer. It is for refusing a turn before a
// model runs.
func CheckSize(items []Item) error {
	size := answer
	for _, item := range items {
		data, err := encodeEntry(Entry{Item: item})
		if err != nil {
			return err
		}
		const id = 64           // bytes in an ID with what is around it, at most
		value := len(data) + id // of its turn
		size.Add(id, value)
		size.Add(id, id) // the index
		if value > storage.MaxValue || !size.Fits() {
			return tooLarge(nil)
		}
	}
	return nil
}
