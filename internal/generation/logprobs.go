package generation

import (
	"errors"
	"iter"
	"strings"

	"github.com/seed-506d8e5d/svc/model"
)

var errNoLogprobs = errors.New("the answer has no log-probabilities")

// withLogprobs is the answer to a request, which fails where it asks for
// log-probabilities and the text comes without: an answer that leaves them out in
// silence would be another one than was asked for.
func withLogprobs(req *model.Request, events iter.Seq2[model.Event, error]) iter.Seq2[model.Event, error] {
	if !req.Logprobs {
		return events
	}
	return func(yield func(model.Event, error) bool) {
		given := false
		for event, err := range events {
			switch event.(type) {
			case model.Logprobs:
				given = true
			case model.TextDelta:
				if !given {
					yield(nil, model.NoLogprobs(errNoLogprobs))
					return
				}
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// trimTokens returns tokens without the blank ones around them.
func trimTokens(tokens []model.Logprob) []model.Logprob {
	blank := func(t *model.Logprob) bool { return strings.TrimSpace(t.Token) == "" }
	for len(tokens) > 0 && blank(&tokens[0]) {
		tokens = tokens[1:]
	}
	for len(tokens) > 0 && blank(&tokens[len(tokens)-1]) {
		tokens = tokens[:len(tokens)-1]
	}
	return tokens
}
