package model

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-506d8e5d/svc/fault"
)

// Embedder is a [Backend] that can also turn texts into vectors.
type Embedder interface {
	// Embed returns a vector for each text of the request. Errors and cancellation
	// are as for Generate; a model that cannot make vectors of the wanted length
	// is Rejected. The request is not changed.
	Embed(ctx context.Context, req *EmbedRequest) (*Embeddings, error)
}

// EmbedRequest is texts to embed. The service has validated it: there is a text,
// and none is empty.
type EmbedRequest struct {
	Model      string
	Tenant     string // as in [Request]
	Texts      []string
	Dimensions int // length of the vectors; 0 is the model's own
}

// Embeddings is the answer to an [EmbedRequest].
type Embeddings struct {
	Vectors     [][]float32 // of finite numbers, all of one length above 0, in the order of the texts
	InputTokens int         // tokens of the texts together
}

// ErrNoEmbedder is returned by [Models.Embed] for a driver that cannot embed.
var ErrNoEmbedder = errors.New("model: the backend cannot embed")

// Embed turns texts into vectors; see [Embedder]. The error of a driver that is
// none is [ErrNoEmbedder].
func (m *Models) Embed(ctx context.Context, req *EmbedRequest) (*Embeddings, error) {
	if m.embedder == nil {
		return nil, ErrNoEmbedder
	}
	return m.embedder.Embed(ctx, req)
}

// Embeds returns the model with an ID for embeddings. The NotFound error is as that
// of [Models.Generator].
func (m *Models) Embeds(id string, allowed []string) (Info, error) {
	if id == "" {
		return Info{}, fault.Invalidf("model", "model is required.")
	}
	info, ok := m.Find(id)
	if !ok || !info.Embeds || m.embedder == nil {
		return Info{}, m.missing("embedding model", id, func(i Info) bool { return i.Embeds && m.embedder != nil && isAllowed(i.ID, allowed) })
	}
	return info, nil
}

func (r *EmbedRequest) clone() *EmbedRequest {
	c := *r
	c.Texts = slices.Clone(r.Texts)
	return &c
}
