package model

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/fault"
)

// Sampling are settings that interfaces hand through to the model: what they
// mean, and whether they are taken, is the model server's to say. The zero value
// leaves all to the model's defaults.
type Sampling struct {
	Seed                              *int
	PresencePenalty, FrequencyPenalty *float64
	RepetitionPenalty, MinP           *float64
	TopK                              *int
	LogitBias                         json.RawMessage // an object: token IDs to numbers; nil is none
	ChatTemplateKwargs                json.RawMessage // an object; nil is none
	CacheKey                          string          // prompt_cache_key; empty is none
}

// MaxTopLogprobs is the most likely tokens that a request may ask for.
const MaxTopLogprobs = 20

// Logprob is a token of an answer with the logarithm of its probability.
type Logprob struct {
	Token   string
	Bytes   []byte // of the token, where they are not those of Token
	Logprob float64
	Top     []Logprob // the likeliest tokens at its place, without lists of their own
}

// Logprobs are the tokens of the [TextDelta] that follows, in an answer to a
// request that asks for them. A backend that has none for it rejects the request.
type Logprobs struct{ Tokens []Logprob }

func (Logprobs) event() {}

// NoLogprobs is the Rejected error for a request for log-probabilities that a
// model does not give.
func NoLogprobs(cause error) error {
	return &fault.Error{Kind: fault.Rejected, Code: fault.CodeRejected, Param: "logprobs", Err: cause,
		Message: "The model gives no log-probabilities; ask without them."}
}
