package client

import (
	"context"

	"github.com/seed-506d8e5d/svc/embeddings"
	"github.com/seed-506d8e5d/svc/fault"
)

// Embed turns texts into vectors.
func (c *Client) Embed(ctx context.Context, _ Caller, req *embeddings.Request) (*embeddings.Response, error) {
	body := object{"model": req.Model, "input": req.Texts}
	set(body, "dimensions", req.Dimensions)
	var answer struct {
		Model string
		Data  []struct {
			Index     int
			Embedding []float32
		}
		Usage struct {
			Input int `json:"prompt_tokens"`
		}
	}
	if err := c.call(ctx, "POST", "/v1/embeddings", body, &answer); err != nil {
		return nil, err
	}
	resp := &embeddings.Response{Model: answer.Model, Vectors: make([][]float32, len(req.Texts)), InputTokens: answer.Usage.Input}
	for _, d := range answer.Data {
		if d.Index >= 0 && d.Index < len(resp.Vectors) {
			resp.Vectors[d.Index] = d.Embedding
		}
	}
	for _, vector := range resp.Vectors {
		if vector == nil {
			return nil, fault.Upstreamf(nil, "The server did not give each text a vector.")
		}
	}
	return resp, nil
}
