package compat

import (
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/seed-506d8e5d/svc"
)

func TestEmbeddings(t *testing.T) {
	client := connectWith(t, svc.Options{})
	made, err := client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{
		Model: modelID, Dimensions: param.NewOpt[int64](8),
		Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"The tower is high.", "Hello"}},
	})
	check(t, err)
	equal(t, "object", string(made.Object), "list")
	equal(t, "vectors", len(made.Data), 2)
	equal(t, "second index", made.Data[1].Index, 1)
	equal(t, "dimensions", len(made.Data[0].Embedding), 8)
	equal(t, "tokens", made.Usage.PromptTokens > 0 && made.Usage.TotalTokens == made.Usage.PromptTokens, true)

	_, err = client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{
		Model: modelID, Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfTokens: []int64{1, 2}},
	})
	wantStatus(t, err, 400)
}
