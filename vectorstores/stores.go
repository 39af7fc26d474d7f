package vectorstores

import (
	"context"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// NewStore is what a store is made of.
type NewStore struct {
	Name, Description string
	Files             []string // IDs of files to put into it, up to [MaxCreate]
	Chunking          Chunking // of those
	ExpiryDays        int      // 0: never
	Metadata          map[string]string
}

// Update is what is to be changed of a store. nil leaves a field as it is.
type Update struct {
	Name       *string
	ExpiryDays *int // 0: never
	Metadata   *map[string]string
}

func checkNames(name, description string) error {
	if utf8.RuneCountInString(name) > MaxName {
		return fault.Invalidf("name", "name must have at most %d characters.", MaxName)
	}
	if utf8.RuneCountInString(description) > 4*MaxName {
		return fault.Invalidf("description", "description must have at most %d characters.", 4*MaxName)
	}
	return nil
}

func checkExpiry(days int) error {
	if days < 0 || days > MaxExpiryDays {
		return fault.Invalidf("expires_after.days", "expires_after.days must be between 1 and %d.", MaxExpiryDays)
	}
	return nil
}

// Create makes a store. The error is Invalid for what is out of bounds, and NotFound
// for a file that the organization does not have.
func (s *Service) Create(ctx context.Context, caller accounts.Caller, n NewStore) (Store, error) {
	err := checkNames(n.Name, n.Description)
	if err == nil {
		err = checkExpiry(n.ExpiryDays)
	}
	if err == nil {
		err = generation.CheckMetadata(n.Metadata)
	}
	if err == nil && len(n.Files) > MaxCreate {
		err = fault.Invalidf("file_ids", "file_ids must have at most %d files.", MaxCreate)
	}
	added := make([]NewFile, len(n.Files))
	for i, id := range n.Files {
		added[i] = NewFile{ID: id, Chunking: n.Chunking}
	}
	if err == nil {
		err = s.checkFiles(ctx, caller, added, "file_ids")
	}
	if err != nil {
		return Store{}, err
	}
	ns := caller.Namespace()
	if err := s.organizations.Add(ctx, ns); err != nil {
		return Store{}, err
	}
	now := s.o.Now().Unix()
	id := s.o.NewID("vs")
	var r *storeRecord
	err = s.o.Store.Update(ctx, ns, func(tx storage.Tx) error {
		r = &storeRecord{Name: n.Name, Description: n.Description, Created: now, Active: now, ExpiryDays: n.ExpiryDays, Metadata: n.Metadata}
		if err := s.attach(tx, caller, id, r, added, ""); err != nil {
			return err
		}
		if err := r.schedule(tx, id); err != nil {
			return err
		}
		if err := r.set(tx, id); err != nil {
			return err
		}
		return caller.Claim.Did(tx, id)
	})
	if err != nil {
		return Store{}, err
	}
	s.look()
	return r.store(id, now), nil
}

// schedule has the store looked at when it expires.
func (r *storeRecord) schedule(tx storage.Tx, id string) error {
	if r.ExpiryDays == 0 {
		return nil
	}
	return tx.Set(expiryKey(r.expiresAt(), id), nil)
}

// Get returns a store. The error is NotFound.
func (s *Service) Get(ctx context.Context, caller accounts.Caller, id string) (store Store, err error) {
	err = s.o.Store.View(ctx, caller.Namespace(), func(tx storage.Tx) error {
		r, err := getStore(tx, id)
		store = r.store(id, s.o.Now().Unix())
		return err
	})
	return store, err
}

// List returns a page of the organization's stores, up to [MaxPage].
func (s *Service) List(ctx context.Context, caller accounts.Caller, p page.Params) (result page.Page[Store], err error) {
	if p, err = page.Within(p, MaxPage, "vs"); err != nil {
		return result, err
	}
	var after []byte
	if p.After != "" {
		after = storeRecordKey(p.After)
	}
	now := s.o.Now().Unix()
	err = s.o.Store.View(ctx, caller.Namespace(), func(tx storage.Tx) error {
		result, err = page.Read(tx, page.Range(p, []byte(storePrefix), after), p.Limit, func(e storage.Entry) (Store, bool, error) {
			var r storeRecord
			err := decode(e.Value, &r)
			return r.store(string(e.Key[len(storePrefix):]), now), true, err
		})
		return err
	})
	return result, err
}

// Update changes a store. The error is NotFound, and Invalid for what is out of bounds
// or a store that has expired.
func (s *Service) Update(ctx context.Context, caller accounts.Caller, id string, u Update) (store Store, err error) {
	if u.Name != nil {
		err = checkNames(*u.Name, "")
	}
	if err == nil && u.ExpiryDays != nil {
		err = checkExpiry(*u.ExpiryDays)
	}
	if err == nil && u.Metadata != nil {
		err = generation.CheckMetadata(*u.Metadata)
	}
	if err != nil {
		return Store{}, err
	}
	ns := caller.Namespace()
	if err := s.organizations.Add(ctx, ns); err != nil {
		return Store{}, err
	}
	now := s.o.Now().Unix()
	err = s.o.Store.Update(ctx, ns, func(tx storage.Tx) error {
		r, err := s.live(tx, id)
		if err != nil {
			return err
		}
		if u.Name != nil {
			r.Name = *u.Name
		}
		if u.Metadata != nil {
			r.Metadata = *u.Metadata
		}
		if u.ExpiryDays != nil {
			r.ExpiryDays, r.Active = *u.ExpiryDays, now
			if err := r.schedule(tx, id); err != nil {
				return err
			}
		}
		store = r.store(id, now)
		return r.set(tx, id)
	})
	return store, err
}

// Delete removes a store: nothing of it is found from now on. Its chunks are removed in
// the background; its files stay.
func (s *Service) Delete(ctx context.Context, caller accounts.Caller, id string) error {
	ns := caller.Namespace()
	if err := s.organizations.Add(ctx, ns); err != nil {
		return err
	}
	err := s.o.Store.Update(ctx, ns, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		if _, err := getStore(tx, id); err != nil {
			return err
		}
		if err := tx.Delete(storeRecordKey(id)); err != nil {
			return err
		}
		return tx.Set(work{kind: dropping, store: id}.key(), nil)
	})
	if err == nil {
		s.look()
	}
	return err
}
