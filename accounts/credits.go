package accounts

import (
	"context"
	"errors"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/stored"
	"github.com/seed-506d8e5d/svc/storage"
)

// CodeKeyReused is the code of the Conflict of an idempotency key that was used
// for something else.
const CodeKeyReused = "idempotency_key_reused"

// maxIdempotencyKey is the length in bytes of the longest idempotency key.
const maxIdempotencyKey = 255

// grantRecord is what is stored of credits that were added with an idempotency key.
type grantRecord struct {
	Amount    Micros `json:"amount"`
	CreatedAt int64  `json:"created_at"`
}

// AddCredits adds an amount to the organization's balance, or takes it away
// where it is negative. The error is NotFound, or Invalid where the amount is 0,
// or it or the new balance is out of bounds.
func (s *Service) AddCredits(ctx context.Context, id string, amount Micros) (Organization, error) {
	o, _, err := s.AddCreditsOnce(ctx, id, amount, "")
	return o, err
}

// AddCreditsOnce is AddCredits for a caller that may ask again: what was added to
// an organization with a key, 1 to 255 visible ASCII characters, is not added
// again, and replayed is true. Credits, and the key with them, are written in one
// transaction. Without a key it is AddCredits. The error is a Conflict
// (idempotency_key_reused) where the key was used for another amount.
func (s *Service) AddCreditsOnce(ctx context.Context, id string, amount Micros, key string) (o Organization, replayed bool, err error) {
	if amount == 0 || amount < -maxAmount || amount > maxAmount {
		return o, false, fault.Invalidf("amount", "amount must not be 0 and at most %s dollars.", maxAmount)
	}
	if key != "" && (len(key) > maxIdempotencyKey || !wellFormed(key)) {
		return o, false, fault.Invalidf("Idempotency-Key", "An idempotency key must be 1 to %d visible ASCII characters.", maxIdempotencyKey)
	}
	var record organizationRecord
	err = s.store.View(ctx, system, func(tx storage.Tx) (err error) {
		record, err = getOrganization(tx, id)
		return err
	})
	if err != nil {
		return o, false, stored.Error(err)
	}
	if replayed, err = s.granted(ctx, id, amount, key); err == nil && !replayed {
		replayed, err = s.grant(ctx, id, amount, key)
	}
	if err != nil {
		return o, false, stored.Error(err)
	}
	o, err = s.withCredits(ctx, record)
	return o, replayed, err
}

// granted says whether the credits were added with the key before.
func (s *Service) granted(ctx context.Context, id string, amount Micros, key string) (found bool, err error) {
	if key == "" {
		return false, nil
	}
	err = s.store.View(ctx, storage.Namespace(id), func(tx storage.Tx) (err error) {
		found, err = grantedBefore(tx, amount, key)
		return err
	})
	return found, err
}

// grantedBefore says whether the amount was added with the key, or returns a
// Conflict where another one was.
func grantedBefore(tx storage.Tx, amount Micros, key string) (bool, error) {
	var before grantRecord
	err := storage.GetJSON(tx, grantKey(key), &before)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case before.Amount != amount:
		return false, &fault.Error{Kind: fault.Conflict, Code: CodeKeyReused, Message: "The idempotency key was used for another amount."}
	}
	return true, nil
}

// grant writes the change into the audit log, and then, in one transaction, the
// credits and the key. It says whether the key was used meanwhile.
func (s *Service) grant(ctx context.Context, id string, amount Micros, key string) (replayed bool, err error) {
	err = s.store.Update(ctx, system, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		return s.record(tx, ActionAddCredits, id, struct {
			Amount Micros `json:"amount"`
		}{amount})
	})
	if err != nil {
		return false, err
	}
	errGranted := errors.New("granted")
	_, err = s.post(ctx, credit(id, amount), func(tx storage.Tx) error {
		if key == "" {
			return nil
		}
		found, err := grantedBefore(tx, amount, key)
		if err != nil {
			return err
		}
		if found {
			return errGranted
		}
		return storage.SetJSON(tx, grantKey(key), grantRecord{Amount: amount, CreatedAt: s.now().Unix()})
	})
	if err == errGranted {
		return true, nil
	}
	return false, err
}
