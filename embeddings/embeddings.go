// Package embeddings is the Embeddings interface: texts become vectors of a model,
// which [Service.Embed] asks for and charges.
package embeddings

import (
	"context"
	"errors"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// Limits of a request.
const (
	MaxTexts      = 2048
	MaxDimensions = 1 << 16
)

// Request is texts to embed.
type Request struct {
	Model      string
	Texts      []string // 1 to MaxTexts, none of them empty
	Dimensions int      // length of the vectors, 1 to MaxDimensions; 0 is the model's own
}

// Response is their vectors.
type Response struct {
	Model       string
	Vectors     [][]float32 // in the order of the texts
	InputTokens int
}

// Service embeds. Its methods may be called concurrently.
type Service struct {
	accounts *accounts.Service
	models   *model.Models
}

// New returns a Service, which closes neither of the two.
func New(a *accounts.Service, backend model.Backend) *Service {
	return &Service{accounts: a, models: model.Use(backend)}
}

// Embed returns a vector for each text. The organization is charged for the input
// tokens, also where its caller leaves when a model server has them. The error is
// Invalid for a request out of bounds, NotFound for a model that does not exist or
// does not embed, Denied for one that is not the caller's to use, NoCredits,
// Rejected for what the model does not take, or says that the model failed.
func (s *Service) Embed(ctx context.Context, caller accounts.Caller, req *Request) (*Response, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	info, err := s.models.Embeds(req.Model, caller.Models)
	if err != nil {
		return nil, err
	}
	if err := caller.Allow(info.ID); err != nil {
		return nil, err
	}
	if err := s.accounts.Afford(ctx, caller); err != nil {
		return nil, err
	}
	answer, err := s.ask(ctx, caller, req)
	if err != nil {
		return nil, err
	}
	if _, err := s.accounts.Charge(context.WithoutCancel(ctx), caller, req.use(answer.InputTokens), caller.Claim.Doing()); err != nil {
		return nil, err
	}
	return &Response{Model: req.Model, Vectors: answer.Vectors, InputTokens: answer.InputTokens}, nil
}

// use is what a request is charged for.
func (r *Request) use(tokens int) accounts.Use {
	return accounts.Use{Endpoint: "embeddings", Model: r.Model, Kind: accounts.Generation, InputTokens: tokens}
}

// ask asks the model, for as long as the caller may have it work. What a model
// server has worked for nobody is charged.
func (s *Service) ask(ctx context.Context, caller accounts.Caller, req *Request) (*model.Embeddings, error) {
	limited, done := s.accounts.Running(ctx, caller)
	defer done()
	answer, err := s.models.Embed(limited, &model.EmbedRequest{
		Model: req.Model, Tenant: model.Tenant(caller.Organization, caller.Background), Texts: req.Texts, Dimensions: req.Dimensions,
	})
	if cut, ok := errors.AsType[*model.Cut](err); ok {
		s.accounts.ChargeCut(ctx, caller, req.use(cut.QuestionTokens))
	}
	return answer, accounts.Cause(limited, err)
}

func (r *Request) check() error {
	if len(r.Texts) == 0 || len(r.Texts) > MaxTexts {
		return fault.Invalidf("input", "input must have 1 to %d texts.", MaxTexts)
	}
	for _, text := range r.Texts {
		if text == "" {
			return fault.Invalidf("input", "input must not have an empty text.")
		}
	}
	if r.Dimensions < 0 || r.Dimensions > MaxDimensions {
		return fault.Invalidf("dimensions", "dimensions must be 1 to %d.", MaxDimensions)
	}
	return nil
}
