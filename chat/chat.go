// Package chat is the Chat Completions interface: stateless generation from a
// full list of messages, and the completions kept from it.
//
// [Service.Stream] answers a [Request] with a sequence of [Chunk] values and
// [Service.Complete] with the whole [Completion]; they are the same generation.
// A completion that its request does not keep out of storage can be read back,
// tagged anew and deleted. [Service.StreamText] and [Service.CompleteText] are the
// legacy Completions interface: the same generation from a text to be continued.
package chat

import (
	"context"
	"errors"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/ids"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/storage"
)

// The codes of the errors that this package adds to the spec's.
const (
	CodeNotFound = "completion_not_found" // NotFound: no such stored completion
	CodeTooLarge = fault.CodeTooLarge     // TooLarge: more than the service stores with a completion
)

// Documents turns the files of a request into what a model reads. Errors are
// *fault.Error values; those without a param get that of the file's part. The
// methods may be called concurrently and end with ctx.
type Documents interface {
	// Stored returns the text of an uploaded file of the caller's organization,
	// or a NotFound error with the code file_not_found.
	Stored(ctx context.Context, caller accounts.Caller, id string) (model.Document, error)

	// Inline returns the text of a file that came with the request, or an Invalid
	// error where its type is not supported or data is not of its type. An empty
	// mimeType is guessed from the name. data is not changed or kept.
	Inline(ctx context.Context, name, mimeType string, data []byte) (model.Document, error)
}

// Options are what a Service is made of. Accounts, Backend, Store and Documents
// are required; the Service closes none of them.
type Options struct {
	Accounts  *accounts.Service
	Backend   model.Backend
	Store     storage.Store // the one that Accounts has, too
	Documents Documents

	Now   func() time.Time           // the clock; nil: time.Now
	NewID func(prefix string) string // makes IDs, later ones sorting after earlier ones; nil: random ones that do
}

// Service answers chat completions. Its methods may be called concurrently.
// Every error is a *fault.Error or becomes one by fault.From.
type Service struct {
	accounts  *accounts.Service
	models    *model.Models
	store     *storage.DB
	documents Documents
	now       func() time.Time
	newID     func(prefix string) string
}

// New returns a Service. The error says which option is missing.
func New(o Options) (*Service, error) {
	if o.Accounts == nil || o.Backend == nil || o.Store == nil || o.Documents == nil {
		return nil, errors.New("chat: Options need Accounts, Backend, Store and Documents")
	}
	s := &Service{
		accounts:  o.Accounts,
		models:    model.Use(o.Backend),
		store:     storage.Use(o.Store),
		documents: o.Documents,
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = ids.New
	}
	s.now, s.newID = o.Now, o.NewID
	return s, nil
}
