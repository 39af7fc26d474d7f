package accounts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// APIKey is what is known of a key without the key itself. Its JSON encoding is
// the one that the administration interface shows.
type APIKey struct {
	ID             string   // key_…
	OrganizationID string   // empty for a key without an organization, which may do nothing
	Name           string   // may be empty
	Models         []string // IDs of the models it may use, nil for every model
	Prefix         string   // how the key begins, to tell keys apart
	CreatedAt      int64    // Unix seconds
	LastUsedAt     int64    // Unix seconds, 0 for never; up to two minutes late where another process saw it

	KeyLimits
	Spent Micros // in the period of the budget, where there is one

	UnknownFields  UnknownFields // RefuseUnknown or empty
	StoreDecisions bool          // where a request does not say otherwise
	CreatedBy      string        // see [NewKey]

	// Secret is the key itself. Only CreateKey's answer has it, because only its
	// hash is stored.
	Secret string
}

// NewKey is what a key is created with. All of it is optional, but a key without
// an organization may do nothing.
type NewKey struct {
	OrganizationID string   `json:"organization_id"`
	Name           string   `json:"name"`
	Models         []string `json:"models"` // 1 to 1,000 IDs; nil for every model
	KeyLimits
	UnknownFields  UnknownFields `json:"unknown_fields,omitempty"`
	StoreDecisions bool          `json:"store_decisions,omitempty"`

	// CreatedBy is the person whose key it is, by an ID that the program chooses, at most
	// 1,024 bytes; empty for one of the administration.
	CreatedBy string `json:"created_by,omitempty"`
}

// KeyUpdate is what to change of a key; nil leaves a field as it is. What it has
// spent in a period counts against a budget that is set later in it.
type KeyUpdate struct {
	Name              *string `json:"name,omitempty"`
	RequestsPerMinute *int    `json:"requests_per_minute,omitempty"`
	TokensPerMinute   *int    `json:"tokens_per_minute,omitempty"`
	Budget            *Micros `json:"budget,omitempty"`
	BudgetPeriod      *Period `json:"budget_period,omitempty"`

	UnknownFields  *UnknownFields `json:"unknown_fields,omitempty"`
	StoreDecisions *bool          `json:"store_decisions,omitempty"`
}

// keyHash is the SHA-256 hash of a key, by which it is found. Keys carry 256
// random bits, so that a plain hash is as good as a slow one, and looking one up
// compares hashes only, whose timing tells nothing about any key.
type keyHash [sha256.Size]byte

func hashOf(secret string) keyHash { return sha256.Sum256([]byte(secret)) }

// keyRecord is what is stored of a key.
type keyRecord struct {
	ID             string   `json:"id"`
	OrganizationID string   `json:"organization_id,omitempty"`
	Name           string   `json:"name,omitempty"`
	Models         []string `json:"models"`
	Prefix         string   `json:"prefix"`
	CreatedAt      int64    `json:"created_at"`
	Hash           []byte   `json:"hash"`
	limitsRecord
	UnknownFields  UnknownFields `json:"unknown_fields,omitempty"`
	StoreDecisions bool          `json:"store_decisions,omitempty"`
	CreatedBy      string        `json:"created_by,omitempty"`
}

// limitsRecord is what is stored of a key's KeyLimits, beside the rest of the key.
type limitsRecord struct {
	RequestsPerMinute int    `json:"requests_per_minute,omitempty"`
	TokensPerMinute   int    `json:"tokens_per_minute,omitempty"`
	Budget            Micros `json:"budget,omitempty"`
	BudgetPeriod      Period `json:"budget_period,omitempty"`
}

// MarshalJSON writes the key as the administration interface shows it.
func (k APIKey) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID             string   `json:"id"`
		Object         string   `json:"object"`
		OrganizationID *string  `json:"organization_id"`
		Name           string   `json:"name"`
		Models         []string `json:"models"`
		Prefix         string   `json:"prefix"`
		CreatedAt      int64    `json:"created_at"`
		LastUsedAt     *int64   `json:"last_used_at"`
		KeyLimits
		Spent          *Micros       `json:"budget_spent,omitempty"`
		UnknownFields  UnknownFields `json:"unknown_fields,omitempty"`
		StoreDecisions bool          `json:"store_decisions,omitempty"`
		CreatedBy      string        `json:"created_by,omitempty"`
		Secret         string        `json:"key,omitempty"`
	}{
		k.ID, "api_key", orNull(k.OrganizationID), k.Name, k.Models, k.Prefix,
		k.CreatedAt, orNull(k.LastUsedAt), k.KeyLimits, k.shownSpent(), k.UnknownFields, k.StoreDecisions, k.CreatedBy, k.Secret,
	})
}

// shownSpent is what was spent of a budget; nil without one.
func (k APIKey) shownSpent() *Micros {
	if k.Budget == 0 {
		return nil
	}
	return &k.Spent
}

// orNull returns a pointer that JSON writes as v, or as null where v is zero.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// The bounds of a key's list of models.
const (
	maxModels  = 1000
	maxModelID = 256 // bytes
)

func checkModels(models []string) error {
	if models != nil && (len(models) == 0 || len(models) > maxModels) {
		return fault.Invalidf("models", "models must be null or name 1 to %d models.", maxModels)
	}
	for _, id := range models {
		if id == "" || len(id) > maxModelID {
			return fault.Invalidf("models", "A model ID must be 1 to %d bytes.", maxModelID)
		}
	}
	return nil
}

// maxCreatedBy is the length in bytes of the longest ID of a key's person.
const maxCreatedBy = 1024

// secretPrefix begins every key that the service makes.
const secretPrefix = "sk-svc-"

// newSecret returns a fresh key with 256 random bits.
func newSecret() string {
	var random [32]byte
	rand.Read(random[:])
	return secretPrefix + base64.RawURLEncoding.EncodeToString(random[:])
}

// maxSecret is the length in bytes of the longest key that an operator can choose.
const maxSecret = 256

// wellFormed reports whether a text can be a key at all: 1 to 256 visible ASCII
// characters. It is wider than the form of the service's own keys because an
// operator may choose one.
func wellFormed(secret string) bool {
	if secret == "" || len(secret) > maxSecret {
		return false
	}
	for i := range len(secret) {
		if secret[i] <= ' ' || secret[i] > '~' {
			return false
		}
	}
	return true
}

// shownPrefix returns the beginning of a key that tells it from others and
// gives nothing of its strength away.
func shownPrefix(secret string) string { return secret[:min(12, len(secret)/4)] }

// CreateKey creates a key and returns it with its Secret, which cannot be read
// again. The error is Invalid where a field is out of bounds, and NotFound where
// there is no such organization.
func (s *Service) CreateKey(ctx context.Context, n NewKey) (APIKey, error) {
	if len(n.Name) > 0 {
		if err := checkName(n.Name); err != nil {
			return APIKey{}, err
		}
	}
	if err := checkModels(n.Models); err != nil {
		return APIKey{}, err
	}
	if len(n.CreatedBy) > maxCreatedBy {
		return APIKey{}, fault.Invalidf("created_by", "created_by must be at most %d bytes.", maxCreatedBy)
	}
	var err error
	if n.KeyLimits, err = n.KeyLimits.checked(); err != nil {
		return APIKey{}, err
	}
	if n.UnknownFields, err = n.UnknownFields.checked(); err != nil {
		return APIKey{}, err
	}
	secret := newSecret()
	record := s.newKeyRecord(n, secret)
	err = s.store.Update(ctx, system, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		if n.OrganizationID != "" {
			if _, err := getOrganization(tx, n.OrganizationID); err != nil {
				return err
			}
		}
		if err := s.putKey(tx, record); err != nil {
			return err
		}
		return s.actor.Claim.Did(tx, record.ID)
	})
	if err != nil {
		return APIKey{}, err
	}
	key := record.show(0)
	key.Secret = secret
	return key, nil
}

func (s *Service) newKeyRecord(n NewKey, secret string) keyRecord {
	hash := hashOf(secret)
	return keyRecord{
		ID:             s.newID("key"),
		OrganizationID: n.OrganizationID,
		Name:           n.Name,
		Models:         n.Models,
		Prefix:         shownPrefix(secret),
		CreatedAt:      s.now().Unix(),
		Hash:           hash[:],
		limitsRecord:   limitsRecord(n.KeyLimits),
		UnknownFields:  n.UnknownFields,
		StoreDecisions: n.StoreDecisions,
		CreatedBy:      n.CreatedBy,
	}
}

// putKey writes a new key and the audit entry of its creation.
func (s *Service) putKey(tx storage.Tx, r keyRecord) error {
	if err := storage.SetJSON(tx, keyKey(r.ID), r); err != nil {
		return err
	}
	if err := tx.Set(hashKey(keyHash(r.Hash)), []byte(r.ID)); err != nil {
		return err
	}
	if r.OrganizationID != "" {
		if err := tx.Set([]byte(keysOf(r.OrganizationID)+r.ID), nil); err != nil {
			return err
		}
	}
	return s.record(tx, ActionCreateKey, r.ID, NewKey{r.OrganizationID, r.Name, r.Models, KeyLimits(r.limitsRecord), r.UnknownFields, r.StoreDecisions, r.CreatedBy})
}

// show returns the key as it is shown. lastUsed is in Unix seconds.
func (r keyRecord) show(lastUsed int64) APIKey {
	return APIKey{
		ID:             r.ID,
		OrganizationID: r.OrganizationID,
		Name:           r.Name,
		Models:         r.Models,
		Prefix:         r.Prefix,
		CreatedAt:      r.CreatedAt,
		LastUsedAt:     lastUsed,
		KeyLimits:      KeyLimits(r.limitsRecord),
		UnknownFields:  r.UnknownFields,
		StoreDecisions: r.StoreDecisions,
		CreatedBy:      r.CreatedBy,
	}
}

// Keys returns a page of an organization's keys, or of all keys where the ID is
// empty: 1 to 1,000, by the time of their creation. An organization that does
// not exist has none.
func (s *Service) Keys(ctx context.Context, organization string, p page.Params) (page.Page[APIKey], error) {
	prefix := keyPrefix
	if organization != "" {
		prefix = keysOf(organization)
	}
	if len(prefix) > storage.MaxKey/2 {
		return page.Page[APIKey]{Items: []APIKey{}}, nil
	}
	result, err := listSystem(ctx, s, prefix, "key", p, func(tx storage.Tx, e storage.Entry) (APIKey, error) {
		return getKey(tx, string(e.Key[len(prefix):]))
	})
	for i := range result.Items {
		if err := s.setUse(ctx, &result.Items[i]); err != nil {
			return page.Page[APIKey]{}, err
		}
	}
	return result, err
}

// getKeyRecord reads what is stored of a key, or returns NotFound.
func getKeyRecord(tx storage.Tx, id string) (record keyRecord, err error) {
	err = storage.GetJSON(tx, keyKey(id), &record)
	if errors.Is(err, storage.ErrNotFound) {
		err = fault.Missing(CodeKeyNotFound, "API key", id)
	}
	return record, err
}

// getKey reads a key.
func getKey(tx storage.Tx, id string) (APIKey, error) {
	record, err := getKeyRecord(tx, id)
	if err != nil {
		return APIKey{}, err
	}
	used, err := tx.Get(lastUsedKey(id))
	if errors.Is(err, storage.ErrNotFound) {
		return record.show(0), nil
	}
	if err != nil {
		return APIKey{}, err
	}
	return record.show(int64(binary.BigEndian.Uint64(used))), nil
}

// Key returns a key, or NotFound.
func (s *Service) Key(ctx context.Context, id string) (APIKey, error) {
	var key APIKey
	err := s.store.View(ctx, system, func(tx storage.Tx) (err error) {
		key, err = getKey(tx, id)
		return err
	})
	if err != nil {
		return APIKey{}, err
	}
	return key, s.setUse(ctx, &key)
}

// setUse completes a key with what is not written yet: when it was used, and what
// it has spent of its budget.
func (s *Service) setUse(ctx context.Context, k *APIKey) (err error) {
	k.LastUsedAt = s.used.since(k.ID, k.LastUsedAt)
	if k.Budget > 0 && k.OrganizationID != "" {
		k.Spent, err = s.spent(ctx, k.OrganizationID, k.ID, k.BudgetPeriod, s.now())
	}
	return err
}

// UpdateKey changes what u names and returns the key as it is then. It holds for
// every call that begins after it returned. The error is NotFound, or Invalid where
// a field is out of bounds.
func (s *Service) UpdateKey(ctx context.Context, id string, u KeyUpdate) (APIKey, error) {
	defer s.forget() // after an error, too: nobody may know whether it was written
	var key APIKey
	err := s.store.Update(ctx, system, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		record, err := getKeyRecord(tx, id)
		if err != nil {
			return err
		}
		if err := record.change(u); err != nil {
			return err
		}
		if err := storage.SetJSON(tx, keyKey(id), record); err != nil {
			return err
		}
		if key, err = getKey(tx, id); err != nil {
			return err
		}
		if err := s.record(tx, ActionUpdateKey, id, u); err != nil {
			return err
		}
		return s.cluster.InvalidateCaches(tx)
	})
	if err != nil {
		return APIKey{}, err
	}
	return key, s.setUse(ctx, &key)
}

// change sets what an update names, or returns an Invalid error.
func (r *keyRecord) change(u KeyUpdate) (err error) {
	set(&r.Name, u.Name)
	set(&r.RequestsPerMinute, u.RequestsPerMinute)
	set(&r.TokensPerMinute, u.TokensPerMinute)
	set(&r.Budget, u.Budget)
	set(&r.BudgetPeriod, u.BudgetPeriod)
	set(&r.UnknownFields, u.UnknownFields)
	set(&r.StoreDecisions, u.StoreDecisions)
	if r.UnknownFields, err = r.UnknownFields.checked(); err != nil {
		return err
	}
	if r.Name != "" {
		if err := checkName(r.Name); err != nil {
			return err
		}
	}
	limits, err := KeyLimits(r.limitsRecord).checked()
	r.limitsRecord = limitsRecord(limits)
	return err
}

// RevokeKey deletes a key. No call that begins after it returned is
// authenticated by it. The error is NotFound where there is no such key.
func (s *Service) RevokeKey(ctx context.Context, id string) error {
	defer s.forget() // after an error, too: nobody may know whether it was written
	return s.store.Update(ctx, system, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		record, err := getKeyRecord(tx, id)
		if err != nil {
			return err
		}
		keys := [][]byte{keyKey(id), hashKey(keyHash(record.Hash)), lastUsedKey(id)}
		if record.OrganizationID != "" {
			keys = append(keys, []byte(keysOf(record.OrganizationID)+id))
		}
		for _, key := range keys {
			if err := tx.Delete(key); err != nil {
				return err
			}
		}
		if err := s.record(tx, ActionRevokeKey, id, nil); err != nil {
			return err
		}
		return s.cluster.InvalidateCaches(tx)
	})
}
