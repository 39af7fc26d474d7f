package builtin

import (
	"context"
	"hash/fnv"
	"math"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// The lengths of vectors: where a request does not say, and at most.
const (
	embedDimensions = 256
	mostDimensions  = 4096
)

// Embed implements [model.Embedder]. A vector has length 1; the words of a text are
// hashed to its places, so that texts with words in common are near each other. It
// fails with a Rejected error for vectors of more than 4,096 numbers and for a text
// over the context window.
func (b *Backend) Embed(ctx context.Context, req *model.EmbedRequest) (*model.Embeddings, error) {
	dimensions := embedDimensions
	if req.Dimensions > 0 {
		dimensions = req.Dimensions
	}
	if dimensions > mostDimensions {
		return nil, &fault.Error{Kind: fault.Rejected, Code: "request_rejected", Param: "dimensions",
			Message: "The model makes vectors of at most 4096 dimensions."}
	}
	e := &model.Embeddings{Vectors: make([][]float32, len(req.Texts))}
	words := newStemmer()
	for i, text := range req.Texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		tokens := countTokens(text)
		if tokens > b.infos[0].Window() {
			return nil, fault.ContextLength("A text does not fit the model's context window of %d tokens.", b.infos[0].Window())
		}
		e.InputTokens += tokens
		e.Vectors[i] = hashed(words.list(text), text, dimensions)
	}
	return e, nil
}

// hashed adds up a sign for each term at the place that its hash names, and scales
// the sum to length 1. A text of which nothing is left is one term by itself.
func hashed(terms []string, text string, dimensions int) []float32 {
	vector := make([]float32, dimensions)
	for _, term := range terms {
		add(vector, term)
	}
	length := lengthOf(vector)
	if length == 0 {
		add(vector, text)
		length = 1
	}
	for i := range vector {
		vector[i] /= length
	}
	return vector
}

func add(vector []float32, term string) {
	h := fnv.New64a()
	h.Write([]byte(term)) // never fails
	sum := h.Sum64()
	sign := float32(1)
	if sum>>63 == 1 {
		sign = -1
	}
	vector[sum%uint64(len(vector))] += sign
}

func lengthOf(vector []float32) float32 {
	sum := 0.0
	for _, x := range vector {
		sum += float64(x) * float64(x)
	}
	return float32(math.Sqrt(sum))
}
