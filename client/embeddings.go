package client

import (
	"context"

	"github.com/seed-506d8e5d/svc/embeddings"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// Embed turns texts into vectors.
func (c *Client) Embed(ctx context.Context, _ Caller, req *embeddings.Request) (*embeddings.Response, error) {
	var answer wire.EmbeddingList
	if err := c.Do(ctx, "POST", "/v1/embeddings", convert.ToEmbeddingRequest(req), &answer); err != nil {
		return nil, err
	}
	resp := convert.FromEmbeddingList(&answer, len(req.Texts))
	for _, vector := range resp.Vectors {
		if vector == nil {
			return nil, fault.Upstreamf(nil, "The server did not give each text a vector.")
		}
	}
	return resp, nil
}
