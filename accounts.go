package svc

import (
	"context"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
)

// Bootstrap makes a new store usable: it sees to it that the key is accepted,
// for an organization named default that is created with 1,000 dollars of
// credits. Without a key it makes one if the store has none yet, and returns it:
// it cannot be read again.
func (s *Service) Bootstrap(ctx context.Context, key string) (created string, err error) {
	return s.accounts.Bootstrap(ctx, key)
}

// Authenticate returns who a bearer key belongs to. The errors are those of the
// spec's section Authentication: Unauthenticated for a key that is missing or
// unknown, Denied for one without an organization or of a suspended one, and
// Unavailable where the lookup failed.
func (s *Service) Authenticate(ctx context.Context, key string) (Caller, error) {
	return s.accounts.Authenticate(ctx, key)
}

// Admit counts one request of a caller against its organization's limit and
// returns what is left of its limits. The error is RateLimited. Package httpapi
// calls it for each request; the limit on tokens is part of every operation that
// calls a model.
func (s *Service) Admit(caller Caller) (accounts.Quotas, error) {
	return s.accounts.Admit(caller)
}

// Afford returns nil where a caller's organization has credits and tokens left,
// and otherwise the NoCredits or RateLimited error that every operation which
// calls a model returns. Package httpapi asks before it decodes a body.
func (s *Service) Afford(ctx context.Context, caller Caller) error {
	return s.accounts.Afford(ctx, caller)
}

// CallerFor returns a caller that acts for an organization without a key, for
// programs that embed the service. The error is NotFound or Denied.
func (s *Service) CallerFor(ctx context.Context, organization string) (Caller, error) {
	return s.accounts.CallerFor(ctx, organization)
}

// LocalCaller returns a caller for a program that embeds the service for itself:
// one that acts for the organization default, which it creates if there is none
// yet, with 1,000 dollars of credits unless the program has an accounting of its
// own.
func (s *Service) LocalCaller(ctx context.Context) (Caller, error) {
	caller, err := s.CallerFor(ctx, DefaultOrganization)
	if !fault.Is(err, fault.NotFound) {
		return caller, err
	}
	if err := s.accounts.EnsureDefault(ctx); err != nil {
		return Caller{}, err
	}
	return s.CallerFor(ctx, DefaultOrganization)
}
