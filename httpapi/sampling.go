package httpapi

import (
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/model"
)

// maxBiases is how many tokens a logit_bias may name.
const maxBiases = 1024

// decodeSampling reads the fields that are handed through to the model.
func decodeSampling(root *jsonin.Node) model.Sampling {
	return model.Sampling{
		Seed:               root.Field("seed").Int(),
		PresencePenalty:    root.Field("presence_penalty").Number(),
		FrequencyPenalty:   root.Field("frequency_penalty").Number(),
		RepetitionPenalty:  root.Field("repetition_penalty").Number(),
		MinP:               root.Field("min_p").Number(),
		TopK:               root.Field("top_k").Int(),
		LogitBias:          decodeBias(root.Field("logit_bias")),
		ChatTemplateKwargs: root.Field("chat_template_kwargs").Object().Raw(),
		CacheKey:           root.Field("prompt_cache_key").Text(),
	}
}

// decodeBias reads an object of numbers by token ID. An empty one, which SDKs
// send, is none.
func decodeBias(n *jsonin.Node) []byte {
	count := 0
	for f := range n.Fields() {
		count++
		const most = 100
		if bias := f.Number(); bias == nil || *bias < -most || *bias > most {
			f.Fail("must be a number between -100 and 100")
		}
	}
	if count > maxBiases {
		n.Fail("must have at most %d members", maxBiases)
	}
	if count == 0 {
		return nil
	}
	return n.Raw()
}
