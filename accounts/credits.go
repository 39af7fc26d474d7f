package accounts

import (
	"context"
	"errors"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// CodeKeyReused is the code of the Conflict of an idempotency key that was used
// for something else.
const CodeKeyReused = fault.CodeKeyReused

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
// again, and replayed is true. Credits, and the key with them, are one entry of the
// ledger, written in one transaction; the audit log has them from there. Without a
// key it is AddCredits. The error is a Conflict (idempotency_key_reused) where the
// key was used for another amount.
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
		return o, false, err
	}
	if replayed, err = s.grant(ctx, id, amount, key); err != nil {
		return o, false, err
	}
	// The credits are added: a request that has ended changes nothing of it, and what
	// fails now Count does later.
	counting, cancel := context.WithTimeout(context.WithoutCancel(ctx), backgroundTimeout)
	defer cancel()
	if err := s.catchUp(counting, id); err != nil {
		s.log.ErrorContext(ctx, "accounts: added credits are not in the audit log yet", "organization", id, "err", err)
	}
	o, err = s.withCredits(ctx, record)
	return o, replayed, err
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

var errGranted = errors.New("the credits were added with this key before")

// grant adds credits with a key. It says whether the key was used before.
func (s *Service) grant(ctx context.Context, id string, amount Micros, key string) (replayed bool, err error) {
	credit := s.credit(id, amount)
	credit.audited = true
	_, err = s.post(ctx, Caller{}, credit, func(tx storage.Tx) error {
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
	if errors.Is(err, errGranted) {
		return true, nil
	}
	return false, err
}
