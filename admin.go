package svc

import (
	"context"
	"io"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/storage/backup"
)

// The administration of organizations, keys and credits. These methods take no
// caller: who may use them is for the program to decide that has the Service.
// Each change they make is an entry of the audit log, which says who made it where
// [Service.As] did.

// As returns the service for one actor, whom the audit log names with the changes
// that are made with it. It is the same service all the same: one of them is
// closed.
func (s *Service) As(actor accounts.Actor) *Service { return &Service{s.state, s.accounts.As(actor)} }

// CreateOrganization creates an active organization with its first credits. The
// error is Invalid where a field is out of bounds.
func (s *Service) CreateOrganization(ctx context.Context, n accounts.NewOrganization) (accounts.Organization, error) {
	if err := s.checkPolicies(n.Policies); err != nil {
		return accounts.Organization{}, err
	}
	return s.accounts.CreateOrganization(ctx, n)
}

// Organization returns an organization with its balance. The error is NotFound.
func (s *Service) Organization(ctx context.Context, id string) (accounts.Organization, error) {
	return s.accounts.Organization(ctx, id)
}

// Organizations returns a page of all organizations, 1 to 1,000, by the time of
// their creation.
func (s *Service) Organizations(ctx context.Context, p Page) (List[accounts.Organization], error) {
	return s.accounts.Organizations(ctx, p)
}

// UpdateOrganization changes what u names. It holds for every call that begins
// after it returned. The error is NotFound or Invalid.
func (s *Service) UpdateOrganization(ctx context.Context, id string, u accounts.OrganizationUpdate) (accounts.Organization, error) {
	if u.Policies != nil {
		if err := s.checkPolicies(*u.Policies); err != nil {
			return accounts.Organization{}, err
		}
	}
	return s.accounts.UpdateOrganization(ctx, id, u)
}

// DeleteOrganization removes an organization with its keys and everything that is
// stored for it, and returns when it has counted that nothing is left. The error
// is NotFound.
func (s *Service) DeleteOrganization(ctx context.Context, id string) error {
	return s.accounts.DeleteOrganization(ctx, id)
}

// AddCredits adds an amount to an organization's balance, or takes it away where
// it is negative. The error is NotFound or Invalid.
func (s *Service) AddCredits(ctx context.Context, id string, amount accounts.Micros) (accounts.Organization, error) {
	return s.accounts.AddCredits(ctx, id, amount)
}

// AddCreditsOnce is AddCredits for a caller that may ask again with the same key,
// and says whether the amount was added before. The error is NotFound, Invalid,
// or a Conflict where the key was used for another amount.
func (s *Service) AddCreditsOnce(ctx context.Context, id string, amount accounts.Micros, key string) (o accounts.Organization, replayed bool, err error) {
	return s.accounts.AddCreditsOnce(ctx, id, amount, key)
}

// Usage returns a page of what an organization was charged for, 1 to 1,000
// records, in the order of the calls. The error is NotFound or Invalid.
func (s *Service) Usage(ctx context.Context, organization string, p Page) (List[accounts.Entry], error) {
	return s.accounts.Usage(ctx, organization, p)
}

// Ledger is Usage with the credits that were added and taken away.
func (s *Service) Ledger(ctx context.Context, organization string, p Page) (List[accounts.Entry], error) {
	return s.accounts.Ledger(ctx, organization, p)
}

// UsageTotals returns what an organization used in a month, written as 2026-11, in
// UTC, by day, model and key; or, where the ID is empty, what all of them used, by
// day, model and organization. However much was used, its work is bounded. The
// error is NotFound or Invalid.
func (s *Service) UsageTotals(ctx context.Context, organization, month string) (accounts.Totals, error) {
	return s.accounts.Totals(ctx, organization, month)
}

// CreateKey creates an API key and returns it with its Secret, which cannot be
// read again. The error is Invalid, or NotFound where there is no such
// organization.
func (s *Service) CreateKey(ctx context.Context, n accounts.NewKey) (accounts.APIKey, error) {
	return s.accounts.CreateKey(ctx, n)
}

// Keys returns a page of an organization's keys, or of all keys where the ID is
// empty: 1 to 1,000, by the time of their creation.
func (s *Service) Keys(ctx context.Context, organization string, p Page) (List[accounts.APIKey], error) {
	return s.accounts.Keys(ctx, organization, p)
}

// Key returns an API key, without its Secret. The error is NotFound.
func (s *Service) Key(ctx context.Context, id string) (accounts.APIKey, error) {
	return s.accounts.Key(ctx, id)
}

// UpdateKey changes what u names of a key, such as its limits and its budget. It
// holds for every call that begins after it returned. The error is NotFound or
// Invalid.
func (s *Service) UpdateKey(ctx context.Context, id string, u accounts.KeyUpdate) (accounts.APIKey, error) {
	return s.accounts.UpdateKey(ctx, id, u)
}

// RevokeKey deletes an API key. No call that begins after it returned is
// authenticated by it. The error is NotFound.
func (s *Service) RevokeKey(ctx context.Context, id string) error {
	return s.accounts.RevokeKey(ctx, id)
}

// AuditLog returns a page of the administrative changes, 1 to 1,000, by the time
// they were made.
func (s *Service) AuditLog(ctx context.Context, p Page) (List[accounts.AuditEntry], error) {
	return s.accounts.AuditLog(ctx, p)
}

// Replicas returns how many processes are alive on the store, this one included.
func (s *Service) Replicas() int { return s.cluster.Members() }

// StoreSize returns the bytes that the store takes on disk, 0 where it does not
// know.
func (s *Service) StoreSize() (int64, error) { return s.store.Size() }

// Backup writes a backup of everything that the service keeps, as it is at the
// moment; requests go on meanwhile. Package storage/backup has the format, and
// restores it. The error is [errors.ErrUnsupported], before anything is written,
// where the store cannot be read as a whole, Unavailable where the store failed on
// the way, or that of w.
func (s *Service) Backup(ctx context.Context, w io.Writer) error {
	return backup.Write(ctx, s.store, w)
}
