package compat

import (
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/seed-506d8e5d/svc"
)

// TestVectorStores fills and searches a vector store with the official client for Go and
// its polling helper.
func TestVectorStores(t *testing.T) {
	g := &gallery{}
	g.serve(t, svc.Options{})
	ctx := t.Context()
	c := openai.NewClient(option.WithBaseURL(g.url), option.WithAPIKey(g.key))
	store, err := c.VectorStores.New(ctx, openai.VectorStoreNewParams{Name: openai.String("Zoo")})
	check(t, err)
	uploaded, err := c.Files.New(ctx, openai.FileNewParams{File: openai.File(strings.NewReader("All whales are mammals."), "a.md", "text/markdown"), Purpose: openai.FilePurposeAssistants})
	check(t, err)
	file, err := c.VectorStores.Files.NewAndPoll(ctx, store.ID, openai.VectorStoreFileNewParams{FileID: uploaded.ID}, 0)
	check(t, err)
	if file.Status != openai.VectorStoreFileStatusCompleted {
		t.Errorf("got %s", file.RawJSON())
	}
	found, err := c.VectorStores.Search(ctx, store.ID, openai.VectorStoreSearchParams{Query: openai.VectorStoreSearchParamsQueryUnion{OfString: openai.String("whale")}})
	check(t, err)
	if len(found.Data) != 1 || found.Data[0].FileID != uploaded.ID || found.Data[0].Content[0].Text != "All whales are mammals." {
		t.Errorf("got %s", found.RawJSON())
	}
	_, err = c.VectorStores.Delete(ctx, store.ID)
	check(t, err)
}
