package modeltest

import (
	"slices"

	"github.com/seed-506d8e5d/svc/model"
)

// cloneRequest returns a copy that shares no memory with req that either side
// could change. Nil slices stay nil, so that copies compare equal.
func cloneRequest(req *model.Request) *model.Request {
	c := *req
	c.Messages = slices.Clone(req.Messages)
	for i := range c.Messages {
		m := &c.Messages[i]
		m.Parts = cloneParts(m.Parts)
		m.ToolCalls = slices.Clone(m.ToolCalls)
	}
	c.Tools = slices.Clone(req.Tools)
	for i := range c.Tools {
		c.Tools[i].Parameters = slices.Clone(c.Tools[i].Parameters)
	}
	c.Format.Schema = slices.Clone(req.Format.Schema)
	c.Stop = slices.Clone(req.Stop)
	c.Temperature = clonePointer(req.Temperature)
	c.TopP = clonePointer(req.TopP)
	c.Sampling = cloneSampling(req.Sampling)
	return &c
}

func cloneSampling(s model.Sampling) model.Sampling {
	s.Seed, s.TopK = clonePointer(s.Seed), clonePointer(s.TopK)
	for _, p := range []**float64{&s.PresencePenalty, &s.FrequencyPenalty, &s.RepetitionPenalty, &s.MinP} {
		*p = clonePointer(*p)
	}
	s.LogitBias, s.ChatTemplateKwargs = slices.Clone(s.LogitBias), slices.Clone(s.ChatTemplateKwargs)
	return s
}

func cloneScoreRequest(req *model.ScoreRequest) *model.ScoreRequest {
	c := *req
	c.State = cloneParts(req.State)
	c.Options = slices.Clone(req.Options)
	for i := range c.Options {
		c.Options[i].Texts = slices.Clone(c.Options[i].Texts)
	}
	return &c
}

func cloneParts(parts []model.Part) []model.Part {
	parts = slices.Clone(parts)
	for i, part := range parts {
		if image, ok := part.(model.Image); ok {
			image.Data = slices.Clone(image.Data)
			parts[i] = image
		}
	}
	return parts
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
