package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/stored"
	"github.com/seed-506d8e5d/svc/storage"
)

// The bounds of money. They keep every sum far from overflow.
const (
	maxAmount  = 1_000_000_000 * Dollar // of one entry
	maxBalance = 1000 * maxAmount       // above which no credits are added, below which none are taken
)

// foldEvery is how many entries a ledger grows by before a new checkpoint is
// written. It bounds what is read to know a balance after a start.
const foldEvery = 1024

// EntryType says what an entry of a ledger is for.
type EntryType string

// The types of entries.
const (
	EntryCharge EntryType = "charge" // for a call
	EntryCredit EntryType = "credit" // credits added or taken away by the administration
)

// Entry is one entry of an organization's ledger. Entries are never changed or
// deleted. The JSON encoding of a charge is that of a usage record in the
// administration interface.
type Entry struct {
	ID           string // use_…
	Organization string // org_… ID
	Key          string // key_… ID, empty where no key was used
	Type         EntryType
	Amount       Micros // what the entry adds to the balance; negative for a charge
	Use          Use    // what a charge is for
	CreatedAt    int64  // Unix seconds
}

// Cost returns what the entry took from the balance.
func (e Entry) Cost() Micros { return -e.Amount }

// entryRecord is what is stored of an Entry. The rest is in its key.
type entryRecord struct {
	Type      EntryType `json:"type"`
	Amount    Micros    `json:"amount"`
	Key       string    `json:"key,omitempty"`
	Use       Use       `json:"use,omitzero"`
	CreatedAt int64     `json:"created_at"`
}

// entryID returns the ID of an entry. It names the organization and the place
// in its ledger, so that it is unique and a page of entries can begin after it.
func entryID(organization string, sequence uint64) string {
	return entryIDPrefix(organization) + strconv.FormatUint(sequence, 10)
}

func entryIDPrefix(organization string) string {
	return "use_" + strings.TrimPrefix(organization, "org_") + "_"
}

// parseEntryID is the inverse of entryID for one organization.
func parseEntryID(organization, id string) (sequence uint64, ok bool) {
	digits, ok := strings.CutPrefix(id, entryIDPrefix(organization))
	if !ok {
		return 0, false
	}
	sequence, err := strconv.ParseUint(digits, 10, 64)
	return sequence, err == nil
}

// checkpoint is the sum of all entries up to and including a sequence number.
type checkpoint struct {
	Sequence uint64 `json:"sequence"`
	Balance  Micros `json:"balance"`
}

// ledger is what is held in memory of one organization's ledger.
//
// Whoever adds an entry takes the next sequence number, writes the entry and
// adds it to the balance, all with mu held shared: entries have their own keys
// and do not wait for each other. Whoever holds mu exclusively sees no entry
// half added: balance is the sum of all entries up to sequence.
type ledger struct {
	organization string
	mu           sync.RWMutex
	loaded       atomic.Bool   // balance and sequence are as in the store; cleared when a write may have failed halfway
	balance      atomic.Int64  // micro-dollars
	sequence     atomic.Uint64 // the last one taken
	folded       atomic.Uint64 // the last one in the checkpoint
	folding      atomic.Bool   // a checkpoint is due or being written
}

func (s *Service) ledger(organization string) *ledger {
	if l, ok := s.ledgers.Load(organization); ok {
		return l.(*ledger)
	}
	l, _ := s.ledgers.LoadOrStore(organization, &ledger{organization: organization})
	return l.(*ledger)
}

// load reads the balance of a ledger unless it is known.
func (s *Service) load(ctx context.Context, l *ledger) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loaded.Load() {
		return nil
	}
	var folded uint64
	var sum checkpoint
	err := s.store.View(ctx, storage.Namespace(l.organization), func(tx storage.Tx) error {
		sum = checkpoint{}
		if err := storage.GetJSON(tx, checkpointKey(), &sum); err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		folded = sum.Sequence
		entries := storage.Prefix([]byte(entryPrefix))
		entries.Start = entryKey(folded + 1)
		for e, err := range tx.Scan(entries) {
			if err != nil {
				return err
			}
			var record entryRecord
			if err := json.Unmarshal(e.Value, &record); err != nil {
				return err
			}
			sum.Sequence = entrySequence(e.Key)
			sum.Balance += record.Amount
		}
		return nil
	})
	if err != nil {
		return stored.Error(err)
	}
	l.balance.Store(int64(sum.Balance))
	// A number that was taken for an entry that failed is not taken again.
	l.sequence.Store(max(l.sequence.Load(), sum.Sequence))
	l.folded.Store(folded)
	l.loaded.Store(true)
	return nil
}

// Balance returns an organization's credits. It is read from the store once and
// from memory after that.
func (s *Service) Balance(ctx context.Context, organization string) (Micros, error) {
	l := s.ledger(organization)
	if !l.loaded.Load() {
		if err := s.load(ctx, l); err != nil {
			return 0, err
		}
	}
	return Micros(l.balance.Load()), nil
}

// Afford returns nil where the caller's organization has credits and tokens. The
// error is NoCredits (insufficient_credits) where its balance is not above zero,
// and RateLimited (rate_limit_exceeded) where it has used up the tokens that it
// may use at present. Afford does no I/O once the balance is known. It is called
// before any model is.
func (s *Service) Afford(ctx context.Context, c Caller) error {
	if s.own != nil {
		return s.own.Afford(ctx, c)
	}
	balance, err := s.Balance(ctx, c.Organization)
	if err != nil {
		return err
	}
	if balance <= 0 {
		return errNoCredits()
	}
	return s.checkTokens(c)
}

func errNoCredits() error {
	return &fault.Error{Kind: fault.NoCredits, Code: CodeNoCredits, Message: "The organization has no credits left."}
}

// credit returns the entry for credits that the administration adds.
func credit(organization string, amount Micros) Entry {
	return Entry{Organization: organization, Type: EntryCredit, Amount: amount}
}

// post writes an entry, and whatever also writes, in one transaction in the
// organization's namespace. The balance reflects it when post returns nil. An
// error of also is returned as it is.
func (s *Service) post(ctx context.Context, e Entry, also func(storage.Tx) error) (Entry, error) {
	l := s.ledger(e.Organization)
	if err := s.share(ctx, l); err != nil {
		return Entry{}, err
	}
	defer l.mu.RUnlock()
	if balance := Micros(l.balance.Load()) + e.Amount; e.Type == EntryCredit && (balance < -maxBalance || balance > maxBalance) {
		return Entry{}, fault.Invalidf("amount", "The balance must stay between -%s and %s dollars.", maxBalance, maxBalance)
	}
	sequence := l.sequence.Add(1)
	e.ID = entryID(e.Organization, sequence)
	e.CreatedAt = s.now().Unix()
	record := entryRecord{Type: e.Type, Amount: e.Amount, Key: e.Key, Use: e.Use, CreatedAt: e.CreatedAt}

	var refused error
	err := s.store.Update(ctx, storage.Namespace(e.Organization), func(tx storage.Tx) error {
		refused = nil
		if also != nil {
			if refused = also(tx); refused != nil {
				return refused
			}
		}
		return storage.SetJSON(tx, entryKey(sequence), record)
	})
	switch {
	case refused != nil:
		return Entry{}, refused
	case err != nil:
		// Whether the entry was written is for the store to say: the balance is
		// read again before it is used.
		l.loaded.Store(false)
		return Entry{}, stored.Error(err)
	}
	l.balance.Add(int64(e.Amount))
	s.foldIfDue(l, sequence)
	return e, nil
}

// share takes the ledger's lock shared, with the balance known.
func (s *Service) share(ctx context.Context, l *ledger) error {
	for {
		l.mu.RLock()
		if l.loaded.Load() {
			return nil
		}
		l.mu.RUnlock()
		if err := s.load(ctx, l); err != nil {
			return err
		}
	}
}

// foldIfDue asks for a checkpoint of the ledger where enough entries came after
// the last one. A later entry asks again where nobody has time for it now.
func (s *Service) foldIfDue(l *ledger, sequence uint64) {
	if sequence < l.folded.Load()+s.foldEvery || !l.folding.CompareAndSwap(false, true) {
		return
	}
	select {
	case s.folds <- l:
	default:
		l.folding.Store(false)
	}
}

// fold writes a checkpoint. Charges wait for those that run while the sum is
// taken, but not while it is written: what a checkpoint says stays true.
func (s *Service) fold(ctx context.Context, l *ledger) error {
	defer l.folding.Store(false)
	l.mu.Lock()
	known := l.loaded.Load()
	sum := checkpoint{Sequence: l.sequence.Load(), Balance: Micros(l.balance.Load())}
	l.mu.Unlock()
	if !known {
		return nil
	}
	err := s.store.Update(ctx, storage.Namespace(l.organization), func(tx storage.Tx) error {
		return storage.SetJSON(tx, checkpointKey(), sum)
	})
	if err != nil {
		return fmt.Errorf("ledger of %s: %w", l.organization, err)
	}
	l.folded.Store(sum.Sequence)
	return nil
}
