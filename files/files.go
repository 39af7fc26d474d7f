// Package files keeps uploaded documents and finds the text in them.
//
// [Service.Create] takes an upload as a stream: its bytes go into the store chunk
// by chunk under keys that nothing can see, until one small transaction makes
// the file visible (blob.go, draft.go). The text of PDF and Word documents is
// extracted in the background by an [Extractor] (queue.go, work.go): [Process]
// runs each extraction in a process that can be killed, [InProcess] in the
// program itself. What the end of the process interrupts, [Service.Recover]
// takes up again or removes.
//
// A prompt gets the text of a file from [Service.Stored], and that of a document
// that came with the request from [Service.Inline].
package files

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-506d8e5d/svc/cluster"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/ids"
	"github.com/seed-506d8e5d/svc/storage"
)

// The codes of the package's errors, from the spec's error table.
const (
	CodeUnsupported  = "unsupported_file_type" // Invalid: a type that the service does not read
	CodeNotFound     = fault.CodeNotFound      // NotFound: an operation on a file that the organization does not have
	CodeFileNotFound = fault.CodeFileNotFound  // NotFound: a prompt that refers to such a file
	CodeTooLarge     = "file_too_large"        // TooLarge
)

// The purposes of files. A file is uploaded for one of the first two, or with
// [Options].Open for one of [OpenPurposes].
const (
	Purpose     = "assistants"
	Batch       = "batch"        // the lines of a batch: JSON Lines, which no prompt refers to
	BatchOutput = "batch_output" // what the lines of a batch were answered
)

// OpenPurposes are the further purposes of OpenAI's API: files with them are as those
// with [Purpose].
var OpenPurposes = []string{"fine-tune", "vision", "user_data", "evals"}

// The bounds of the interface, and those that it leaves open.
const (
	MaxBytes    = 50_000_000  // of a file
	MaxBatch    = 200_000_000 // bytes of the lines of a batch
	maxOutput   = 1 << 40     // bytes of a file that the service makes
	MaxText     = 64 << 20    // bytes of the text of a file
	MaxFilename = 255         // bytes of a file's name; a longer one is cut
	MaxPage     = 10_000      // files in a page of a list

	MinExpiry = time.Hour           // the least time after which a file may expire
	MaxExpiry = 30 * 24 * time.Hour // and the most
)

// Options are what a Service is made of. Only Store is required.
type Options struct {
	Store storage.Store // the Service does not close it

	// Cluster is this process among those that share the store; nil: alone.
	Cluster *cluster.Member

	// Open has the service take what OpenAI's API takes besides: further purposes,
	// HTML, PowerPoint and Excel, and files whose type is found from their content
	// and their name.
	Open bool

	// Extractor reads documents that are not plain text; nil is [InProcess], whose
	// documentation says what it risks.
	Extractor Extractor

	// Workers is how many uploaded files are read at the same time, and as many
	// inline documents besides; 0 is two, or three on a machine with four
	// processors and more. One organization's files have all workers but one,
	// where there are several. Timeout bounds one extraction; 0 is a minute.
	Workers int
	Timeout time.Duration

	Now   func() time.Time           // the clock; nil: time.Now
	NewID func(prefix string) string // makes IDs, later ones sorting after earlier ones; nil: random ones that do
	Log   *slog.Logger               // gets a line when an extraction begins and ends; nil: slog.Default()
}

// Service keeps files. Make one with [New] and end it with [Service.Close],
// before its store is closed. Its methods may be called concurrently. Every
// error is a *fault.Error or becomes one by fault.From.
type Service struct {
	store     *storage.DB
	extractor Extractor
	timeout   time.Duration
	now       func() time.Time
	newID     func(prefix string) string
	log       *slog.Logger
	cluster   *cluster.Member
	open      bool
	joined    bool   // by this service, which ends it
	owner     []byte // the value of what this process works on: blobs that are written, files that wait

	buffers sync.Pool     // of *[batchSize]byte, for blobs being written
	inline  chan struct{} // has an element for each inline document being read
	queue   *queue
	expiry  *expiry

	onRemove atomic.Pointer[func(storage.Tx, string) error]

	stop    context.CancelFunc // ends the background goroutines
	running sync.WaitGroup     // of them
}

// New returns a Service over the store and starts its background goroutines. The
// error says which option is missing. A service over a store that was used
// before must [Service.Recover] each organization.
func New(o Options) (*Service, error) {
	if o.Store == nil {
		return nil, errors.New("files: Options.Store is nil")
	}
	s := &Service{
		store: storage.Use(o.Store), extractor: o.Extractor, timeout: o.Timeout,
		expiry: newExpiry(), cluster: o.Cluster, open: o.Open,
	}
	if s.cluster == nil {
		var err error
		if s.cluster, err = cluster.Join(context.Background(), cluster.Options{Store: s.store, Log: o.Log}); err != nil {
			return nil, err
		}
		s.joined = true
	}
	s.owner = []byte(s.cluster.ID())
	s.buffers.New = func() any { return new([batchSize]byte) }
	if s.extractor == nil {
		s.extractor = InProcess{}
	}
	if s.timeout == 0 {
		s.timeout = time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = ids.New
	}
	s.now, s.newID, s.log = o.Now, o.NewID, cmp.Or(o.Log, slog.Default())
	if o.Workers == 0 {
		o.Workers = 1 + min(2, max(1, runtime.NumCPU()/2))
	}
	s.inline = make(chan struct{}, o.Workers)
	s.queue = newQueue(o.Workers)
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	for range o.Workers {
		s.running.Go(func() { s.work(ctx) })
	}
	s.running.Go(func() { s.expire(ctx) })
	return s, nil
}

// OnRemove has fn called in each transaction that removes a file, with its ID, to remove
// what others keep of the file. An error of fn is that of the removal. It replaces the
// function of an earlier call.
func (s *Service) OnRemove(fn func(tx storage.Tx, id string) error) { s.onRemove.Store(&fn) }

// Close ends the background work and waits for it. An extraction that runs is
// interrupted; the next start does it again. Closing twice is no error.
func (s *Service) Close() error {
	s.stop()
	s.running.Wait()
	if s.joined {
		return s.cluster.Close()
	}
	return nil
}
