// Package webhooks tells organizations over HTTP that something has ended: an
// endpoint is a URL and the events that are posted to it.
//
// [Outbox.Put] writes the deliveries of an event in the transaction that makes it
// happen, so that none is lost. A [Service] keeps the endpoints (endpoints.go) and
// posts what is due (deliver.go): at least once, signed as Standard Webhooks has it
// (sign.go), up to six times over a day, through the guard of package egress, so that
// no endpoint leads into the operator's network. Events about one object come in their
// order: the next is tried once the one before has arrived or is given up. An endpoint that has failed for three
// days is disabled. Every process on a store delivers; a delivery that one has begun
// is left to it for a while.
package webhooks

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/egress"
	"github.com/seed-506d8e5d/svc/internal/ids"
	"github.com/seed-506d8e5d/svc/internal/roster"
	"github.com/seed-506d8e5d/svc/storage"
)

// The bounds of webhooks.
const (
	MaxEndpoints = 20  // of an organization
	MaxPage      = 100 // objects in a page of a list

	maxName = 256  // bytes of an endpoint's name
	maxURL  = 2048 // and of its URL
)

// EventTypes are the events that endpoints can be told of.
var EventTypes = []string{
	"response.completed", "response.failed", "response.cancelled", "response.incomplete",
	"batch.completed", "batch.failed", "batch.expired", "batch.cancelled",
}

// Outbox writes deliveries. The zero value is usable.
type Outbox struct {
	Now   func() time.Time           // the clock; nil: time.Now
	NewID func(prefix string) string // makes IDs, later ones sorting after earlier ones; nil: random ones that do
}

func (o Outbox) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

func (o Outbox) newID(prefix string) string {
	if o.NewID == nil {
		return ids.New(prefix)
	}
	return o.NewID(prefix)
}

// Put writes the deliveries of an event about an object to the organization's
// endpoints, in the organization's namespace.
func (o Outbox) Put(tx storage.Tx, kind, object string) error {
	all, err := endpoints(tx)
	if err != nil {
		return err
	}
	event := ""
	for _, e := range all {
		if e.DisabledAt != 0 || !slices.Contains(e.EventTypes, kind) {
			continue
		}
		if event == "" {
			event = o.newID("evt")
		}
		now := o.now()
		before, err := firstPending(tx, e.ID, object)
		if err != nil {
			return err
		}
		d := deliveryRecord{Endpoint: e.ID, Event: event, Type: kind, Object: object, CreatedAt: now.Unix(), Status: Pending}
		if before == "" {
			d.NextAt = now.UnixMilli()
		}
		if err := d.schedule(tx, o.newID("whd")); err != nil {
			return err
		}
	}
	return nil
}

// Options configure a [Service]. All but Guard, Workers and Log are parts of the
// service whose events are delivered.
type Options struct {
	Store    *storage.DB
	Accounts *accounts.Service // has the audit log
	Outbox   Outbox
	Guard    *egress.Guard // nil: one for public hosts alone
	Workers  int           // deliveries that this process has under way at once; 0 is 32
	Log      *slog.Logger
}

const (
	defaultWorkers = 32
	perEndpoint    = 4 // deliveries to one endpoint that are under way at once
	answerBytes    = 64 << 10
	timeout        = 15 * time.Second
)

// Guard returns the guard for endpoints. hosts may be private, and be reached over
// http.
func Guard(hosts []string) *egress.Guard {
	return egress.New(egress.Options{Hosts: hosts, MaxBytes: answerBytes, Timeout: timeout})
}

// Service keeps endpoints and delivers events to them. It must be closed, before the
// service whose events it delivers. Its methods may be called concurrently.
type Service struct {
	o             Options
	client        *http.Client
	organizations roster.Roster // that have endpoints
	wake          chan struct{} // capacity 1: a worker is free
	stop          context.CancelFunc
	running       sync.WaitGroup

	mu    sync.Mutex
	busy  map[string]int // deliveries under way by endpoint
	total int
}

// New returns a Service, which delivers from now on.
func New(o Options) *Service {
	if o.Guard == nil {
		o.Guard = Guard(nil)
	}
	if o.Workers == 0 {
		o.Workers = defaultWorkers
	}
	s := &Service{o: o, client: o.Guard.Client(), organizations: roster.Roster{Store: o.Store, Prefix: "wh/"}, busy: map[string]int{}, wake: make(chan struct{}, 1)}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	s.running.Go(func() { s.dispatch(ctx) })
	return s
}

// Close ends what is under way, which is delivered again later, and waits for it.
// Closing twice is no error.
func (s *Service) Close() error {
	s.stop()
	s.running.Wait()
	s.o.Guard.Close()
	return nil
}
