// Package accounts knows who may use the service and what they pay:
// organizations, their API keys, their credits and what they used.
//
// A [Service] turns an API key into a [Caller] with [Service.Authenticate]. Before
// a model is called, [Service.Afford] refuses a caller whose organization has no
// credits; afterwards [Service.Charge] writes what the call cost, in one
// transaction with the result that it pays for. The other methods administer
// organizations and keys, and each change they make is in the audit log.
//
// Money is [Micros], whole millionths of a dollar. An organization's ledger is
// append-only, with one entry for each charge and each grant of credits; its
// balance is the sum of all entries.
//
// Every error is a *fault.Error or becomes one by fault.From. All methods may be
// called concurrently. Services of several processes on one store share the
// accounts in it: what one does to keys, organizations and balances the others
// know within a second.
package accounts

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-506d8e5d/svc/cluster"
	"github.com/seed-506d8e5d/svc/idempotency"
	"github.com/seed-506d8e5d/svc/internal/ids"
	"github.com/seed-506d8e5d/svc/limits"
	"github.com/seed-506d8e5d/svc/storage"
)

// The codes of the package's errors, from the spec's error tables and, for the
// administration, in their manner.
const (
	CodeInvalidKey           = "invalid_api_key"        // Unauthenticated
	CodeAccessDenied         = "access_denied"          // Denied: the key has no organization
	CodeSuspended            = "org_suspended"          // Denied
	CodeModelAccess          = "model_access_denied"    // Denied
	CodeNoCredits            = "insufficient_credits"   // NoCredits
	CodeAuthorizationFailed  = "authorization_failed"   // Unavailable
	CodeOrganizationNotFound = "organization_not_found" // NotFound
	CodeKeyNotFound          = "api_key_not_found"      // NotFound
	CodeOrganizationExists   = "organization_exists"    // Conflict
)

// Options are what a Service is made of. Only Store is required.
type Options struct {
	// Store keeps everything. The Service does not close it.
	Store storage.Store

	// Prices are the prices of models by ID. A model that is not in it has
	// DefaultPrices, where nil stands for the function of that name.
	Prices        map[string]Prices
	DefaultPrices *Prices

	// Cluster is this process among those that share the store; nil: alone.
	Cluster *cluster.Member

	// Accounting is the program's own; nil keeps credits, ledgers and limits here.
	Accounting Accounting

	// MaxDuration is how long one operation may have models work; 0 is
	// [DefaultMaxDuration].
	MaxDuration time.Duration

	Now   func() time.Time           // the clock; nil: time.Now
	NewID func(prefix string) string // makes IDs, later ones sorting after earlier ones; nil: random ones that do
	Log   *slog.Logger               // where failures of background work go; nil: slog.Default()
}

// Service keeps the accounts. Make one with [New] and end it with
// [Service.Close], before its store is closed.
type Service struct {
	*state
	actor Actor
}

// Actor is who changes organizations, keys and credits, and for which request.
type Actor struct {
	// By is what the audit log says of it, in a few words such as "api 192.0.2.1", of
	// which it keeps 256 bytes. It is for people to read: nobody gains a right by it.
	By string

	Claim *idempotency.Claim // of the request's Idempotency-Key, as in [Caller]; nil is none
}

// As returns the service for one actor. It is the same service all the same: one
// of them is closed.
func (s *Service) As(a Actor) *Service { return &Service{s.state, a} }

// state is what a service has, whoever acts.
type state struct {
	store         *storage.DB
	prices        map[string]Prices
	defaultPrices Prices
	now           func() time.Time
	newID         func(prefix string) string
	log           *slog.Logger
	cluster       *cluster.Member
	joined        bool       // by this Service, which ends it
	own           Accounting // the program's, nil where it has none

	known   atomic.Pointer[grants] // replaced by every change to a key or an organization
	used    lastUsed
	ledgers sync.Map // organization ID to *ledger

	limits *limits.Service

	maxDuration time.Duration
	watchdog    watchdog

	compactEvery int          // entries that wait in lanes before they are compacted
	compactions  chan *ledger // ledgers that are due

	unpaid chan *posting // charges that the store did not take

	stop    chan struct{} // closed to end the background goroutine
	stopped chan struct{} // closed when it has ended
	closing sync.Once
}

// backgroundTimeout bounds each write that the background goroutine makes.
const backgroundTimeout = 30 * time.Second

// New returns a Service over the store. It does no I/O: ctx only gives values to
// the log entries of its background work, which goes on until [Service.Close].
// The error says which option is wrong.
func New(ctx context.Context, o Options) (*Service, error) {
	if o.Store == nil {
		return nil, errors.New("accounts: Options.Store is nil")
	}
	s := &Service{state: &state{
		store:         storage.Use(o.Store),
		prices:        o.Prices,
		defaultPrices: DefaultPrices(),
		cluster:       o.Cluster,
		own:           o.Accounting,
		maxDuration:   o.MaxDuration,
		compactEvery:  compactEvery,
		compactions:   make(chan *ledger, 16),
		stop:          make(chan struct{}),
		stopped:       make(chan struct{}),
	}}
	if o.DefaultPrices != nil {
		s.defaultPrices = *o.DefaultPrices
	}
	if s.maxDuration == 0 {
		s.maxDuration = DefaultMaxDuration
	}
	if s.cluster == nil {
		var err error
		if s.cluster, err = cluster.Join(ctx, cluster.Options{Store: s.store, Log: o.Log}); err != nil {
			return nil, err
		}
		s.joined = true
	}
	if s.cluster.Shared() {
		s.compactEvery = compactEveryShared
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = ids.New
	}
	s.now, s.newID, s.log = o.Now, o.NewID, cmp.Or(o.Log, slog.Default())
	s.unpaid = make(chan *posting, maxUnpaid)
	s.limits = limits.New(s.store, s.cluster, func() time.Time { return s.now() })
	if err := s.defaultPrices.check(); err != nil {
		return nil, err
	}
	for _, p := range s.prices {
		if err := p.check(); err != nil {
			return nil, err
		}
	}
	s.forget()
	s.cluster.OnInvalidate(s.forgetAll)
	go s.work(context.WithoutCancel(ctx))
	return s, nil
}

// Close ends the background work and writes what it still owes. Charges that
// run meanwhile are not disturbed. Closing twice is no error.
func (s *Service) Close() error {
	var err error
	s.closing.Do(func() {
		close(s.stop)
		<-s.stopped
		s.watchdog.wg.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), backgroundTimeout)
		defer cancel()
		s.dropUnpaid(ctx)
		err = s.flushLastUsed(ctx)
		if s.joined {
			err = errors.Join(err, s.cluster.Close())
		}
	})
	return err
}

// work is the background goroutine: it compacts ledgers and writes the times at which
// keys were last used. When it is stopped it compacts those that are due.
func (s *Service) work(ctx context.Context) {
	defer close(s.stopped)
	tick := time.NewTicker(lastUsedEvery)
	defer tick.Stop()
	counting := time.NewTicker(countEvery)
	defer counting.Stop()
	var share <-chan time.Time
	if s.cluster.Shared() {
		ticker := time.NewTicker(limits.ExchangeEvery)
		defer ticker.Stop()
		share = ticker.C
	}
	for {
		select {
		case <-s.stop:
			for range len(s.compactions) {
				s.compactNow(ctx, <-s.compactions)
			}
			return
		case l := <-s.compactions:
			s.compactNow(ctx, l)
		case <-share:
			s.background(ctx, "use of limits", s.limits.Exchange)
		case <-tick.C:
			s.background(ctx, "last use of keys", s.flushLastUsed)
			s.background(ctx, "charges that the store did not take", s.writeUnpaid)
		case <-counting.C:
			s.countDue(ctx, math.MaxInt)
		}
	}
}

func (s *Service) compactNow(ctx context.Context, l *ledger) {
	s.background(ctx, "checkpoint", func(ctx context.Context) error {
		if err := s.compact(ctx, l); err != nil {
			return err
		}
		return s.count(ctx, l.organization)
	})
}

// background does one write of the background goroutine. Nobody waits for it, so
// that its failure is logged; what it did not write is still due.
func (s *Service) background(ctx context.Context, what string, write func(context.Context) error) {
	limited, cancel := context.WithTimeout(ctx, backgroundTimeout)
	defer cancel()
	if err := write(limited); err != nil {
		s.log.ErrorContext(ctx, "accounts: background write failed, will be tried again", "what", what, "err", err)
	}
}
