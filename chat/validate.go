package chat

import (
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/internal/schema"
)

// names are what the interface calls the fields that are not called the same in
// all interfaces.
var names = generation.Names{
	MaxTokens:  "max_tokens",
	Effort:     "reasoning_effort",
	FormatType: "response_format.type",
	Format:     "response_format.json_schema",
	Function:   ".function",
}

// settings returns what a request has in common with those of Responses.
func (r *Request) settings() generation.Settings {
	return generation.Settings{
		Model:             r.Model,
		Temperature:       r.Temperature,
		TopP:              r.TopP,
		MaxTokens:         r.MaxTokens,
		ReasoningEffort:   r.ReasoningEffort,
		Format:            r.Format,
		Tools:             r.Tools,
		ToolChoice:        r.ToolChoice,
		AllowedTools:      r.AllowedTools,
		ParallelToolCalls: r.ParallelToolCalls,
		Sampling:          r.Sampling,
		Logprobs:          r.Logprobs,
		TopLogprobs:       r.TopLogprobs,
	}
}

// check returns an Invalid error for a request that breaks a rule of the
// interface, whatever the model, and otherwise the compiled schema of its
// format, nil where it has none.
func (r *Request) check(settings *generation.Settings) (*schema.Schema, error) {
	if err := r.checkMessages(); err != nil {
		return nil, err
	}
	if err := r.checkStop(); err != nil {
		return nil, err
	}
	if r.TopLogprobs != nil && !r.Logprobs {
		return nil, fault.Invalidf("top_logprobs", "top_logprobs may only be sent with logprobs.")
	}
	if r.N < 0 || r.N > MaxChoices {
		return nil, fault.Invalidf("n", "n must be between 1 and %d.", MaxChoices)
	}
	if err := generation.CheckMetadata(r.Metadata); err != nil {
		return nil, err
	}
	return settings.Check(names)
}

func (r *Request) checkStop() error {
	if len(r.Stop) > MaxStops {
		return fault.Invalidf("stop", "stop must have at most %d sequences.", MaxStops)
	}
	for _, s := range r.Stop {
		if s == "" {
			return fault.Invalidf("stop", "A stop sequence must not be empty.")
		}
	}
	return nil
}
