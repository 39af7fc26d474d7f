package accounts

import (
	"context"
	"errors"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// The organization that [Service.Bootstrap] makes.
const (
	DefaultOrganization        = "org_default" // its ID, always the same
	defaultOrganizationName    = "default"
	defaultOrganizationCredits = 1000 * Dollar
	defaultKeyName             = "default"
)

// Bootstrap makes a new store usable. With a key it sees to it that the key is
// accepted, for the organization default unless it is known already. Without one
// it does the same with a new key where the store has no key at all, and returns
// that key, which cannot be read again; otherwise it returns "". Where the
// organization does not exist it is created with 1,000 dollars of credits, which
// it is given once, however many processes start at the same time. The error is
// Invalid where the key cannot be one: 1 to 256 visible ASCII characters.
func (s *Service) Bootstrap(ctx context.Context, key string) (created string, err error) {
	if key != "" && !wellFormed(key) {
		return "", fault.Invalidf("api_key", "An API key must be 1 to %d visible ASCII characters.", maxSecret)
	}
	keys := storage.Prefix([]byte(hashPrefix))
	secret := key
	if key != "" {
		keys = storage.Prefix(hashKey(hashOf(key)))
	} else {
		secret = newSecret()
	}
	missing := false
	err = s.store.View(ctx, system, func(tx storage.Tx) (err error) {
		missing, err = none(tx, keys)
		return err
	})
	if err != nil || !missing {
		return "", err
	}
	if err := s.EnsureDefault(ctx); err != nil {
		return "", err
	}
	record := s.newKeyRecord(NewKey{OrganizationID: DefaultOrganization, Name: defaultKeyName}, secret)
	err = s.store.Update(ctx, system, func(tx storage.Tx) (err error) {
		storage.UseReserve(tx)
		if missing, err = none(tx, keys); err != nil || !missing {
			return err
		}
		return s.putKey(tx, record)
	})
	if err != nil || !missing || key != "" {
		return "", err
	}
	return secret, nil
}

// EnsureDefault creates the organization default, with its credits and without
// a key, where it does not exist.
func (s *Service) EnsureDefault(ctx context.Context) error {
	missing := false
	err := s.store.View(ctx, system, func(tx storage.Tx) error {
		err := absent(tx, DefaultOrganization)
		missing = err == nil
		if fault.Is(err, fault.Conflict) {
			return nil
		}
		return err
	})
	if err != nil || !missing {
		return err
	}
	// The credits come first, as in CreateOrganization.
	if err := s.grantFirst(ctx); err != nil {
		return err
	}
	return s.store.Update(ctx, system, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		err := absent(tx, DefaultOrganization)
		if fault.Is(err, fault.Conflict) {
			return nil
		}
		if err != nil {
			return err
		}
		return s.putDefault(tx)
	})
}

// none reports whether a range has no keys.
func none(tx storage.Tx, r storage.Range) (bool, error) {
	r.KeysOnly, r.Limit = true, 1
	for _, err := range tx.Scan(r) {
		return false, err
	}
	return true, nil
}

// grantFirst gives the organization default its credits, unless its ledger has
// an entry already.
func (s *Service) grantFirst(ctx context.Context) error {
	errGranted := errors.New("granted")
	_, err := s.post(ctx, Caller{}, s.credit(DefaultOrganization, defaultOrganizationCredits), func(tx storage.Tx) error {
		empty, err := none(tx, storage.Range{Start: checkpointKey(), End: storage.After([]byte(entryPrefix))})
		if err == nil && !empty {
			err = errGranted
		}
		return err
	})
	if errors.Is(err, errGranted) {
		// The credits may have come after the balance was read.
		s.ledger(DefaultOrganization).loaded.Store(false)
		return nil
	}
	return err
}

// putDefault writes the organization default and the audit entry of its creation.
func (s *Service) putDefault(tx storage.Tx) error {
	record := organizationRecord{
		ID:        DefaultOrganization,
		Name:      defaultOrganizationName,
		Status:    Active,
		CreatedAt: s.now().Unix(),
	}
	if err := storage.SetJSON(tx, organizationKey(record.ID), record); err != nil {
		return err
	}
	return s.record(tx, ActionCreateOrganization, record.ID, NewOrganization{
		Name:    record.Name,
		Credits: defaultOrganizationCredits,
	})
}
