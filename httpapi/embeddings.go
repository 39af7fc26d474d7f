package httpapi

import (
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// createEmbeddings serves POST /v1/embeddings as in the OpenAI API.
func (a *API) createEmbeddings(c *call) error {
	body := &wire.EmbeddingRequest{}
	if err := c.modelRequest(body); err != nil {
		return err
	}
	req := convert.FromEmbeddingRequest(body)
	c.model = req.Model
	resp, err := a.service.Embed(c.ctx(), c.caller, req)
	if err != nil {
		return err
	}
	c.inputTokens = resp.InputTokens
	return c.json(convert.ToEmbeddingList(resp, body.EncodingFormat == "base64"))
}
