package svc

import (
	"context"
	"iter"

	"github.com/seed-506d8e5d/svc/chat"
)

// CompleteChat answers a chat completion as a whole; see [chat.Service.Complete].
func (s *Service) CompleteChat(ctx context.Context, caller Caller, req *chat.Request) (*chat.Completion, error) {
	named, err := s.chatRequest(caller, req)
	if err != nil {
		return nil, err
	}
	return run(ctx, s.lifecycle, func(ctx context.Context) (*chat.Completion, error) { return s.chat.Complete(ctx, caller, named) })
}

// StreamChat answers a chat completion piece by piece. What refuses the request
// is the error it returns, before any model is called; see [chat.Service.Stream].
func (s *Service) StreamChat(ctx context.Context, caller Caller, req *chat.Request) (iter.Seq2[chat.Chunk, error], error) {
	named, err := s.chatRequest(caller, req)
	if err != nil {
		return nil, err
	}
	return stream(ctx, s.lifecycle, func(ctx context.Context) (iter.Seq2[chat.Chunk, error], error) {
		return s.chat.Stream(ctx, caller, named)
	})
}

// CountChatTokens returns how many tokens the prompt of a chat completion has; see
// [chat.Service.CountTokens].
func (s *Service) CountChatTokens(ctx context.Context, caller Caller, req *chat.Request) (int, error) {
	named := *req
	named.Model = s.modelID(req.Model)
	return run(ctx, s.lifecycle, func(ctx context.Context) (int, error) { return s.chat.CountTokens(ctx, caller, &named) })
}

// CompleteText continues a text as a whole; see [chat.Service.CompleteText].
func (s *Service) CompleteText(ctx context.Context, caller Caller, req *chat.TextRequest) (*chat.Completion, error) {
	named, err := s.textRequest(caller, req)
	if err != nil {
		return nil, err
	}
	return run(ctx, s.lifecycle, func(ctx context.Context) (*chat.Completion, error) { return s.chat.CompleteText(ctx, caller, named) })
}

// StreamText continues a text piece by piece. What refuses the request is the
// error it returns, before any model is called; see [chat.Service.StreamText].
func (s *Service) StreamText(ctx context.Context, caller Caller, req *chat.TextRequest) (iter.Seq2[chat.Chunk, error], error) {
	named, err := s.textRequest(caller, req)
	if err != nil {
		return nil, err
	}
	return stream(ctx, s.lifecycle, func(ctx context.Context) (iter.Seq2[chat.Chunk, error], error) {
		return s.chat.StreamText(ctx, caller, named)
	})
}

// ChatCompletion returns a stored completion. The error is NotFound where the
// caller's organization has none with that ID, here and in the methods below.
func (s *Service) ChatCompletion(ctx context.Context, caller Caller, id string) (*chat.Completion, error) {
	return s.chat.Get(ctx, caller, id)
}

// ChatCompletions returns a page of the stored completions that the filter
// takes, in the order of their creation.
func (s *Service) ChatCompletions(ctx context.Context, caller Caller, f chat.Filter, p Page) (List[chat.Completion], error) {
	return s.chat.List(ctx, caller, f, p)
}

// ChatMessages returns a page of the messages that a stored completion answers.
func (s *Service) ChatMessages(ctx context.Context, caller Caller, id string, p Page) (List[chat.StoredMessage], error) {
	return s.chat.Messages(ctx, caller, id, p)
}

// UpdateChatCompletion replaces the metadata of a stored completion.
func (s *Service) UpdateChatCompletion(ctx context.Context, caller Caller, id string, metadata map[string]string) (*chat.Completion, error) {
	return s.chat.Update(ctx, caller, id, metadata)
}

// DeleteChatCompletion removes a stored completion and its messages.
func (s *Service) DeleteChatCompletion(ctx context.Context, caller Caller, id string) error {
	return s.chat.Delete(ctx, caller, id)
}
