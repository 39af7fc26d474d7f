package accounts

import (
	"context"
	"encoding/json"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// Kind says which prices a use is charged at. Its values are stored.
type Kind uint8

// The kinds of use.
const (
	Generation Kind = 0 // input, cached input and output are charged
	Decision   Kind = 1 // only input is charged, at the price for decisions
)

// Use is what a call used and is charged for. Token counts must not be negative.
type Use struct {
	Endpoint        string // "decisions", "responses", "chat.completions", "completions", "messages" or "embeddings"
	Model           string // the ID that was asked for
	Object          string // ID of the result that it pays for, may be empty
	Kind            Kind   // the zero value is Generation
	InputTokens     int    // of the prompt, cached ones included
	CachedTokens    int    // of the input; no more than it are counted
	OutputTokens    int    // of the answer, reasoning included
	ReasoningTokens int    // of the output; for the record only
}

// Cost returns what the use costs at the prices of its model, in whole
// micro-dollars, rounded up. The error is Internal: a negative count, or a cost
// of more than a billion dollars.
func (s *Service) Cost(use Use) (Micros, error) {
	prices, ok := s.prices[use.Model]
	if !ok {
		prices = s.defaultPrices
	}
	cost, err := prices.cost(use)
	if err != nil {
		return 0, fault.From(err)
	}
	return cost, nil
}

// Charge writes one entry for the use into the ledger of the caller's
// organization, and whatever also writes, in one transaction in the caller's
// namespace. also may be nil and may run more than once; its error is returned as
// it is, and nothing is written. When Charge returns nil the balance reflects the
// entry, which it returns. The balance may go below zero: calls that run at the
// same time may cost more together than is left.
//
// Where the result has been sent already, ctx must outlive the client's request
// (see [context.WithoutCancel]).
//
// The tokens count against the organization's limit from then on.
//
// Where the caller has a [Deferred] nothing is written yet, and the Entry is empty.
func (s *Service) Charge(ctx context.Context, c Caller, use Use, also func(storage.Tx) error) (Entry, error) {
	if c.Deferred != nil {
		c.Deferred.add(use, also)
		return Entry{}, nil
	}
	if s.own != nil {
		return s.chargeCustom(ctx, c, use, also)
	}
	p, err := s.charge(c, use, also)
	if err != nil {
		return Entry{}, err
	}
	return p.post(ctx)
}

// charge returns the entry of a use, which is to be posted.
func (s *Service) charge(c Caller, use Use, also func(storage.Tx) error) (*posting, error) {
	cost, err := s.Cost(use)
	if err != nil {
		return nil, err
	}
	s.spendTokens(c, use) // whether or not it can be written, it was used
	return s.posting(c, chargeEntry(c, use, cost), also), nil
}

func chargeEntry(c Caller, use Use, cost Micros) Entry {
	return Entry{Organization: c.Organization, Key: c.Key, Type: EntryCharge, Amount: -cost, Use: use}
}

// SpentBy returns the use of a model that has worked for an answer of another one.
func SpentBy(endpoint string, s model.Spent) Use {
	u := Use{
		Endpoint: endpoint, Model: s.Model, Kind: Generation, InputTokens: s.InputTokens, CachedTokens: s.CachedTokens,
		OutputTokens: s.OutputTokens, ReasoningTokens: s.ReasoningTokens,
	}
	if s.Decision {
		u.Kind = Decision
	}
	return u
}

// ChargeCut charges what a call used that has failed or was given up, if it is
// anything. Who made the call has another error to be told, or has gone, so ctx may
// have ended, and an error here is logged. A charge that the store does not take is
// written once it does, as long as the process lives.
func (s *Service) ChargeCut(ctx context.Context, c Caller, use Use) {
	if use.InputTokens == 0 && use.OutputTokens == 0 {
		return
	}
	if c.Deferred != nil {
		c.Deferred.add(use, nil)
		return
	}
	if err := s.chargeCut(context.WithoutCancel(ctx), c, use); err != nil {
		s.logUnpaid(ctx, c.Organization, use, err)
	}
}

func (s *Service) chargeCut(ctx context.Context, c Caller, use Use) error {
	if s.own != nil {
		_, err := s.chargeCustom(ctx, c, use, nil)
		return err
	}
	p, err := s.charge(c, use, nil)
	if err != nil {
		return err
	}
	_, err = p.post(ctx)
	if p.storeAway(err) && s.keepUnpaid(p) {
		return nil
	}
	return err
}

// Usage returns a page of an organization's charges, 1 to 1,000, in the order
// they were made or, with Desc, newest first. The error is NotFound where there is no
// such organization, and Invalid where After is not the ID of one of its entries.
func (s *Service) Usage(ctx context.Context, organization string, p page.Params) (page.Page[Entry], error) {
	return s.entries(ctx, organization, p, func(e Entry) bool { return e.Type == EntryCharge })
}

// Ledger is Usage with the credits that were added and taken away.
func (s *Service) Ledger(ctx context.Context, organization string, p page.Params) (page.Page[Entry], error) {
	return s.entries(ctx, organization, p, func(Entry) bool { return true })
}

// entries returns a page of those entries of a ledger that are wanted.
func (s *Service) entries(ctx context.Context, organization string, p page.Params, wanted func(Entry) bool) (page.Page[Entry], error) {
	var none page.Page[Entry]
	p, err := page.Within(p, maxPage, "")
	if err != nil {
		return none, err
	}
	var after []byte
	if p.After != "" {
		sequence, ok := parseEntryID(organization, p.After)
		if !ok {
			return none, fault.Invalidf("after", "after is not the ID of a usage record of this organization.")
		}
		after = entryKey(sequence)
	}
	err = s.store.View(ctx, system, func(tx storage.Tx) error {
		_, err := getOrganization(tx, organization)
		return err
	})
	if err != nil {
		return none, err
	}
	// What was written up to now gets its place, behind all that was read before.
	// While the store cannot be written it has to wait for it.
	if err := s.compact(ctx, s.ledger(organization)); err != nil {
		s.log.WarnContext(ctx, "accounts: the latest entries of a ledger are not shown yet", "err", err)
	}
	var result page.Page[Entry]
	err = s.store.View(ctx, storage.Namespace(organization), func(tx storage.Tx) error {
		var err error
		result, err = page.Read(tx, page.Range(p, []byte(entryPrefix), after), p.Limit, func(e storage.Entry) (Entry, bool, error) {
			entry, err := decodeEntry(organization, e)
			return entry, wanted(entry), err
		})
		return err
	})
	return result, err
}

func decodeEntry(organization string, e storage.Entry) (Entry, error) {
	r, err := readEntry(e.Value)
	return Entry{
		ID:           entryID(organization, entrySequence(e.Key)),
		Organization: organization,
		Key:          r.Key,
		Type:         r.Type,
		Amount:       r.Amount,
		Use:          Use(r.Use),
		CreatedAt:    r.CreatedAt,
		By:           r.By,
	}, err
}

// MarshalJSON writes a charge as the usage record that the administration
// interface shows.
func (e Entry) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID              string  `json:"id"`
		Object          string  `json:"object"`
		OrganizationID  string  `json:"organization_id"`
		KeyID           *string `json:"api_key_id"`
		Endpoint        string  `json:"endpoint"`
		Model           string  `json:"model"`
		ObjectID        *string `json:"object_id"`
		InputTokens     int     `json:"input_tokens"`
		CachedTokens    int     `json:"cached_tokens"`
		OutputTokens    int     `json:"output_tokens"`
		ReasoningTokens int     `json:"reasoning_tokens"`
		Cost            Micros  `json:"cost"`
		CreatedAt       int64   `json:"created_at"`
	}{
		e.ID, "usage", e.Organization, orNull(e.Key), e.Use.Endpoint, e.Use.Model, orNull(e.Use.Object),
		e.Use.InputTokens, e.Use.CachedTokens, e.Use.OutputTokens, e.Use.ReasoningTokens, e.Cost(), e.CreatedAt,
	})
}
