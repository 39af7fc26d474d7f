package builtin

import (
	"cmp"
	"context"
	"math"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/cpu"
	"github.com/seed-506d8e5d/svc/model"
)

// Embed implements [model.Embedder]. A vector has length 1, and 256 numbers where a request
// does not say; the words of a text are hashed to its places, so that texts with words in
// common are near each other. It fails with a Rejected error for vectors of more than 4,096
// numbers and for a text over the context window.
func (b *Backend) Embed(ctx context.Context, req *model.EmbedRequest) (*model.Embeddings, error) {
	const usual, most = 256, 4096
	if req.Dimensions > most {
		return nil, &fault.Error{Kind: fault.Rejected, Code: fault.CodeRejected, Param: "dimensions",
			Message: "The model makes vectors of at most 4096 dimensions."}
	}
	b.first()
	defer cpu.Enter(req.Tenant).Leave()
	e, words := &model.Embeddings{}, stems{}
	for _, text := range req.Texts {
		tokens := countTokens(text)
		if err := ctx.Err(); err != nil {
			return nil, err
		} else if tokens > generator.Window() {
			return nil, fault.ContextLength("A text does not fit the model's context window of %d tokens.", generator.Window())
		}
		e.InputTokens += tokens
		vector := make([]float32, cmp.Or(req.Dimensions, usual))
		vector[0] = 0.01 // so that none is nothing
		for _, term := range words.list(text) {
			h := hash(term)
			vector[h%uint64(len(vector))] += 1 - 2*float32(h>>63)
		}
		length := 0.0
		for _, x := range vector {
			length += float64(x) * float64(x)
		}
		for i := range vector {
			vector[i] /= float32(math.Sqrt(length))
		}
		e.Vectors = append(e.Vectors, vector)
	}
	return e, nil
}
