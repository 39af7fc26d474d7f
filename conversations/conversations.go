// Package conversations keeps what was said: conversations, their items, and the
// history that turns are kept in.
//
// A [Service] has the operations of the spec's Conversations sections. All items
// of a conversation lie in one range of keys by sequence number (keys.go). A
// [Turn] of the Responses interface records which of them are its own and, as a
// [Lineage], which came before it: a list of ranges, one for a straight
// conversation and one more for each branch that it was taken from. So writing
// a turn costs the turn, reading a history is a few range scans, branches do not
// disturb each other, and an item that is deleted is gone from every history.
// Package responses builds on this with [Service.Continue] and [Service.Write].
package conversations

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/cluster"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/internal/ids"
	"github.com/seed-506d8e5d/svc/storage"
)

// The codes of this package's errors: those of the spec's error table, and one
// for items that no store could hold.
const (
	CodeNotFound         = "conversation_not_found"
	CodeItemNotFound     = "item_not_found"
	CodeResponseNotFound = "response_not_found"
	CodeZeroRetention    = fault.CodeZeroRetention
	CodeTooLarge         = fault.CodeTooLarge
)

// Options are what a Service is made of. Only Store is required.
type Options struct {
	Store    storage.Store
	Cluster  *cluster.Member            // this process among those that share the store; nil: alone
	AnyItems bool                       // callers may add items of any kind to conversations, not only messages of the user
	Now      func() time.Time           // the clock; nil: time.Now
	NewID    func(prefix string) string // makes IDs, later ones sorting after earlier ones; nil: random ones that do
	Log      *slog.Logger               // where deletions that fail go; nil: slog.Default()
}

// Service keeps conversations. Its methods may be called concurrently. Every
// error is a *fault.Error or becomes one by fault.From.
type Service struct {
	store *storage.DB
	now   func() time.Time
	newID func(prefix string) string
	log   *slog.Logger

	cluster  *cluster.Member // nil: alone
	anyItems bool

	queues    queues
	places    places
	histories historyCache
}

// New returns a Service over a store, which it does not close.
func New(o Options) *Service {
	s := &Service{store: storage.Use(o.Store), cluster: o.Cluster, anyItems: o.AnyItems}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = ids.New
	}
	s.now, s.newID, s.log = o.Now, o.NewID, cmp.Or(o.Log, slog.Default())
	return s
}

// Conversation is a conversation without its items.
type Conversation struct {
	ID        string
	CreatedAt int64 // Unix seconds
	Metadata  map[string]string

	removed uint64 // how often items were removed
}

// conversationRecord is how a conversation is stored.
type conversationRecord struct {
	CreatedAt int64             `json:"created"`
	Metadata  map[string]string `json:"metadata,omitempty"`
	Removed   uint64            `json:"removed,omitempty"` // the version of its histories: how often items were removed
}

func (r conversationRecord) of(id string) Conversation {
	return Conversation{ID: id, CreatedAt: r.CreatedAt, Metadata: generation.MetadataOrEmpty(r.Metadata), removed: r.Removed}
}

// Create stores a new conversation with up to [MaxItems] user messages. An
// organization with zero data retention gets a Denied error.
func (s *Service) Create(ctx context.Context, caller accounts.Caller, tags map[string]string, items []Item) (Conversation, error) {
	if err := mayStore(caller); err != nil {
		return Conversation{}, err
	}
	if err := generation.CheckMetadata(tags); err != nil {
		return Conversation{}, err
	}
	if err := s.checkItems(items); err != nil {
		return Conversation{}, err
	}
	c := Conversation{ID: s.newID("conv"), CreatedAt: s.now().Unix(), Metadata: generation.MetadataOrEmpty(tags)}
	entries, err := s.receive(ctx, caller, items)
	if err != nil {
		return Conversation{}, err
	}
	err = s.update(ctx, caller, func(tx storage.Tx) error {
		if err := create(tx, c); err != nil {
			return err
		}
		if err := s.add(tx, c.ID, entries); err != nil {
			return err
		}
		return caller.Claim.Did(tx, c.ID)
	})
	return c, err
}

// mayStore refuses callers that may not keep what is said.
func mayStore(caller accounts.Caller) error {
	if !caller.ZeroDataRetention {
		return nil
	}
	return &fault.Error{Kind: fault.Denied, Code: CodeZeroRetention,
		Message: "This organization is configured for zero data retention: it cannot store conversations."}
}

func create(tx storage.Tx, c Conversation) error {
	return storage.SetJSON(tx, conversationKey(c.ID), conversationRecord{c.CreatedAt, c.Metadata, c.removed})
}

// Get returns a conversation, or a NotFound error.
func (s *Service) Get(ctx context.Context, caller accounts.Caller, id string) (c Conversation, err error) {
	err = s.view(ctx, caller, func(tx storage.Tx) error {
		c, err = get(tx, id)
		return err
	})
	return c, err
}

func get(tx storage.Tx, id string) (Conversation, error) {
	var r conversationRecord
	err := storage.GetJSON(tx, conversationKey(id), &r)
	if errors.Is(err, storage.ErrNotFound) {
		return Conversation{}, fault.Missing(CodeNotFound, "conversation", id)
	}
	return r.of(id), err
}

// Update replaces all metadata of a conversation. The error is NotFound or
// Invalid.
func (s *Service) Update(ctx context.Context, caller accounts.Caller, id string, tags map[string]string) (c Conversation, err error) {
	if err := generation.CheckMetadata(tags); err != nil {
		return Conversation{}, err
	}
	err = s.update(ctx, caller, func(tx storage.Tx) error {
		if c, err = get(tx, id); err != nil {
			return err
		}
		c.Metadata = generation.MetadataOrEmpty(tags)
		return create(tx, c)
	})
	return c, err
}
