package convert

import (
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// FromCompletionRequest returns what a body of Completions asks for.
func FromCompletionRequest(w *wire.CompletionRequest) *chat.TextRequest {
	return &chat.TextRequest{
		Model: w.Model, Prompt: string(w.Prompt), Temperature: w.Temperature, TopP: w.TopP, MaxTokens: w.MaxTokens,
		Stop: fromStop(w.Stop), Sampling: fromSampling(&w.Sampling),
	}
}

// ToCompletionRequest returns a request as it is sent.
func ToCompletionRequest(r *chat.TextRequest) *wire.CompletionRequest {
	return &wire.CompletionRequest{
		Model: r.Model, Prompt: wire.Prompt(r.Prompt), Sampling: toSampling(&r.Sampling, r.Temperature, r.TopP),
		MaxTokens: r.MaxTokens, Stop: toStop(r.Stop),
	}
}
