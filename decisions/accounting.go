package decisions

import (
	"context"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/storage"
)

// accounting is what decisions are charged to: an [accounts.Service], or [free].
type accounting interface {
	Afford(ctx context.Context, c accounts.Caller) error
	AffordMore(ctx context.Context, c accounts.Caller, use accounts.Use) error
	Running(ctx context.Context, c accounts.Caller) (context.Context, func())
	Charge(ctx context.Context, c accounts.Caller, use accounts.Use, also func(storage.Tx) error) (accounts.Entry, error)
	ChargeCut(ctx context.Context, c accounts.Caller, use accounts.Use)
	Trace(c accounts.Caller, use accounts.Use, watch *accounts.Stopwatch) accounts.Trace
}

// free is the accounting of a service without accounts: nobody is charged, and nothing
// is stored with a charge.
type free struct{}

func (free) Afford(context.Context, accounts.Caller) error { return nil }

func (free) AffordMore(context.Context, accounts.Caller, accounts.Use) error { return nil }

func (free) Trace(accounts.Caller, accounts.Use, *accounts.Stopwatch) accounts.Trace {
	return accounts.Trace{}
}

func (free) Running(ctx context.Context, _ accounts.Caller) (context.Context, func()) {
	return ctx, func() {}
}

func (free) Charge(context.Context, accounts.Caller, accounts.Use, func(storage.Tx) error) (accounts.Entry, error) {
	return accounts.Entry{}, nil
}

func (free) ChargeCut(context.Context, accounts.Caller, accounts.Use) {}
