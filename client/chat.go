package client

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

const chatPath = "/v1/chat/completions"

// CompleteChat answers a chat completion as a whole.
func (c *Client) CompleteChat(ctx context.Context, _ Caller, req *chat.Request) (*chat.Completion, error) {
	return c.completion(ctx, "POST", chatPath, convert.ToChatRequest(req))
}

// StreamChat answers a chat completion piece by piece.
func (c *Client) StreamChat(ctx context.Context, _ Caller, req *chat.Request) (iter.Seq2[chat.Chunk, error], error) {
	body := convert.ToChatRequest(req)
	body.Streaming = streamed()
	stream, err := c.stream(ctx, "POST", chatPath, body)
	if err != nil {
		return nil, err
	}
	return chunks(ctx, stream, convert.FromChatChunk), nil
}

// ChatCompletion returns a stored completion. The error is NotFound.
func (c *Client) ChatCompletion(ctx context.Context, _ Caller, id string) (*chat.Completion, error) {
	return c.completion(ctx, "GET", under(chatPath, id), nil)
}

// ChatCompletions returns a page of the stored completions that the filter takes.
func (c *Client) ChatCompletions(ctx context.Context, _ Caller, f chat.Filter, p Page) (List[chat.Completion], error) {
	more := []string{"model", f.Model}
	for name, value := range f.Metadata {
		more = append(more, "metadata["+name+"]", value)
	}
	return list(ctx, c, chatPath, p, func(w wire.ChatCompletion) chat.Completion { return *convert.FromChatCompletion(&w) }, more...)
}

// UpdateChatCompletion replaces the metadata of a stored completion.
func (c *Client) UpdateChatCompletion(ctx context.Context, _ Caller, id string, metadata map[string]string) (*chat.Completion, error) {
	return c.completion(ctx, "POST", under(chatPath, id), metadataBody(metadata))
}

// DeleteChatCompletion removes a stored completion and its messages.
func (c *Client) DeleteChatCompletion(ctx context.Context, _ Caller, id string) error {
	return c.Do(ctx, "DELETE", under(chatPath, id), nil, nil)
}

// ChatMessages returns a page of the messages that a stored completion answers.
func (c *Client) ChatMessages(ctx context.Context, _ Caller, id string, p Page) (List[chat.StoredMessage], error) {
	return list(ctx, c, under(chatPath, id, "messages"), p, func(w wire.StoredMessage) chat.StoredMessage { return convert.FromStoredMessage(&w) })
}

func (c *Client) completion(ctx context.Context, method, path string, body any) (*chat.Completion, error) {
	var w wire.ChatCompletion
	if err := c.Do(ctx, method, path, body, &w); err != nil {
		return nil, err
	}
	return convert.FromChatCompletion(&w), nil
}

// streamed asks for a stream that ends with the usage.
func streamed() wire.Streaming {
	yes := true
	return wire.Streaming{Stream: &yes, StreamOptions: &wire.StreamOptions{IncludeUsage: &yes}}
}

// metadataBody is the body that replaces the tags of an object.
func metadataBody(metadata map[string]string) *wire.MetadataRequest {
	tags := wire.Tags(metadata)
	return &wire.MetadataRequest{Metadata: &tags}
}

// chunks yields the chunks of a stream, whose events have the type W. The usage
// comes in an event of its own, without a choice, and is put into the last chunk.
func chunks[W any](ctx context.Context, stream *events, pieces func(*W) []chat.Chunk) iter.Seq2[chat.Chunk, error] {
	return func(yield func(chat.Chunk, error) bool) {
		defer stream.close()
		var last *chat.Chunk // of a choice
		begun := 0           // choices
		for data, err := range stream.all() {
			if bytes.Equal(data, []byte("[DONE]")) {
				break
			}
			w := new(W)
			if err == nil {
				err = json.Unmarshal(data, w)
			}
			if err != nil {
				yield(chat.Chunk{}, failed(ctx, err))
				return
			}
			if refused := streamError(data); refused != nil {
				yield(chat.Chunk{}, refused)
				return
			}
			for _, chunk := range pieces(w) {
				if last != nil && chunk.Choice < begun {
					last.Usage = chunk.Usage
					continue
				}
				if chunk.First = chunk.Choice == begun; chunk.First {
					begun++
				}
				if last != nil {
					if last.Next = true; !yield(*last, nil) {
						return
					}
					last = nil
				}
				switch {
				case chunk.FinishReason != "":
					last = &chunk
				case !yield(chunk, nil):
					return
				}
			}
		}
		if last == nil {
			yield(chat.Chunk{}, failed(ctx, errBroken))
			return
		}
		yield(*last, nil)
	}
}

// streamError returns the error that an event of a stream is, nil for another one.
func streamError(data []byte) error {
	var e wire.Error
	if !bytes.HasPrefix(data, []byte(`{"error"`)) || json.Unmarshal(data, &e) != nil {
		return nil
	}
	return faultOf(&e.Error, http.StatusBadGateway)
}
