package client

import (
	"context"
	"iter"

	"github.com/seed-506d8e5d/svc/chat"
)

const textPath = "/v1/completions"

// CompleteText continues a text as a whole.
func (c *Client) CompleteText(ctx context.Context, _ Caller, req *chat.TextRequest) (*chat.Completion, error) {
	var w wireCompletion
	if err := c.call(ctx, "POST", textPath, textBody(req), &w); err != nil {
		return nil, err
	}
	completion := w.completion()
	if len(w.Choices) > 0 {
		completion.Content = &w.Choices[0].Text
	}
	return completion, nil
}

// StreamText continues a text piece by piece.
func (c *Client) StreamText(ctx context.Context, _ Caller, req *chat.TextRequest) (iter.Seq2[chat.Chunk, error], error) {
	body := textBody(req)
	body["stream"], body["stream_options"] = true, object{"include_usage": true}
	stream, err := c.stream(ctx, "POST", textPath, body)
	if err != nil {
		return nil, err
	}
	return chunks(ctx, stream), nil
}

func textBody(r *chat.TextRequest) object {
	o := object{"model": r.Model, "prompt": r.Prompt}
	set(o, "temperature", r.Temperature)
	set(o, "top_p", r.TopP)
	set(o, "max_tokens", r.MaxTokens)
	setShared(o, nil, &r.Sampling)
	if r.Stop != nil {
		o["stop"] = r.Stop
	}
	return o
}
