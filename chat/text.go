package chat

import (
	"context"
	"iter"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// DefaultTextTokens is how many tokens a text is continued by where the request
// does not say, as in OpenAI's API.
const DefaultTextTokens = 16

// TextRequest asks for a text to be continued, as in OpenAI's legacy Completions.
// Nil pointers and zero values are omitted fields. The service does not change a
// TextRequest, nor keeps it after the call or the sequence has ended.
type TextRequest struct {
	Model  string
	Prompt string // the text, not empty; models see it as it is

	Temperature *float64 // 0 to 2
	TopP        *float64 // 0 to 1
	MaxTokens   *int     // at least 1; nil is [DefaultTextTokens]
	Stop        []string // up to [MaxStops], none empty
	Sampling    model.Sampling
	Guard       model.Guard // as in [Request]
}

// StreamText continues a text piece by piece, as [Service.Stream] answers, and is
// refused and charged as that is. Nothing is stored, and no chunk has a tool call.
func (s *Service) StreamText(ctx context.Context, caller accounts.Caller, req *TextRequest) (iter.Seq2[Chunk, error], error) {
	asked, err := req.request()
	if err != nil {
		return nil, err
	}
	return s.Stream(ctx, caller, asked)
}

// CompleteText continues a text as a whole: with what [Service.StreamText] yields
// put together, or with the error of either its call or its sequence. The text is
// the completion's Content.
func (s *Service) CompleteText(ctx context.Context, caller accounts.Caller, req *TextRequest) (*Completion, error) {
	asked, err := req.request()
	if err != nil {
		return nil, err
	}
	return s.Complete(ctx, caller, asked)
}

func (r *TextRequest) request() (*Request, error) {
	if r.Prompt == "" {
		return nil, fault.Invalidf("prompt", "prompt must not be empty.")
	}
	most := r.MaxTokens
	if most == nil {
		most = new(DefaultTextTokens)
	}
	return &Request{
		Model:       r.Model,
		Messages:    []Message{{Role: model.User, Content: []Part{Text(r.Prompt)}}},
		Temperature: r.Temperature,
		TopP:        r.TopP,
		MaxTokens:   most,
		Stop:        r.Stop,
		Sampling:    r.Sampling,
		Guard:       r.Guard,
		Store:       new(bool),
		Dialect:     legacyText,
	}, nil
}

// prefix is what the IDs of the request's completions begin with.
func (r *Request) prefix() string {
	switch r.Dialect {
	case legacyText:
		return "cmpl"
	case Messages:
		return "msg"
	}
	return "chatcmpl"
}
