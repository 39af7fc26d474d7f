package client

import (
	"context"
	"iter"

	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

const textPath = "/v1/completions"

// CompleteText continues a text as a whole.
func (c *Client) CompleteText(ctx context.Context, _ Caller, req *chat.TextRequest) (*chat.Completion, error) {
	var w wire.TextCompletion
	if err := c.Do(ctx, "POST", textPath, convert.ToCompletionRequest(req), &w); err != nil {
		return nil, err
	}
	return convert.FromTextCompletion(&w), nil
}

// StreamText continues a text piece by piece.
func (c *Client) StreamText(ctx context.Context, _ Caller, req *chat.TextRequest) (iter.Seq2[chat.Chunk, error], error) {
	body := convert.ToCompletionRequest(req)
	body.Streaming = streamed()
	stream, err := c.stream(ctx, "POST", textPath, body)
	if err != nil {
		return nil, err
	}
	return chunks(ctx, stream, func(w *wire.TextCompletion) []chat.Chunk { return []chat.Chunk{convert.FromTextChunk(w)} }), nil
}
