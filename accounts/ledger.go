package accounts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/storage"
)

// The bounds of money. They keep every sum far from overflow.
const (
	maxAmount  = 1_000_000_000 * Dollar // of one entry
	maxBalance = 1000 * maxAmount       // above which no credits are added, below which none are taken
)

// compactEvery is how many entries a ledger grows by before they are compacted. It bounds
// what is read to know a balance: after a start and, where several processes share
// the store, every second, so that there fewer are left.
const (
	compactEvery       = 1024
	compactEveryShared = 64
)

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
	ID           string // use_…; Charge returns it empty, it is given when the entry is read
	Organization string // org_… ID
	Key          string // key_… ID, empty where no key was used
	Type         EntryType
	Amount       Micros // what the entry adds to the balance; negative for a charge
	Use          Use    // what a charge is for
	By           string // who added credits, see [Actor]; empty for charges and where nobody said
	CreatedAt    int64  // Unix seconds

	audited bool // the audit log is to have it
}

// Cost returns what the entry took from the balance.
func (e Entry) Cost() Micros { return -e.Amount }

// entryRecord is what is stored of an Entry. The rest is in its key. Lane and
// Number are where it was written first, see ledger.
type entryRecord struct {
	Type      EntryType `json:"type"`
	Amount    Micros    `json:"amount"`
	Key       string    `json:"key,omitempty"`
	Use       useRecord `json:"use,omitzero"`
	CreatedAt int64     `json:"created_at"`
	By        string    `json:"by,omitempty"`
	Audited   bool      `json:"audited,omitempty"` // written into the audit log when it is counted
	Lane      string    `json:"lane,omitempty"`
	Number    uint64    `json:"number,omitempty"`
}

// useRecord is how a [Use] is stored.
type useRecord struct {
	Endpoint        string `json:"endpoint"`
	Model           string `json:"model"`
	Object          string `json:"object,omitempty"`
	Kind            Kind   `json:"kind,omitempty"`
	InputTokens     int    `json:"input_tokens"`
	CachedTokens    int    `json:"cached_tokens,omitempty"`
	OutputTokens    int    `json:"output_tokens,omitempty"`
	ReasoningTokens int    `json:"reasoning_tokens,omitempty"`
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

// ledger is what is held in memory of one organization's ledger.
//
// Each process writes its entries into a lane of its own, under numbers of its
// own: entries have their own keys and wait for nobody, and one whose fate is
// unknown can be written again. Compacting moves entries from the lanes into the
// log, in one transaction with the checkpoint, which is the sum of the log. There
// they get the number that readers see: nothing is ever added before what a
// reader has seen. Any process may compact any lane.
//
// The balance is the sum of this process's lane, which is known exactly, and of
// all the rest, which is read again where others may have added to it.
//
// Whoever adds an entry holds one of mu; whoever holds all of it sees no entry half
// added. It is held while the store works, so who waits for it waits with a context.
type ledger struct {
	organization string
	mu           *semaphore.Weighted
	loaded       atomic.Bool   // what follows is as in the store; cleared when a write may have failed halfway
	mine, others atomic.Int64  // micro-dollars
	sequence     atomic.Uint64 // the last number taken in this process's lane
	uncompacted  atomic.Int64  // entries in lanes
	compacting   atomic.Bool   // they are due to be compacted, or are being compacted
	logged       atomic.Uint64 // a number that the log had reached when it was read last

	spendings sync.Map // key ID to *spending, of keys that have a budget

	looking   *semaphore.Weighted // one, held by who reads what others added
	looked    time.Time           // guarded by looking
	compacted uint64              // the last number of this lane that was seen compacted; guarded by looking
}

// all is how much of a ledger's mu there is.
const all = math.MaxInt64

func (s *Service) ledger(organization string) *ledger {
	return under(&s.ledgers, organization, func() *ledger {
		return &ledger{organization: organization, mu: semaphore.NewWeighted(all), looking: semaphore.NewWeighted(1)}
	})
}

// under returns what a map of *T has under a key, which is made where there is nothing.
func under[T any](m *sync.Map, key string, make func() *T) *T {
	if found, ok := m.Load(key); ok {
		return found.(*T)
	}
	found, _ := m.LoadOrStore(key, make())
	return found.(*T)
}

// load reads a ledger unless it is known.
func (s *Service) load(ctx context.Context, l *ledger) error {
	if err := l.mu.Acquire(ctx, all); err != nil {
		return err
	}
	defer l.mu.Release(all)
	if l.loaded.Load() {
		return nil
	}
	if err := l.looking.Acquire(ctx, 1); err != nil {
		return err
	}
	defer l.looking.Release(1)
	now := time.Now()
	sums, err := s.sums(ctx, l.organization)
	if err != nil {
		return err
	}
	l.mine.Store(int64(sums.mine))
	l.others.Store(int64(sums.others))
	// A number that was taken for an entry that failed is not taken again.
	l.sequence.Store(max(l.sequence.Load(), sums.sequence))
	l.uncompacted.Store(int64(sums.uncompacted))
	l.looked, l.compacted = now, sums.compacted
	l.logged.Store(sums.logged)
	l.loaded.Store(true)
	return nil
}

// Balance returns an organization's credits. They are read from the store once
// and from memory after that; what other processes add and charge is known a
// second later at the latest.
func (s *Service) Balance(ctx context.Context, organization string) (Micros, error) {
	l := s.ledger(organization)
	if l.loaded.Load() && s.cluster.Shared() {
		if err := s.look(ctx, l); err != nil {
			return 0, err
		}
	}
	if !l.loaded.Load() {
		if err := s.load(ctx, l); err != nil {
			return 0, err
		}
	}
	return Micros(l.mine.Load() + l.others.Load()), nil
}

// lookEvery is how old what others have added may be.
const lookEvery = 900 * time.Millisecond

// look reads what others have added, where that is not known well enough.
func (s *Service) look(ctx context.Context, l *ledger) error {
	if err := l.looking.Acquire(ctx, 1); err != nil {
		return err
	}
	defer l.looking.Release(1)
	now := time.Now()
	if now.Sub(l.looked) < lookEvery {
		return nil
	}
	sums, err := s.sums(ctx, l.organization)
	if err != nil {
		return err
	}
	if sums.compacted < l.compacted { // the lane was taken for a dead process's
		l.loaded.Store(false)
		return nil
	}
	l.others.Store(int64(sums.others))
	l.looked, l.compacted = now, sums.compacted
	l.logged.Store(sums.logged)
	return nil
}

// Afford returns nil where the caller's organization has credits and tokens. The
// error is NoCredits (insufficient_credits) where its balance is not above zero,
// and RateLimited (rate_limit_exceeded) where it has used up the tokens that it
// may use at present, or its key has. NoCredits (budget_exceeded) is also for a key
// that has spent its budget. It is Unavailable (storage_unavailable) where what a model
// answers could not be stored or charged. Afford does no I/O once the balance is
// known. It is called before any model is.
func (s *Service) Afford(ctx context.Context, c Caller) error {
	if err := s.store.Writable(ctx); err != nil {
		return err
	}
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
	if err := s.checkBudget(ctx, watchedOf(c)); err != nil {
		return err
	}
	return s.checkTokens(c)
}

// AffordMore is [Service.Afford] for an operation that goes on. It returns NoCredits
// where the balance does not cover what the operation has used so far, too, which is
// charged when it ends.
func (s *Service) AffordMore(ctx context.Context, c Caller, used Use) error {
	if err := s.Afford(ctx, c); err != nil || s.own != nil {
		return err
	}
	cost, err := s.Cost(used)
	if err != nil {
		return err
	}
	balance, err := s.Balance(ctx, c.Organization)
	if err == nil && balance <= cost {
		return errNoCredits()
	}
	return err
}

func errNoCredits() error {
	return &fault.Error{Kind: fault.NoCredits, Code: CodeNoCredits, Message: "The organization has no credits left."}
}

// credit returns the entry for credits that the administration adds.
func (s *Service) credit(organization string, amount Micros) Entry {
	return Entry{Organization: organization, Type: EntryCredit, Amount: amount, By: s.actor.by()}
}

// postFor is how long it is tried to write a charge while the store is away, every
// postEvery: what it pays for is done, and would be lost.
const (
	postFor   = 20 * time.Second
	postEvery = 200 * time.Millisecond
)

// post writes an entry of a caller, the zero one for credits, and whatever also
// writes, in one transaction in the organization's namespace. The balance reflects
// it when post returns nil. An error of also is returned as it is. An object is
// billed once: where an entry pays for it already, and all else was written with
// that, post writes nothing.
func (s *Service) post(ctx context.Context, c Caller, e Entry, also func(storage.Tx) error) (Entry, error) {
	return s.posting(c, e, also).post(ctx)
}

func (s *Service) posting(c Caller, e Entry, also func(storage.Tx) error) *posting {
	return &posting{service: s, ledger: s.ledger(e.Organization), caller: c, entry: e, also: also}
}

// post tries to write the entry until it is written, or for postFor.
func (p *posting) post(ctx context.Context) (Entry, error) {
	for begun := time.Now(); ; {
		err := p.try(ctx)
		if err == nil {
			return p.entry, nil
		}
		if !p.storeAway(err) || time.Since(begun) > postFor || !background.Sleep(ctx, postEvery) {
			return Entry{}, err
		}
	}
}

// storeAway reports whether a later try may write the entry that err kept this one
// from writing.
func (p *posting) storeAway(err error) bool {
	return errors.Is(err, storage.ErrInDoubt) || p.entry.Type == EntryCharge && errors.Is(err, storage.ErrUnavailable)
}

// posting is an entry that is being written, with more in the same transaction.
type posting struct {
	service  *Service
	ledger   *ledger
	caller   Caller
	entry    Entry
	more     []Entry
	also     func(storage.Tx) error
	sequence uint64 // its number; 0: it was not tried yet
	logged   uint64 // what the log had reached before the first try
}

// errThere ends a transaction that has found that the entry is written: what also
// wrote before that is dropped.
var errThere = errors.New("accounts: the entry is written")

// try writes the entry, unless an earlier try has: then it is there, and all else
// with it.
func (p *posting) try(ctx context.Context) error {
	s, l, e := p.service, p.ledger, &p.entry
	if err := s.share(ctx, l); err != nil {
		return err
	}
	defer l.mu.Release(1)
	again := p.sequence != 0
	if !again {
		p.logged = l.logged.Load()
		count := uint64(1 + len(p.more))
		p.sequence = l.sequence.Add(count) - count + 1
		e.CreatedAt = s.now().Unix()
	}
	var refused error
	there := false
	err := s.store.Update(ctx, storage.Namespace(e.Organization), func(tx storage.Tx) (err error) {
		storage.UseReserve(tx)
		if there, refused, err = false, nil, nil; again {
			if there, err = p.wrote(tx); there || err != nil {
				return err
			}
		}
		refused = p.refuse(tx)
		if !again && e.Use.Object != "" { // may be written by an earlier call, and that be why also fails
			if there, err = p.wrote(tx); there || err != nil {
				refused = nil
				return cmp.Or(err, errThere)
			}
		}
		if refused != nil {
			return refused
		}
		return p.write(tx)
	})
	if errors.Is(err, errThere) {
		err = nil
	}
	if refused != nil && errors.Is(err, refused) { // and not what the store made of it
		return refused
	}
	if err != nil || again || there {
		// Whether an earlier try has written the entry, and whether the balance was
		// read since, is for the store to say: it is read again before it is used.
		l.loaded.Store(false)
		return err
	}
	for _, e := range p.all() {
		l.mine.Add(int64(e.Amount))
		l.spend(p.caller, e)
		s.compactIfDue(l, l.uncompacted.Add(1))
	}
	return nil
}

// all are the entries, under the numbers from p.sequence on.
func (p *posting) all() []Entry { return append([]Entry{p.entry}, p.more...) }

// write writes the entries into this process's lane.
func (p *posting) write(tx storage.Tx) error {
	for i, e := range p.all() {
		if e.Use.Object != "" {
			if err := tx.Set(billedKey(e.Use.Object), nil); err != nil {
				return err
			}
		}
		record := entryRecord{Type: e.Type, Amount: e.Amount, Key: e.Key, Use: useRecord(e.Use), CreatedAt: p.entry.CreatedAt, By: e.By, Audited: e.audited}
		if err := storage.SetJSON(tx, laneKey(p.service.cluster.ID(), p.sequence+uint64(i)), record); err != nil {
			return err
		}
	}
	return nil
}

// refuse calls what also writes. The error is its own, or Invalid for credits that
// are too many. What also reads is read together with what wrote does.
func (p *posting) refuse(tx storage.Tx) error {
	if object := p.entry.Use.Object; object != "" {
		storage.Prefetch(tx, billedKey(object))
	}
	if p.also != nil {
		if err := p.also(tx); err != nil {
			return err
		}
	}
	balance := Micros(p.ledger.mine.Load()+p.ledger.others.Load()) + p.entry.Amount
	if p.entry.Type == EntryCredit && (balance < -maxBalance || balance > maxBalance) {
		return fault.Invalidf("amount", "The balance must stay between -%s and %s dollars.", maxBalance, maxBalance)
	}
	return nil
}

// wrote says whether an entry for the same object is written, or this one: in this
// process's lane, or behind what the log had reached before the first try.
func (p *posting) wrote(tx storage.Tx) (bool, error) {
	if p.entry.Use.Object != "" {
		return has(tx, billedKey(p.entry.Use.Object))
	}
	lane := p.service.cluster.ID()
	if found, err := has(tx, laneKey(lane, p.sequence)); found || err != nil {
		return found, err
	}
	for e, err := range tx.Scan(storage.Range{Start: entryKey(p.logged + 1), End: storage.After([]byte(entryPrefix))}) {
		if err != nil {
			return false, err
		}
		r, err := readEntry(e.Value)
		if err != nil {
			return false, err
		}
		if r.Lane == lane && r.Number == p.sequence {
			return true, nil
		}
	}
	return false, nil
}

func has(tx storage.Tx, key []byte) (bool, error) {
	_, err := tx.Get(key)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// readEntry reads an entry as it is stored.
func readEntry(data []byte) (e entryRecord, err error) {
	err = json.Unmarshal(data, &e)
	return e, err
}

// share takes the ledger's lock shared, with the balance known.
func (s *Service) share(ctx context.Context, l *ledger) error {
	for {
		if err := l.mu.Acquire(ctx, 1); err != nil {
			return err
		}
		if l.loaded.Load() {
			return nil
		}
		l.mu.Release(1)
		if err := s.load(ctx, l); err != nil {
			return err
		}
	}
}
