// Package svc is an inference service for a Go program: five interfaces in
// front of any language model. A [Service] judges ([Service.Decide]), holds
// stateful turns ([Service.CreateResponse], [Service.StreamResponse]), answers
// stateless chats ([Service.CompleteChat], [Service.StreamChat]), and keeps
// conversations ([Service.CreateConversation]) and files ([Service.UploadFile]),
// for any number of organizations with their own keys, credits and data.
//
//	service, err := svc.New(ctx, svc.Options{})
//	defer service.Close()
//	caller, err := service.LocalCaller(ctx)
//	judgment, err := service.Decide(ctx, caller, &decisions.Request{…})
//
// Every operation is done for a [Caller]. [Service.LocalCaller] returns that of a
// program that uses the service for itself, [Service.CallerFor] that of an
// organization, and [Service.Authenticate] makes one from an API key. Requests and
// answers are types of the package that is named for their noun: decisions,
// responses, chat, conversations and files. What lies under the service is
// exchangeable: where it keeps its data (package storage) and which model answers
// (package model). Package httpapi puts the service on the network, and the
// program svcd runs it.
package svc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/cluster"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/embeddings"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/idempotency"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/internal/format"
	"github.com/seed-506d8e5d/svc/internal/ids"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/builtin"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/responses/websearch"
	"github.com/seed-506d8e5d/svc/route"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// What most programs that embed the service have to name.
type (
	// Caller is who an operation is done for.
	Caller = accounts.Caller
	// Error is the error of an operation that failed, or what [fault.From] makes of
	// it. Its Kind says who has to do what about it.
	Error = fault.Error
	// Prices are those of one model.
	Prices = accounts.Prices
	// Accounting replaces the built-in credits, ledger and limits by the program's own.
	Accounting = accounts.Accounting
)

// NoAccounting is the accounting of a program that needs none: no credits, no
// ledger, no limits.
var NoAccounting Accounting = accounts.Off{}

// DefaultOrganization is the ID of the organization that [Service.Bootstrap]
// creates.
const DefaultOrganization = accounts.DefaultOrganization

// Options configure a Service. The zero value makes a service that keeps everything
// in memory and answers with the built-in model.
type Options struct {
	// Store holds all data; nil is a store in memory. The program closes the store
	// that it opened, after the service.
	Store storage.Store

	// Backend is the model; nil is the built-in one. A backend that is a
	// model.Scorer decides, too, and one that is a model.Embedder embeds.
	Backend model.Backend

	// Aliases are further names of models, from name to model ID. Answers, prices
	// and the models of a key go by the ID.
	Aliases map[string]string

	// Search is the service behind the web search tool; nil refuses requests with
	// the tool.
	Search websearch.Client

	// MCP reaches servers of the Model Context Protocol for the tool mcp of responses
	// (see package responses/mcptools); nil refuses requests with the tool. The program
	// closes it, after the service.
	MCP responses.MCPClient

	// Open has package httpapi take what OpenAI's API takes where the interface that the
	// specification describes refuses it: images in prompts, inline files, items of every
	// kind, and more (docs/open.md).
	Open bool

	// AnyItems lets callers add assistant messages, function calls and their outputs
	// to conversations, where the interface takes messages of the user alone. It is a
	// part of Open.
	AnyItems bool

	// Extractor reads uploaded PDF and Word documents. Nil is files.InProcess,
	// which a hostile document can bring down the program through; one that takes
	// files from strangers has a files.Process.
	Extractor files.Extractor

	// Accounting replaces the built-in credits, ledger and limits. Nil keeps the
	// built-in ones; NoAccounting has none.
	Accounting Accounting

	// Policies judge what models are asked and what they answer, by name; DefaultPolicies
	// are the names of those that hold for every request. Others hold for the
	// organizations and requests that name them. New fails where one could not be asked.
	Policies        map[string]guard.Policy
	DefaultPolicies []string

	// Routes are models that choose, by ID, which model answers; see package route. New
	// fails where one cannot.
	Routes map[string]route.Route

	// PolicyDecided is told what each policy says of each stage; nil is not.
	PolicyDecided func(policy string, stage guard.Stage, outcome guard.Outcome)

	// Hooks are called before every call of a model and after its answer.
	Hooks model.Hooks

	// TurnEnded writes in the transaction that ends a turn in the background, such as
	// what package webhooks delivers; kind is "response." and how it ended: completed,
	// incomplete, failed or cancelled. Nil writes nothing.
	TurnEnded func(tx storage.Tx, kind, id string) error

	// Observer measures what the service does; nil measures nothing. Package
	// telemetry has one.
	Observer Observer

	// Tuning has limits and timeouts with good defaults.
	Tuning Tuning

	// Prices are prices by model ID. A model that is not in it has DefaultPrices;
	// nil stands for those of accounts.DefaultPrices.
	Prices        map[string]Prices
	DefaultPrices *Prices

	// MaxDuration is how long one operation may have models work, all calls of
	// them together; 0 is 30 minutes.
	MaxDuration time.Duration

	// Logger gets the failures of background work; nil is slog.Default().
	Logger *slog.Logger

	// Now is the clock and NewID makes the IDs of objects: the prefix, an underscore
	// and more, later ones sorting after earlier ones, also over all services that
	// share the store. Nil is the real clock and random IDs, which are in the order of the store's clock where
	// the store is a storage.MultiProcess and a storage.Clock.
	Now   func() time.Time
	NewID func(prefix string) string
}

// Tuning has limits and timeouts. Zero stands for the default, which each comment
// names.
type Tuning struct {
	Extractions       int           // documents whose text is extracted at once; 2, or 3 from four processors on
	ExtractionTimeout time.Duration // of one document; a minute
	SearchTimeout     time.Duration // of one web search; 10 seconds
	MaxSearchRounds   int           // how often a model may search in one turn; 8
	DecisionCalls     int           // calls of a model that one decision has under way at once; decisions.DefaultConcurrency
}

// Observer measures what a service does.
type Observer interface {
	// Wrap replaces the store, the backend, the extractor and the search of the
	// options, whose defaults are filled in, by ones that measure. Hooks run outside of
	// them.
	Wrap(o *Options)

	// Watch is called with the service once it is made, for gauges that ask it.
	Watch(s *Service)
}

// Service is the product: one plain method per operation of the interface, in
// the files of this package that are named for the nouns. All methods may be
// called concurrently. They return errors that are *[Error] values or become
// one with fault.From.
type Service struct {
	*state
	accounts *accounts.Service // for one actor, see [Service.As]
}

// state is what the Services of all actors share, see [Service.As].
type state struct {
	store         *storage.DB
	models        *model.Models
	aliases       map[string]string
	searches      bool // there is a search service
	open          bool // see [Options].Open
	cluster       *cluster.Member
	decisions     *decisions.Service
	guard         *guard.Service
	chat          *chat.Service
	embeddings    *embeddings.Service
	conversations *conversations.Service
	responses     *responses.Service
	files         *files.Service
	idempotency   *idempotency.Service
	log           *slog.Logger
	now           func() time.Time           // how long things take
	dates         func() time.Time           // when objects were made, and when they expire
	newID         func(prefix string) string // see [Options].NewID
	ownIDs        bool                       // newID is the service's own
	began         int64                      // when the service was made, in Unix seconds

	lifecycle  *lifecycle
	background sync.WaitGroup
	closing    sync.Once
	closers    []func() error // run last to first
}

// New returns a Service, which must be closed. ctx bounds the start alone, which
// reads next to nothing: work that dead processes have left is recovered in the
// background. Where the store has no organization yet, [Service.Bootstrap] makes
// one.
func New(ctx context.Context, o Options) (*Service, error) {
	s := &Service{state: &state{lifecycle: newLifecycle(), aliases: o.Aliases, searches: o.Search != nil, open: o.Open}}
	if s.now = o.Now; s.now == nil {
		s.now = time.Now
	}
	s.log = cmp.Or(o.Logger, slog.Default())
	if o.Store == nil {
		o.Store = memstore.New()
		s.closers = append(s.closers, o.Store.Close)
	}
	if o.Backend == nil {
		standIn := builtin.New()
		standIn.First = func() {
			s.log.Warn("svc: the built-in model answers, a stand-in that compares words and does not reason; name a real one with svcd -upstream URL, or with svc.Options.Backend")
		}
		o.Backend = standIn
	}
	if o.Extractor == nil {
		o.Extractor = files.InProcess{}
	}
	if o.Observer != nil {
		o.Observer.Wrap(&o)
	}
	s.store, s.models = storage.Use(o.Store), model.Use(model.WithHooks(o.Backend, o.Hooks))
	if err := s.openRoutes(ctx, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.checkAliases(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := format.Open(ctx, s.store, s.log); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.assemble(ctx, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if o.Observer != nil {
		o.Observer.Watch(s)
	}
	s.background.Go(func() { s.recoverAlways(s.lifecycle.cancelled) })
	s.background.Go(func() { s.sweep(s.lifecycle.cancelled) })
	if s.cluster.Shared() {
		s.background.Go(func() { background.Every(s.lifecycle.cancelled, clearEvery, nil, s.conversations.ClearQueues) })
	}
	return s, nil
}

// clearEvery is the interval at which places of ended turns are removed from stored
// queues where the store failed to remove them at once.
const clearEvery = time.Second

// assemble makes the services for the nouns.
func (s *Service) assemble(ctx context.Context, o Options) (err error) {
	s.cluster, err = cluster.Join(ctx, cluster.Options{Store: s.store, Log: s.log})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, s.cluster.Close)
	if s.ownIDs = o.NewID == nil; s.ownIDs {
		o.NewID = (&ids.Clock{Now: s.store.Now}).New // lists of what several processes make are in its order
	}
	s.accounts, err = accounts.New(ctx, accounts.Options{
		Store: s.store, Cluster: s.cluster, Prices: o.Prices, DefaultPrices: o.DefaultPrices, Accounting: o.Accounting,
		MaxDuration: o.MaxDuration, Now: o.Now, NewID: o.NewID, Log: s.log,
	})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, s.accounts.Close)
	if o.Now == nil {
		o.Now = s.store.Now // when objects were made, and when they expire, is as their order is
	}
	s.dates, s.newID, s.began = o.Now, o.NewID, o.Now().Unix()
	s.files, err = files.New(files.Options{
		Store: s.store, Cluster: s.cluster, Extractor: o.Extractor, Workers: o.Tuning.Extractions, Timeout: o.Tuning.ExtractionTimeout,
		Open: o.Open, Now: o.Now, NewID: o.NewID, Log: s.log,
	})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, s.files.Close)
	s.chat, err = chat.New(chat.Options{
		Accounts: s.accounts, Backend: s.models, Store: s.store, Documents: s.files, Now: o.Now, NewID: o.NewID,
	})
	if err != nil {
		return err
	}
	s.embeddings = embeddings.New(s.accounts, s.models)
	s.idempotency = idempotency.New(idempotency.Options{Store: o.Store, Now: o.Now, Log: o.Logger})
	s.conversations = conversations.New(conversations.Options{Store: s.store, Cluster: s.cluster, AnyItems: o.AnyItems || o.Open, Now: o.Now, NewID: o.NewID, Log: s.log})
	s.decisions = decisions.New(decisions.Options{
		Backend: s.models, Accounts: s.accounts, States: stateReader{s.conversations, s.files}, Store: o.Store, Now: o.Now, NewID: o.NewID, Concurrency: o.Tuning.DecisionCalls, Log: s.log,
	})
	if err := s.openGuard(ctx, o); err != nil {
		return err
	}
	s.responses = responses.New(responses.Options{
		Backend: s.models, Accounts: s.accounts, Conversations: s.conversations, Documents: s.files, Search: o.Search, MCP: o.MCP,
		SearchTimeout: o.Tuning.SearchTimeout, MaxSearchRounds: o.Tuning.MaxSearchRounds, Ended: o.TurnEnded,
		Now: o.Now, NewID: o.NewID, Log: s.log,
	})
	s.closers = append(s.closers, s.responses.Close)
	return nil
}

// Open reports whether the service has the open interface; see [Options].Open.
func (s *Service) Open() bool { return s.open }

// Models returns the models that the caller's key may use, in the order of the
// backend. There is no error; a client, which has to ask, has one.
func (s *Service) Models(_ context.Context, caller Caller) ([]model.Info, error) {
	var models []model.Info
	for _, info := range s.models.List() {
		if caller.Allow(info.ID) == nil {
			models = append(models, s.dated(info))
		}
	}
	return models, nil
}

// Model returns the model with an ID. The error is NotFound, also for a model
// that the caller's key may not use.
func (s *Service) Model(_ context.Context, caller Caller, id string) (model.Info, error) {
	info, ok := s.models.Find(s.modelID(id))
	if !ok || caller.Allow(info.ID) != nil {
		return model.Info{}, fault.Missing(model.CodeNotFound, "model", id)
	}
	return s.dated(info), nil
}

// dated returns a model with the time of its creation: where the backend does not know
// that, with the time at which the service began to use it.
func (s *Service) dated(info model.Info) model.Info {
	info.Created = cmp.Or(info.Created, s.began)
	return info
}

// modelID returns the ID of the model that a request names. Every method whose
// request names a model asks for it.
func (s *Service) modelID(name string) string {
	if id, ok := s.aliases[name]; ok {
		return id
	}
	return name
}

// checkAliases returns what is wrong with the further names of models.
func (s *Service) checkAliases() error {
	for name, id := range s.aliases {
		if _, ok := s.models.Find(id); !ok {
			return fmt.Errorf("svc: %q is an alias of the model %q, which does not exist", name, id)
		}
		for _, info := range s.models.List() {
			if info.ID == name {
				return fmt.Errorf("svc: the alias %q is the ID of a model", name)
			}
		}
	}
	return nil
}

// CursorAt returns the After of a page, newest first, of objects whose IDs have a
// prefix, such as resp, that begins with the newest of those made before a time. It is
// empty, which is the beginning of the list, where [Options].NewID makes the IDs.
func (s *Service) CursorAt(prefix string, at time.Time) string {
	if !s.ownIDs {
		return ""
	}
	return ids.Before(prefix, at)
}
