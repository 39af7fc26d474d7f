package svc

import (
	"context"

	"github.com/seed-506d8e5d/svc/embeddings"
)

// Embed turns texts into vectors. The organization is charged for the input tokens
// when it returns without an error; see [embeddings.Service.Embed].
func (s *Service) Embed(ctx context.Context, caller Caller, req *embeddings.Request) (*embeddings.Response, error) {
	named := *req
	named.Model = s.modelID(req.Model)
	return run(ctx, s.lifecycle, func(ctx context.Context) (*embeddings.Response, error) {
		return s.embeddings.Embed(ctx, caller, &named)
	})
}
