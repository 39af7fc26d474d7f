package convert

import (
	"github.com/seed-506d8e5d/svc/embeddings"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// FromEmbeddingRequest returns what a body of Embeddings asks for.
func FromEmbeddingRequest(w *wire.EmbeddingRequest) *embeddings.Request {
	return &embeddings.Request{Model: w.Model, Texts: w.Input, Dimensions: value(w.Dimensions)}
}

// ToEmbeddingRequest returns a request as it is sent.
func ToEmbeddingRequest(r *embeddings.Request) *wire.EmbeddingRequest {
	return &wire.EmbeddingRequest{Model: r.Model, Input: r.Texts, Dimensions: optional(r.Dimensions)}
}

// ToEmbeddingList returns vectors as they are answered.
func ToEmbeddingList(r *embeddings.Response, packed bool) wire.EmbeddingList {
	list := wire.EmbeddingList{Object: "list", Data: make([]wire.Embedding, len(r.Vectors)), Model: r.Model,
		Usage: wire.EmbeddingUsage{PromptTokens: r.InputTokens, TotalTokens: r.InputTokens}}
	for i, vector := range r.Vectors {
		list.Data[i] = wire.Embedding{Object: "embedding", Index: i, Embedding: wire.Vector{Numbers: vector, Packed: packed}}
	}
	return list
}

// FromEmbeddingList returns what an answer says about a number of texts. The vector
// of a text that it leaves out is nil.
func FromEmbeddingList(w *wire.EmbeddingList, texts int) *embeddings.Response {
	r := &embeddings.Response{Model: w.Model, Vectors: make([][]float32, texts), InputTokens: w.Usage.PromptTokens}
	for _, d := range w.Data {
		if d.Index >= 0 && d.Index < texts {
			r.Vectors[d.Index] = d.Embedding.Numbers
		}
	}
	return r
}
