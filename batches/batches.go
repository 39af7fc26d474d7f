// Package batches runs many requests from a file: each line of an uploaded file of
// JSON Lines is a request to one route, and the answers are a file again.
//
// [Service.Create] takes a batch. A file is validated as a whole before any of its
// lines runs (validate.go), and is divided into segments: consecutive lines, which
// one process runs one after the other (run.go). Segments belong to processes, as
// leases: those of a dead process are free. A line is run by the code that serves a
// request of its route, and its answer and its charges are written in one
// transaction, which checks that the segment still belongs to the process: so every
// line is answered and charged once, whatever is killed. In the end the answers are
// put together in the order of the lines (finish.go).
//
// Every process on a store looks for work in all batches (dispatch.go); the
// organizations take turns.
package batches

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/cluster"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/internal/roster"
	"github.com/seed-506d8e5d/svc/storage"
)

// The bounds of batches.
const (
	MaxLines   = 50_000         // requests in a batch
	MaxLine    = 16 << 20       // bytes of one
	MaxPage    = 100            // batches in a page of a list
	MaxWaiting = 100            // batches of an organization that have not ended
	Window     = 24 * time.Hour // after which a batch expires

	defaultWorkers = 16
)

const embeddings = "/v1/embeddings"

// Endpoints are the routes that lines may be sent to.
var Endpoints = []string{
	"/v1/responses", "/v1/chat/completions", "/v1/completions", embeddings, "/v1/decisions", "/v1/systemone", "/v1/rerank", "/v1/moderations",
}

// Answer answers one request to a route as it is answered over HTTP. Where the caller
// has a [accounts.Deferred], nothing is charged or stored yet.
type Answer func(ctx context.Context, caller accounts.Caller, path string, body []byte) (status int, requestID string, answer []byte)

// Options configure a [Service]. The first fields are parts of the service that the
// requests are made to, and required.
type Options struct {
	Store    *storage.DB
	Cluster  *cluster.Member
	Accounts *accounts.Service
	Files    *files.Service
	Model    func(ctx context.Context, caller accounts.Caller, id string) error // why the caller may not use a model; nil where it may
	Now      func() time.Time
	NewID    func(prefix string) string
	Log      *slog.Logger

	Price   float64 // share of the price that a line costs; 0 is the whole price
	Workers int     // lines that this process has under way at once; 0 is 16

	// LinesOfOrganization is how many lines an organization may have under way at once
	// in this process; 0 is as many as there are workers. The organization's own limit
	// of concurrent requests bounds them, too.
	LinesOfOrganization int

	// Lines returns how many lines to a model this process should have under way at
	// once, 0 for any number. Where they are more than its server takes, lines that
	// share the beginning of a prompt lose what the server has cached of it to the
	// lines between them. nil is any number of every model.
	Lines func(model string) int

	// Ended writes in the transaction that ends a batch; kind is "batch.completed" or
	// another event of that form. nil writes nothing.
	Ended func(tx storage.Tx, kind, id string) error
}

// Service keeps batches and runs them. It is made before the server's handler, started
// with it, and closed before the service that its parts belong to. Its methods may be
// called concurrently.
type Service struct {
	o             Options
	organizations roster.Roster // that may have batches with something left to do
	answer        Answer
	wake          chan struct{} // capacity 1
	stop          context.CancelFunc
	running       sync.WaitGroup

	mu       sync.Mutex
	busy     map[string]bool           // what this process works on, by batch, or batch and segment
	stopping map[string]bool           // batches whose lines are not to begin any more
	workers  map[storage.Namespace]int // that work for an organization
	total    int                       // workers of all
	segments map[string]int            // that run, by the model of their batch
	limits   map[storage.Namespace]int // of the lines of organizations, where they are known
	hungry   map[storage.Namespace]bool
	resting  map[storage.Namespace]time.Time // until when nothing begins for an organization
}

// New returns a Service, which runs nothing before [Service.Start].
func New(o Options) *Service {
	o.Workers = cmp.Or(o.Workers, defaultWorkers)
	if o.Lines == nil {
		o.Lines = func(string) int { return 0 }
	}
	return &Service{
		o: o, organizations: roster.Roster{Store: o.Store, Prefix: organizationPrefix}, wake: make(chan struct{}, 1), stop: func() {},
		busy: map[string]bool{}, stopping: map[string]bool{}, workers: map[storage.Namespace]int{},
		segments: map[string]int{}, limits: map[storage.Namespace]int{}, hungry: map[storage.Namespace]bool{}, resting: map[storage.Namespace]time.Time{},
	}
}

// Start runs batches in the background, with what answers their lines.
func (s *Service) Start(answer Answer) {
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	s.answer = answer
	s.running.Go(func() { s.dispatch(ctx) })
}

// Close cancels the lines that run and waits for them: their answers are lost, and
// they are run again after the next start, or by another process. Closing twice is no
// error.
func (s *Service) Close() error {
	s.stop()
	s.running.Wait()
	return nil
}

// log says what failed that nobody waits for and that is tried again.
func (s *Service) log(ctx context.Context, ns storage.Namespace, id string, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, errLost) && !errors.Is(err, errHalted) {
		s.o.Log.LogAttrs(ctx, slog.LevelError, "batches: work on a batch failed and will be tried again",
			slog.String("organization", string(ns)), slog.String("batch", id), slog.Any("err", err))
	}
}
