package accounts

import (
	"context"
	"math"
	"sync"

	"github.com/seed-506d8e5d/svc/storage"
)

// Deferred collects the charges of an operation whose result exists only after them,
// so that both can be written in one transaction. While a [Caller] has one,
// [Service.Charge] and [Service.ChargeCut] write nothing; [Service.ChargeDeferred]
// writes all that they collected. It may be used concurrently.
type Deferred struct {
	Share float64 // of the price that is charged; 0 is the whole price

	mu      sync.Mutex
	charges []deferredCharge
}

// deferredCharge is what one call of Charge was given.
type deferredCharge struct {
	use  Use
	also func(storage.Tx) error
}

func (d *Deferred) add(use Use, also func(storage.Tx) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.charges = append(d.charges, deferredCharge{use, also})
}

// DropWrites forgets what the charges were to write besides: the operation has
// failed after them. The charges stay.
func (d *Deferred) DropWrites() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.charges {
		d.charges[i].also = nil
	}
}

// Used returns how many tokens the charges are for, all of them together.
func (d *Deferred) Used() Use {
	d.mu.Lock()
	defer d.mu.Unlock()
	var sum Use
	for _, c := range d.charges {
		sum.InputTokens += c.use.InputTokens
		sum.CachedTokens += c.use.CachedTokens
		sum.OutputTokens += c.use.OutputTokens
		sum.ReasoningTokens += c.use.ReasoningTokens
	}
	return sum
}

// share returns the part of a cost that is charged, rounded up.
func (d *Deferred) share(cost Micros) Micros {
	if d.Share == 0 {
		return cost
	}
	return Micros(math.Ceil(float64(cost)*d.Share - 1e-6))
}

// ChargeDeferred writes the charges that the caller's Deferred has collected, what
// they write besides, and whatever result writes, in one transaction in the caller's
// namespace. result runs first and may run more than once; its error, or that of what
// a charge writes, is returned as it is, and nothing is written.
func (s *Service) ChargeDeferred(ctx context.Context, c Caller, result func(storage.Tx) error) error {
	d := c.Deferred
	d.mu.Lock()
	charges := d.charges
	d.mu.Unlock()
	also := func(tx storage.Tx) error {
		err := result(tx)
		for _, charge := range charges {
			if err == nil && charge.also != nil {
				err = charge.also(tx)
			}
		}
		return err
	}
	if s.own != nil || len(charges) == 0 {
		return s.settleDeferred(ctx, c, charges, also)
	}
	entries := make([]Entry, len(charges))
	for i, charge := range charges {
		cost, err := s.Cost(charge.use)
		if err != nil {
			return err
		}
		s.spendTokens(c, charge.use)
		entries[i] = chargeEntry(c, charge.use, d.share(cost))
	}
	p := s.posting(c, entries[0], also)
	p.more = entries[1:]
	_, err := p.post(ctx)
	return err
}

// settleDeferred is ChargeDeferred where the ledger has nothing to write.
func (s *Service) settleDeferred(ctx context.Context, c Caller, charges []deferredCharge, also func(storage.Tx) error) error {
	var refused error
	err := s.store.Update(ctx, c.Namespace(), func(tx storage.Tx) error {
		refused = also(tx)
		return refused
	})
	if refused != nil {
		return refused
	}
	for _, charge := range charges {
		if err == nil {
			_, err = s.chargeCustom(ctx, c, charge.use, nil)
		}
	}
	return err
}
