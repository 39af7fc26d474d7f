// Package vectorstores finds passages in files: a vector store is a set of files whose
// text is cut into chunks, which are searched.
//
// [Service.Create] makes a store, [Service.Attach] and [Service.CreateBatch] put files
// into it, and [Service.Search] finds chunks of them. A file is indexed in the
// background (dispatch.go, indexing.go): its text is cut (internal/chunk), and the
// chunks are written together with their words (internal/index) as records of the
// organization, which a last transaction makes visible. Any process on the store goes
// on with what one that died has begun. A search runs on a copy of the words in memory
// (cache.go), which is brought up to date before it and can be made again at any time
// from the records; the texts that it returns are read from the records, so that
// nothing is found that is deleted.
//
// What is removed disappears in one transaction. Of a file that has more records than
// one transaction should delete, and of a store, the rest is removed in the background
// (sweep.go).
package vectorstores

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/cluster"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/internal/roster"
	"github.com/seed-506d8e5d/svc/storage"
)

// The bounds of vector stores.
const (
	MaxFiles      = 10_000    // in a store
	MaxChunks     = 1_000_000 // in a store
	MaxStores     = 200       // that a file may be in
	MaxCreate     = 500       // files that a store is created with
	MaxBatch      = 2000      // files in a batch
	MaxPage       = 100       // objects in a page of a list
	MaxResults    = 50        // of a search
	MaxQueries    = 16        // of a search
	MaxQuery      = 16 << 10  // bytes of a query
	MaxName       = 256       // characters of a name
	MaxExpiryDays = 365

	DefaultResults = 10 // of a search
)

// Embed turns texts into vectors of finite numbers, all of one length, and charges the
// caller for them.
type Embed func(ctx context.Context, caller accounts.Caller, model string, texts []string) ([][]float32, error)

// Options configure a [Service]. The first fields are parts of the service whose
// files are searched, and required.
type Options struct {
	Store    *storage.DB
	Cluster  *cluster.Member
	Accounts *accounts.Service
	Files    *files.Service
	Now      func() time.Time
	NewID    func(prefix string) string
	Log      *slog.Logger

	// Model is the model that chunks and queries are embedded with, by Embed; empty:
	// searches are by words alone. A store keeps to the model of its first vectors.
	Model string
	Embed Embed

	Workers int // files that this process indexes at once; 0: as many as it has processors, up to 4
	Memory  int // bytes that the words of stores may take in memory; those that were not searched lately leave it; 0 is 2 GiB
}

const defaultMemory = 2 << 30

// Service keeps vector stores, indexes their files and searches them. It must be
// closed, before the service that its parts belong to. Its methods may be called
// concurrently. Every error is a *fault.Error or becomes one by fault.From.
type Service struct {
	o             Options
	organizations roster.Roster // that may have work
	wake          chan struct{} // capacity 1
	stop          context.CancelFunc
	running       sync.WaitGroup
	searches      chan struct{} // has an element for each search that computes
	analyzers     sync.Pool     // of *index.Analyzer

	mu    sync.Mutex
	busy  map[work]bool      // what this process works on
	held  map[work]bool      // marks of drafts that it writes
	later map[work]time.Time // when what failed is tried again
	cache map[storeKey]*cache
}

// New returns a Service, which indexes from now on. Files that are deleted leave its
// stores.
func New(o Options) *Service {
	if o.Workers == 0 {
		o.Workers = min(4, runtime.GOMAXPROCS(0))
	}
	if o.Memory == 0 {
		o.Memory = defaultMemory
	}
	s := &Service{
		o: o, organizations: roster.Roster{Store: o.Store, Prefix: "vs/"}, wake: make(chan struct{}, 1),
		searches: make(chan struct{}, runtime.GOMAXPROCS(0)), busy: map[work]bool{}, held: map[work]bool{}, later: map[work]time.Time{}, cache: map[storeKey]*cache{},
	}
	o.Files.OnRemove(s.fileRemoved)
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	s.running.Go(func() { s.dispatch(ctx) })
	return s
}

// Close ends the background work, which is done again after the next start, and waits
// for it. Closing twice is no error.
func (s *Service) Close() error {
	s.stop()
	s.running.Wait()
	return nil
}

// log says what failed that nobody waits for and that is tried again.
func (s *Service) log(ctx context.Context, ns storage.Namespace, w work, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, errLost) {
		s.o.Log.LogAttrs(ctx, slog.LevelError, "vectorstores: background work failed and will be tried again",
			slog.String("organization", string(ns)), slog.String("store", w.store), slog.String("object", w.object), slog.Any("err", err))
	}
}
