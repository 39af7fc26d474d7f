package accounts

import (
	"context"
	"errors"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/stored"
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
// it is given once. The error is Invalid where the key cannot be one: 1 to 256
// visible ASCII characters.
func (s *Service) Bootstrap(ctx context.Context, key string) (created string, err error) {
	if key != "" && !wellFormed(key) {
		return "", fault.Invalidf("api_key", "An API key must be 1 to %d visible ASCII characters.", maxSecret)
	}
	missing, err := s.keyMissing(ctx, key)
	if err != nil || !missing {
		return "", stored.Error(err)
	}
	// The credits come first, as in CreateOrganization.
	if err := s.grantFirst(ctx); err != nil {
		return "", err
	}
	if key == "" {
		created = newSecret()
		key = created
	}
	record := s.newKeyRecord(NewKey{OrganizationID: DefaultOrganization, Name: defaultKeyName}, key)
	err = s.store.Update(ctx, system, func(tx storage.Tx) error {
		_, err := getOrganization(tx, DefaultOrganization)
		if fault.Is(err, fault.NotFound) {
			err = s.putDefault(tx)
		}
		if err != nil {
			return err
		}
		return s.putKey(tx, record)
	})
	if err != nil {
		return "", stored.Error(err)
	}
	return created, nil
}

// keyMissing reports whether the key is unknown or, without one, whether the
// store has no key at all.
func (s *Service) keyMissing(ctx context.Context, key string) (missing bool, err error) {
	keys := storage.Prefix([]byte(hashPrefix))
	if key != "" {
		keys = storage.Prefix(hashKey(hashOf(key)))
	}
	keys.KeysOnly = true
	err = s.store.View(ctx, system, func(tx storage.Tx) error {
		missing = true
		for _, err := range tx.Scan(keys) {
			missing = false
			return err
		}
		return nil
	})
	return missing, err
}

// grantFirst gives the organization default its credits, unless its ledger has
// an entry already.
func (s *Service) grantFirst(ctx context.Context) error {
	errGranted := errors.New("granted")
	_, err := s.post(ctx, credit(DefaultOrganization, defaultOrganizationCredits), func(tx storage.Tx) error {
		for _, err := range tx.Scan(storage.Prefix([]byte(entryPrefix))) {
			if err != nil {
				return err
			}
			return errGranted
		}
		return nil
	})
	if errors.Is(err, errGranted) {
		return nil
	}
	return stored.Error(err)
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
