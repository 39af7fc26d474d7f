package svc

import (
	"context"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/responses/filesearch"
)

// Lists are read a page at a time.
type (
	// Page says which page of a list to read: up to Limit objects, 0 for 20, that
	// come after the object with the ID After, or from the first where it is empty,
	// newest first with Desc.
	Page = page.Params
	// List is one page of a list: its Items, never nil, and whether it HasMore
	// after them.
	List[T any] = page.Page[T]
)

// CreateConversation stores a new conversation with tags and up to 20 items, both
// optional: user messages, or with Options.AnyItems items of any kind. The error is
// Denied for an organization with zero data retention.
func (s *Service) CreateConversation(ctx context.Context, caller Caller, metadata map[string]string, items []conversations.Item) (conversations.Conversation, error) {
	return s.conversations.Create(ctx, caller, metadata, items)
}

// Conversation returns a conversation. The error is NotFound.
func (s *Service) Conversation(ctx context.Context, caller Caller, id string) (conversations.Conversation, error) {
	return s.conversations.Get(ctx, caller, id)
}

// Conversations returns a page of the organization's conversations, 1 to 100, by
// the time of their creation.
func (s *Service) Conversations(ctx context.Context, caller Caller, p Page) (List[conversations.Conversation], error) {
	return s.conversations.List(ctx, caller, p)
}

// UpdateConversation replaces all metadata of a conversation. The error is
// NotFound or Invalid.
func (s *Service) UpdateConversation(ctx context.Context, caller Caller, id string, metadata map[string]string) (conversations.Conversation, error) {
	return s.conversations.Update(ctx, caller, id, metadata)
}

// DeleteConversation removes a conversation, its items and its responses. The
// error is NotFound.
func (s *Service) DeleteConversation(ctx context.Context, caller Caller, id string) error {
	return s.conversations.Delete(ctx, caller, id)
}

// AddConversationItems adds 1 to 20 items, as CreateConversation takes them, behind
// what was written last to a conversation, and returns them as they are stored. The
// error is NotFound or Invalid.
func (s *Service) AddConversationItems(ctx context.Context, caller Caller, id string, items []conversations.Item) ([]conversations.Item, error) {
	return s.conversations.AddItems(ctx, caller, id, items)
}

// SealThought returns what a model has thought in a form that callers can keep and
// send back, and cannot read or change.
func (s *Service) SealThought(ctx context.Context, caller Caller, t conversations.Thought) (string, error) {
	return s.conversations.SealThought(ctx, caller, t)
}

// OpenThought returns what SealThought was given for the organization. The error is
// Invalid for anything else.
func (s *Service) OpenThought(ctx context.Context, caller Caller, sealed string) (conversations.Thought, error) {
	return s.conversations.OpenThought(ctx, caller, "signature", sealed)
}

// AnyItems reports whether conversations take items of any kind; see
// Options.AnyItems.
func (s *Service) AnyItems() bool { return s.conversations.AnyItems() }

// UseFileSearch has turns with the tool file_search search files with f. It is called
// once, before the first request.
func (s *Service) UseFileSearch(f filesearch.Searcher) { s.responses.UseFileSearch(f) }

// Searches reports whether there is a search service. Without one the web search tool
// is left out of a request that does not demand it.
func (s *Service) Searches() bool { return s.searches }

// ConversationItems returns a page of a conversation's items, 1 to 100. The
// error is NotFound or Invalid.
func (s *Service) ConversationItems(ctx context.Context, caller Caller, id string, p Page) (List[conversations.Item], error) {
	return s.conversations.ListItems(ctx, caller, id, p)
}

// ConversationItem returns one item of a conversation. The error is NotFound.
func (s *Service) ConversationItem(ctx context.Context, caller Caller, id, item string) (conversations.Item, error) {
	return s.conversations.GetItem(ctx, caller, id, item)
}

// DeleteConversationItem removes an item from its conversation and from every
// history that it was part of, and returns the conversation. The error is
// NotFound.
func (s *Service) DeleteConversationItem(ctx context.Context, caller Caller, id, item string) (conversations.Conversation, error) {
	return s.conversations.DeleteItem(ctx, caller, id, item)
}
