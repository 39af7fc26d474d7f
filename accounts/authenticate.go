package accounts

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

const (
	lookupTimeout = 5 * time.Second // of one key in the store
	lookupRetry   = time.Second     // when a client may try again after a failed one
	maxGrants     = 1 << 16         // keys that are remembered at once
	lastUsedEvery = time.Minute     // how exactly the last use of a key is known
	lastUsedBatch = 1000            // keys in one transaction
)

// grant is what one key may do, as it was when it was looked up.
type grant struct {
	caller  Caller
	refusal error        // why the key may do nothing, or nil
	touched atomic.Int64 // when its use was last noted, Unix seconds
}

// grants remembers keys that were found, by their hashes. Unknown keys are not
// remembered, so that nobody can fill it by guessing.
type grants struct {
	mu   sync.RWMutex
	byID map[keyHash]*grant // guarded by mu
}

func (g *grants) get(h keyHash) *grant {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.byID[h]
}

func (g *grants) put(h keyHash, found *grant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.byID) >= maxGrants {
		clear(g.byID)
	}
	g.byID[h] = found
}

// forget replaces the remembered keys by none. A lookup that read the store
// before the change remembers what it found among the replaced ones, where no
// later call looks.
func (s *Service) forget() { s.known.Store(&grants{byID: map[keyHash]*grant{}}) }

// forgetAll forgets keys and balances: others may have changed them, or the store
// lost what is remembered of them.
func (s *Service) forgetAll() {
	s.forget()
	s.ledgers.Range(func(_, l any) bool {
		l.(*ledger).loaded.Store(false)
		return true
	})
}

// Authenticate returns the caller that an API key stands for. The error is
// Unauthenticated (invalid_api_key) where the key is missing, malformed, unknown
// or revoked; Denied where it has no organization (access_denied) or a suspended
// one (org_suspended); and Unavailable (authorization_failed), to be retried,
// where the key could not be looked up. See Authentication in the spec.
func (s *Service) Authenticate(ctx context.Context, key string) (Caller, error) {
	if !wellFormed(key) {
		return Caller{}, errInvalidKey()
	}
	hash := hashOf(key)
	known := s.known.Load()
	g := known.get(hash)
	if g == nil || !s.cluster.CachesValid() {
		var err error
		if g, err = s.lookUp(ctx, hash); err != nil {
			return Caller{}, err
		}
		known.put(hash, g)
	}
	if g.refusal != nil {
		return Caller{}, g.refusal
	}
	now := s.now().Unix()
	if last := g.touched.Load(); now-last >= int64(lastUsedEvery/time.Second) && g.touched.CompareAndSwap(last, now) {
		s.used.note(g.caller.Key, now)
	}
	return g.caller, nil
}

func errInvalidKey() error {
	return &fault.Error{Kind: fault.Unauthenticated, Code: CodeInvalidKey, Message: "The API key is missing or invalid."}
}

// lookUp reads a key and its organization from the store.
func (s *Service) lookUp(ctx context.Context, hash keyHash) (*grant, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	var key keyRecord
	var organization organizationRecord
	err := s.store.View(ctx, system, func(tx storage.Tx) error {
		key, organization = keyRecord{}, organizationRecord{}
		id, err := tx.Get(hashKey(hash))
		if errors.Is(err, storage.ErrNotFound) {
			return errInvalidKey()
		}
		if err != nil {
			return err
		}
		return getGrant(tx, string(id), &key, &organization)
	})
	switch {
	case fault.Is(err, fault.Unauthenticated), errors.Is(err, context.Canceled):
		return nil, fault.From(err)
	case err != nil:
		return nil, &fault.Error{
			Kind:       fault.Unavailable,
			Code:       CodeAuthorizationFailed,
			Message:    "The API key could not be looked up. Try again.",
			RetryAfter: lookupRetry,
			Err:        err,
		}
	}
	g := &grant{caller: key.caller(organization), refusal: organization.refusal()}
	g.touched.Store(s.now().Add(-lastUsedEvery).Unix())
	return g, nil
}

// getGrant reads a key and its organization.
func getGrant(tx storage.Tx, id string, key *keyRecord, organization *organizationRecord) error {
	if err := storage.GetJSON(tx, keyKey(id), key); err != nil || key.OrganizationID == "" {
		return err
	}
	return storage.GetJSON(tx, organizationKey(key.OrganizationID), organization)
}

// caller returns the caller that the key stands for in its organization.
func (r keyRecord) caller(organization organizationRecord) Caller {
	c := organization.caller()
	c.Key, c.Models, c.KeyLimits = r.ID, r.Models, KeyLimits(r.limitsRecord)
	c.RefuseUnknown = c.RefuseUnknown || r.UnknownFields == RefuseUnknown
	c.StoreDecisions = c.StoreDecisions || r.StoreDecisions
	return c
}

// CallerForKey returns the caller that the key with an ID stands for, for work that
// goes on after the request that asked for it. Errors are those of
// [Service.Authenticate].
func (s *Service) CallerForKey(ctx context.Context, id string) (Caller, error) {
	var key keyRecord
	var organization organizationRecord
	err := s.store.View(ctx, system, func(tx storage.Tx) error {
		key, organization = keyRecord{}, organizationRecord{}
		return getGrant(tx, id, &key, &organization)
	})
	if errors.Is(err, storage.ErrNotFound) {
		return Caller{}, errInvalidKey()
	}
	if err == nil {
		err = organization.refusal()
	}
	if err != nil {
		return Caller{}, err
	}
	return key.caller(organization), nil
}

// caller returns the caller that acts for the organization itself.
func (r organizationRecord) caller() Caller {
	return Caller{
		Organization:      r.ID,
		ZeroDataRetention: r.ZeroDataRetention,
		RequestsPerMinute: r.RequestsPerMinute,
		TokensPerMinute:   r.TokensPerMinute,

		ConcurrentRequests: r.ConcurrentRequests,
		RefuseUnknown:      r.UnknownFields == RefuseUnknown,
		StoreDecisions:     r.StoreDecisions,
		Policies:           r.Policies,
	}
}

// refusal returns why nobody may act for the organization, or nil. The zero
// record is that of a key without an organization.
func (r organizationRecord) refusal() error {
	switch {
	case r.ID == "":
		return &fault.Error{Kind: fault.Denied, Code: CodeAccessDenied, Message: "The API key does not belong to an organization."}
	case r.Status != Active:
		return &fault.Error{Kind: fault.Denied, Code: CodeSuspended, Message: "The organization is suspended."}
	}
	return nil
}

// CallerFor returns the caller that acts for an organization without a key, for
// programs that embed the service. The error is NotFound where there is no such
// organization, and Denied (org_suspended) where it is suspended.
func (s *Service) CallerFor(ctx context.Context, organization string) (Caller, error) {
	var record organizationRecord
	err := s.store.View(ctx, system, func(tx storage.Tx) error {
		var err error
		record, err = getOrganization(tx, organization)
		return err
	})
	if err != nil {
		return Caller{}, err
	}
	if err := record.refusal(); err != nil {
		return Caller{}, err
	}
	return record.caller(), nil
}

// lastUsed holds when keys were used until the background goroutine writes it.
type lastUsed struct {
	mu    sync.Mutex
	times map[string]int64 // by key ID, Unix seconds; guarded by mu
}

func (u *lastUsed) note(key string, at int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.times == nil {
		u.times = map[string]int64{}
	}
	u.times[key] = max(at, u.times[key])
}

// since returns when a key was used, where that is not written yet, and otherwise
// what is.
func (u *lastUsed) since(key string, written int64) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return max(written, u.times[key])
}

func (u *lastUsed) take() map[string]int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	times := u.times
	u.times = nil
	return times
}

// flushLastUsed writes when keys were used. What could not be written is kept
// for the next time.
func (s *Service) flushLastUsed(ctx context.Context) error {
	times := s.used.take()
	for keys := range slices.Chunk(slices.Sorted(maps.Keys(times)), lastUsedBatch) {
		err := s.store.Update(ctx, system, func(tx storage.Tx) error {
			for _, id := range keys {
				if err := setLastUsed(tx, id, times[id]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			for id, at := range times {
				s.used.note(id, at)
			}
			return err
		}
	}
	return nil
}

// setLastUsed writes when a key was used, unless it was revoked since.
func setLastUsed(tx storage.Tx, id string, at int64) error {
	_, err := tx.Get(keyKey(id))
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.Set(lastUsedKey(id), binary.BigEndian.AppendUint64(nil, uint64(at)))
}
