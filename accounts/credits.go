package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
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
// transaction, and stand in the audit log if and only if they were added. Without a
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
	if replayed, err = s.granted(ctx, id, amount, key); err == nil && !replayed {
		replayed, err = s.grant(ctx, id, amount, key)
	}
	if err != nil {
		return o, false, err
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

// pending is what is stored of credits that are being added. The ledger and the
// audit log are in different namespaces, which no transaction has at once, so that
// there are three: one says what is to be done, the second adds the credits and
// says so beside them, the third puts it into the audit log in place of what the
// first wrote. Where the process dies between them, [Service.SettleGrants] does
// what is left.
type pending struct {
	Organization string `json:"organization"`
	Amount       Micros `json:"amount"`
	By           string `json:"by,omitempty"`
	CreatedAt    int64  `json:"created_at"`
}

// grant adds credits with a key, see pending. It says whether the key was used
// meanwhile.
func (s *Service) grant(ctx context.Context, id string, amount Micros, key string) (replayed bool, err error) {
	grant := s.newID("grant")
	err = s.store.Update(ctx, system, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		return storage.SetJSON(tx, pendingKey(grant), pending{id, amount, s.actor.by(), s.now().Unix()})
	})
	if err != nil {
		return false, err
	}
	errGranted := errors.New("granted")
	_, err = s.post(ctx, Caller{}, s.credit(id, amount), func(tx storage.Tx) error {
		if added, err := decide(tx, grant, true); err != nil {
			return err
		} else if !added {
			return errSettled
		}
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
	// The credits are added or not: a request that has ended changes nothing of it.
	settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), backgroundTimeout)
	defer cancel()
	if failed := s.settleGrant(settling, grant); failed != nil {
		s.log.ErrorContext(ctx, "accounts: a grant of credits is not in the audit log yet, will be tried again", "organization", id, "err", failed)
	}
	if err == errGranted {
		return true, nil
	}
	return false, err
}

// errSettled is the error of credits that took so long that the audit log already
// says they were not added.
var errSettled = &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable, Message: "The credits were not added. Try again.", RetryAfter: time.Second}

// decide says whether the credits of a grant are added, which is as add says where
// it was not decided before.
func decide(tx storage.Tx, grant string, add bool) (added bool, err error) {
	err = storage.GetJSON(tx, decidedKey(grant), &added)
	if !errors.Is(err, storage.ErrNotFound) {
		return added, err
	}
	return add, storage.SetJSON(tx, decidedKey(grant), add)
}

// settleAfter is how long after its beginning a grant is looked after by others.
const settleAfter = time.Minute

// SettleGrants puts grants of credits into the audit log that were interrupted
// between the two. It is called now and then.
func (s *Service) SettleGrants(ctx context.Context) error {
	before := s.now().Add(-settleAfter).Unix()
	var due []string
	err := s.store.View(ctx, system, func(tx storage.Tx) error {
		due = nil
		r := storage.Prefix([]byte(pendingPrefix))
		r.Limit = maxPage
		for e, err := range tx.Scan(r) {
			if err != nil {
				return err
			}
			var p pending
			if err := json.Unmarshal(e.Value, &p); err != nil {
				return err
			}
			if p.CreatedAt <= before {
				due = append(due, strings.TrimPrefix(string(e.Key), pendingPrefix))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var failed []error
	for _, grant := range due {
		if err := s.settleGrant(ctx, grant); err != nil {
			failed = append(failed, fmt.Errorf("grant %s: %w", grant, err))
		}
	}
	return errors.Join(failed...)
}

// settleGrant puts a grant into the audit log where its credits were added. Where they
// were not they never are.
func (s *Service) settleGrant(ctx context.Context, grant string) error {
	var p pending
	err := s.store.View(ctx, system, func(tx storage.Tx) error {
		p = pending{}
		return storage.GetJSON(tx, pendingKey(grant), &p)
	})
	if errors.Is(err, storage.ErrNotFound) {
		return nil // another one was faster
	}
	if err != nil {
		return err
	}
	added := false
	err = s.store.Update(ctx, storage.Namespace(p.Organization), func(tx storage.Tx) (err error) {
		storage.UseReserve(tx)
		added, err = decide(tx, grant, false)
		return err
	})
	if err != nil {
		return err
	}
	err = s.store.Update(ctx, system, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		if _, err := tx.Get(pendingKey(grant)); errors.Is(err, storage.ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		if added {
			if err := s.As(Actor{By: p.By}).record(tx, ActionAddCredits, p.Organization, map[string]Micros{"amount": p.Amount}); err != nil {
				return err
			}
		}
		return tx.Delete(pendingKey(grant))
	})
	if err != nil || !added {
		return err // that they were not is for whoever may still be about to add them
	}
	return s.store.Update(ctx, storage.Namespace(p.Organization), func(tx storage.Tx) error {
		storage.UseReserve(tx)
		return tx.Delete(decidedKey(grant))
	})
}
