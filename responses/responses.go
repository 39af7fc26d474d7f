// Package responses is the stateful half of the service: turns that are stored,
// chained and branched, with function tools, web search, tools of MCP servers and
// structured output.
//
// [Service.Stream] takes a [Request] and yields [Event] values as the model
// answers; [Service.Create] folds the same stream into the [Response]. A turn
// (turn.go) reads the history that it continues from, runs the model and the
// searches it asks for (search.go), turns what comes back into output items and
// events (emitter.go), and is stored in one transaction, with its charge, before
// its last event is yielded. What the model is sent is built from items alone
// (prompt.go), so that each turn repeats the one before it to the byte.
//
// Turns live in conversations, and package conversations keeps them.
package responses

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/ids"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/responses/filesearch"
	"github.com/seed-506d8e5d/svc/responses/websearch"
	"github.com/seed-506d8e5d/svc/storage"
)

// Documents reads uploaded files for models.
type Documents interface {
	// Stored returns a file of the caller's organization as a model reads it. The
	// error is NotFound with the code file_not_found where there is none, and
	// Invalid where it cannot be read.
	Stored(ctx context.Context, caller accounts.Caller, fileID string) (model.Document, error)

	// Inline returns a file that came with a request, or an Invalid error. An empty
	// mimeType is guessed. data is not changed or kept.
	Inline(ctx context.Context, name, mimeType string, data []byte) (model.Document, error)
}

// Options are what a Service is made of. Backend, Accounts and Conversations
// are required.
type Options struct {
	Backend       model.Backend
	Accounts      *accounts.Service
	Conversations *conversations.Service
	Documents     Documents        // nil: there are no files
	Search        websearch.Client // nil: requests with the web search tool are refused
	MCP           MCPClient        // nil: requests with tools of the type mcp are refused

	// SearchTimeout bounds one search; 0 is 10 seconds. MaxSearchRounds is how
	// often the model may search in one turn before it must answer; 0 is 8.
	SearchTimeout   time.Duration
	MaxSearchRounds int

	// CallTimeout bounds one call of a tool of an MCP server; 0 is a minute.
	// MaxCallRounds is how often the model may call such tools in one turn before it
	// must answer; 0 is 50.
	CallTimeout   time.Duration
	MaxCallRounds int

	// Ended writes in the transaction that ends a turn in the background; kind is
	// "response." and how it ended: completed, incomplete, failed or cancelled. nil
	// writes nothing.
	Ended func(tx storage.Tx, kind, id string) error

	Now   func() time.Time           // the clock; nil: time.Now
	NewID func(prefix string) string // makes IDs, later ones sorting after earlier ones; nil: random ones that do
	Log   *slog.Logger               // where searches that fail go; nil: slog.Default()
}

// Service makes turns. Its methods may be called concurrently. Every error is a
// *fault.Error or becomes one by fault.From.
type Service struct {
	o      Options
	models *model.Models
	engine *websearch.Engine                   // nil: none
	files  atomic.Pointer[filesearch.Searcher] // nil: none

	running *runningTurns
}

// New returns a Service, which must be closed.
func New(o Options) *Service {
	if o.SearchTimeout == 0 {
		o.SearchTimeout = 10 * time.Second
	}
	if o.MaxSearchRounds == 0 {
		o.MaxSearchRounds = 8
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = time.Minute
	}
	if o.MaxCallRounds == 0 {
		o.MaxCallRounds = 50
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = ids.New
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	s := &Service{o: o, models: model.Use(o.Backend), engine: websearch.Use(o.Search)}
	s.running = &runningTurns{s: s, stop: make(chan struct{}), of: map[*runningTurn]bool{}, background: map[storage.Namespace]int{}}
	return s
}

// UseFileSearch has turns search files with f. It is called once, before the first
// request.
func (s *Service) UseFileSearch(f filesearch.Searcher) { s.files.Store(&f) }

// Close ends the turns that run, which fail, and waits for them. No method may be
// called afterwards.
func (s *Service) Close() error {
	s.running.close()
	return nil
}

// Stream makes a turn and yields its events. What refuses the request is the
// error that Stream returns, or the first and only thing that the sequence
// yields: an Invalid request, a response, conversation, file or model that does
// not exist, no credits, a prompt over the context window, or a model server
// that does not take the request in half a second. Nothing is stored then.
//
// Otherwise the sequence begins with [EventCreated], when the model has taken the
// request or after half a second, and ends with [EventCompleted], with
// [EventIncomplete] where a policy blocked the output, or with
// [EventError] and [EventFailed] where the turn failed in the middle; the error
// that follows is a *[TurnError] then. Before its last event the turn is charged
// and, unless the request or the caller's organization forbids it, stored: as a
// failed one too, and as a cancelled one when ctx ends or the consumer stops, which
// a turn in the background takes no notice of. From its first event on it is stored
// as in progress. The sequence is single use.
func (s *Service) Stream(ctx context.Context, caller accounts.Caller, req *Request) (iter.Seq2[Event, error], error) {
	t, err := s.begin(ctx, caller, req)
	if err != nil {
		return nil, err
	}
	t.announced = true
	if req.Background {
		l, err := t.detach(ctx)
		if err != nil {
			return nil, err
		}
		return withError(l.follow(ctx, -1)), nil
	}
	return func(yield func(Event, error) bool) { t.run(ctx, yield) }, nil
}

// withError yields the error of a turn that failed behind its last event.
func withError(events iter.Seq2[Event, error]) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for event, err := range events {
			if !yield(event, err) {
				return
			}
			if event.Type == EventFailed {
				yield(Event{}, &TurnError{event.Response})
				return
			}
		}
	}
}

// Create makes a turn and returns its response, which is the one that the last
// event of [Service.Stream] carries. The error is what refused the request, or a
// *[TurnError] with the response of a turn that failed or was cancelled in the
// middle, as it is when ctx ends. A response in the background is returned as it
// begins, in progress.
func (s *Service) Create(ctx context.Context, caller accounts.Caller, req *Request) (*Response, error) {
	t, err := s.begin(ctx, caller, req)
	if err != nil {
		return nil, err
	}
	if req.Background {
		t.announced = true
		l, err := t.detach(ctx)
		if err != nil {
			return nil, err
		}
		return l.first().Response, nil
	}
	var last Event
	t.run(ctx, func(event Event, e error) bool {
		last, err = event, e
		return true
	})
	if err != nil {
		return nil, err
	}
	return last.Response, nil
}

// Delete removes a stored response: it can neither be read nor continued from.
// Its items stay in its conversation and in the histories of later turns. The
// error is NotFound.
func (s *Service) Delete(ctx context.Context, caller accounts.Caller, id string) error {
	return s.o.Conversations.DeleteTurn(ctx, caller, id)
}

// DeleteMany deletes responses in one transaction. Those that are not there are no
// error.
func (s *Service) DeleteMany(ctx context.Context, caller accounts.Caller, ids []string) error {
	return s.o.Conversations.DeleteTurns(ctx, caller, ids)
}

// InputItems returns a page of the input of a stored response: what was sent
// with it, without the history. The error is NotFound.
func (s *Service) InputItems(ctx context.Context, caller accounts.Caller, id string, p page.Params) (page.Page[conversations.Item], error) {
	p, err := page.Within(p, conversations.MaxPage, "")
	if err != nil {
		return page.Page[conversations.Item]{}, err
	}
	_, input, _, err := s.o.Conversations.GetTurn(ctx, caller, id)
	if err != nil {
		return page.Page[conversations.Item]{}, err
	}
	return page.Of(input, conversations.Item.ItemID, p)
}

// CountInput returns how many input tokens a request has, history included,
// without running it. Errors are those that refuse the request.
func (s *Service) CountInput(ctx context.Context, caller accounts.Caller, req *Request) (int, error) {
	t, err := s.check(ctx, caller, req)
	if err == nil {
		err = t.prepare(ctx)
	}
	if err != nil {
		return 0, err
	}
	return s.models.CountTokens(ctx, t.request())
}

// errNoDocuments is the answer to a reference to a file where there are none.
func errNoDocuments(id string) error { return fault.Missing(CodeFileNotFound, "file", id) }

// CodeFileNotFound is the code of the error for a file that does not exist.
const CodeFileNotFound = fault.CodeFileNotFound

// The causes of answers that are of no use.
var (
	errBroken     = errors.New("responses: the backend broke the contract of package model")
	errSearchesOn = errors.New("responses: a search or a call was asked for that was not offered")
)
