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
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/internal/page"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/builtin"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/responses/websearch"
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
)

// DefaultOrganization is the ID of the organization that [Service.Bootstrap]
// creates.
const DefaultOrganization = accounts.DefaultOrganization

// Options are what a Service is made of. The zero value is a service that keeps
// everything in memory and answers with the built-in model.
type Options struct {
	// Store keeps everything; nil is a store in memory. The service closes it.
	Store storage.Store

	// Backend is the model; nil is the built-in one. A backend that is a
	// model.Scorer decides, too.
	Backend model.Backend

	// Aliases are further names of models, from name to model ID. Answers, prices
	// and the models of a key go by the ID.
	Aliases map[string]string

	// Search is the service behind the web search tool; nil refuses requests with
	// the tool.
	Search websearch.Client

	// AnyItems lets callers add assistant messages, function calls and their outputs
	// to conversations, where the interface takes messages of the user alone.
	AnyItems bool

	// Extractor reads uploaded PDF and Word documents. Nil is files.InProcess,
	// which a hostile document can bring down the program through; one that takes
	// files from strangers has a files.Process.
	Extractor files.Extractor

	// Prices are prices by model ID. A model that is not in it has DefaultPrices;
	// nil stands for those of accounts.DefaultPrices.
	Prices        map[string]Prices
	DefaultPrices *Prices

	// Logger gets the failures of background work; nil is slog.Default().
	Logger *slog.Logger

	// Now is the clock and NewID makes the IDs of objects, later ones sorting
	// after earlier ones. Nil is the real clock and random IDs.
	Now   func() time.Time
	NewID func(prefix string) string
}

// Service is the product: one plain method per operation of the interface, in
// the files of this package that are named for the nouns. All methods may be
// called concurrently. They return errors that are *[Error] values or become
// one with fault.From.
type Service struct {
	store         *storage.DB
	models        *model.Models
	aliases       map[string]string
	accounts      *accounts.Service
	decisions     *decisions.Service
	chat          *chat.Service
	conversations *conversations.Service
	responses     *responses.Service
	files         *files.Service
	closers       []func() error // run last to first
}

// New returns a Service, which must be closed. ctx bounds the start alone. Where
// the store has no organization yet, [Service.Bootstrap] makes one.
func New(ctx context.Context, o Options) (*Service, error) {
	if o.Store == nil {
		o.Store = memstore.New()
	}
	if o.Backend == nil {
		o.Backend = builtin.New()
	}
	s := &Service{store: storage.Use(o.Store), models: model.Use(o.Backend), aliases: o.Aliases}
	s.closers = append(s.closers, o.Store.Close)
	err := s.checkAliases()
	if err != nil {
		s.Close()
		return nil, err
	}
	s.accounts, err = accounts.New(ctx, accounts.Options{
		Store: o.Store, Prices: o.Prices, DefaultPrices: o.DefaultPrices, Now: o.Now, NewID: o.NewID, Log: o.Logger,
	})
	if err != nil {
		s.Close()
		return nil, err
	}
	s.closers = append(s.closers, s.accounts.Close)
	s.files, err = files.New(files.Options{Store: o.Store, Extractor: o.Extractor, Now: o.Now, NewID: o.NewID, Log: o.Logger})
	if err != nil {
		s.Close()
		return nil, err
	}
	s.closers = append(s.closers, s.files.Close)
	s.chat, err = chat.New(chat.Options{
		Accounts: s.accounts, Backend: o.Backend, Store: o.Store, Documents: s.files, Now: o.Now, NewID: o.NewID, Log: o.Logger,
	})
	if err != nil {
		s.Close()
		return nil, err
	}
	s.conversations = conversations.New(conversations.Options{Store: o.Store, AnyItems: o.AnyItems, Now: o.Now, NewID: o.NewID, Log: o.Logger})
	if err := s.recoverConversations(ctx); err != nil {
		s.Close()
		return nil, err
	}
	s.decisions = decisions.New(decisions.Options{
		Backend: o.Backend, Accounts: s.accounts, States: states{s.conversations, s.files},
	})
	s.responses = responses.New(responses.Options{
		Backend: o.Backend, Accounts: s.accounts, Conversations: s.conversations, Documents: s.files, Search: o.Search,
		Now: o.Now, NewID: o.NewID, Log: o.Logger,
	})
	if err := s.recover(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// recoverPage is how many organizations recover reads at once.
const recoverPage = 1000

// recover takes up, organization by organization, what the end of the process
// before this one interrupted.
func (s *Service) recover(ctx context.Context) error {
	for p := (page.Params{Limit: recoverPage}); ; {
		organizations, err := s.accounts.Organizations(ctx, p)
		if err != nil {
			return err
		}
		for _, o := range organizations.Items {
			ns := accounts.Caller{Organization: o.ID}.Namespace()
			if err := errors.Join(s.conversations.Recover(ctx, ns), s.files.Recover(ctx, ns)); err != nil {
				return fmt.Errorf("svc: recovering the organization %s: %w", o.ID, err)
			}
			p.After = o.ID
		}
		if !organizations.HasMore {
			return nil
		}
	}
}

// Close ends background work, waits for it and closes the store. Operations
// must have ended before. It returns the first error; closing twice is no error.
func (s *Service) Close() error {
	var first error
	for _, closer := range slices.Backward(s.closers) {
		if err := closer(); err != nil && first == nil {
			first = err
		}
	}
	s.closers = nil
	return first
}

// Models returns the models that the caller's key may use, in the order of the
// backend.
func (s *Service) Models(caller Caller) []model.Info {
	var models []model.Info
	for _, info := range s.models.List() {
		if caller.Allow(info.ID) == nil {
			models = append(models, info)
		}
	}
	return models
}

// Model returns the model with an ID. The error is NotFound, also for a model
// that the caller's key may not use.
func (s *Service) Model(caller Caller, id string) (model.Info, error) {
	info, ok := s.models.Find(s.modelID(id))
	if !ok || caller.Allow(info.ID) != nil {
		return model.Info{}, fault.Missing(model.CodeNotFound, "model", id)
	}
	return info, nil
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
