package accounts

import (
	"context"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// Accounting is what a program has in place of credits, ledgers and limits, where
// it has its own. Its methods are called concurrently.
type Accounting interface {
	// Admit counts a request and returns what is left of the caller's limits, the
	// zero value where there are none. The error refuses the request: RateLimited.
	// It is called for every request and must not wait for anything.
	Admit(c Caller) (Quotas, error)

	// Afford returns nil where the caller may have a model called, and otherwise
	// why not: NoCredits or RateLimited. It is called before every operation that
	// calls one.
	Afford(ctx context.Context, c Caller) error

	// Settle takes what a call has used, once for each, when it has ended in one
	// way or another and what it made is stored. ctx does not end with the request.
	// An error is logged: what was done stays done.
	Settle(ctx context.Context, c Caller, use Use) error
}

// Off is the [Accounting] of a program that needs none: everything is free and
// nothing is written.
type Off struct{}

// Admit admits everybody.
func (Off) Admit(Caller) (Quotas, error) { return Quotas{}, nil }

// Afford lets everybody.
func (Off) Afford(context.Context, Caller) error { return nil }

// Settle forgets it.
func (Off) Settle(context.Context, Caller, Use) error { return nil }

// chargeCustom calls the embedding program's Accounting instead of the built-in ledger.
func (s *Service) chargeCustom(ctx context.Context, c Caller, use Use, also func(storage.Tx) error) (Entry, error) {
	if also != nil {
		var refused error
		err := s.store.Update(ctx, c.Namespace(), func(tx storage.Tx) error {
			refused = also(tx)
			return refused
		})
		if refused != nil {
			return Entry{}, refused
		}
		if err != nil {
			return Entry{}, err
		}
	}
	if err := s.own.Settle(ctx, c, use); err != nil {
		s.log.ErrorContext(ctx, "accounts: the program's accounting did not take what a call used",
			"organization", c.Organization, "use", use, "err", fault.From(err))
	}
	return Entry{Organization: c.Organization, Key: c.Key, Type: EntryCharge, Use: use, CreatedAt: s.now().Unix()}, nil
}
