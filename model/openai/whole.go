package openai

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// The learned ratio of a target's tokens to the estimate stays between these
// bounds and is learned from prompts of at least ratioTokens, in which a chat
// template does not weigh. An answer has been made from a cut prompt where the
// server counted less than half of what the ratio leads to expect, or less than
// leastRatio of the estimate where there is none: no language needs so few. A count
// under leastCut is nobody's window: it is of a server that counts what was not in
// its cache, or that does not count.
const (
	leastRatio, mostRatio = 0.3, 4
	ratioTokens           = 200
	cutTokens             = 2000
	leastCut              = 256
)

const (
	// manyBytes is how many bytes of a prompt for each token that the server has
	// counted raise the doubt that it was cut: few languages have so many.
	manyBytes = 8

	// ratioBytes is the longest prompt of a generation that is estimated for the
	// ratio, and ratioEvery of how many answers one is.
	ratioBytes = 16 << 10
	ratioEvery = 64
)

// checkPrompt is checkWhole for the prompt of a generation, which is only
// estimated where that is needed.
func (b *Backend) checkPrompt(ctx context.Context, t *target, req *model.Request, told int) error {
	type key struct{}
	bytes := req.Sum(key{}, func(part *model.Request) (int, bool) {
		return model.PromptTextTokens(withoutReasoning(part), func(text string) int { return len(text) }), true
	})
	doubtful := bytes > cutTokens && bytes > manyBytes*told
	learns := bytes <= ratioBytes && t.tokenizer.missing.Load() && t.answers.Add(1)%ratioEvery == 1
	if told < leastCut || !doubtful && !learns {
		return nil
	}
	estimate, err := b.estimate(ctx, withoutReasoning(req), bytes)
	if err != nil {
		return err
	}
	return b.checkWhole(t, told, estimate)
}

// withoutReasoning returns a request without the reasoning of its messages:
// templates leave out what is old of it.
func withoutReasoning(req *model.Request) *model.Request {
	reasons := func(m model.Message) bool { return m.Reasoning != "" }
	if !slices.ContainsFunc(req.Messages, reasons) {
		return req
	}
	sent := *req
	sent.Memo, sent.Messages = nil, slices.Clone(req.Messages) // counts there are with it
	for i := range sent.Messages {
		sent.Messages[i].Reasoning = ""
	}
	return &sent
}

// checkWhole learns from what a server has counted how its tokens relate to the
// estimate, and returns an error where it shows that the prompt was cut.
func (b *Backend) checkWhole(t *target, told, estimate int) error {
	if told < leastCut || estimate <= 0 {
		return nil
	}
	share := leastRatio
	if ratio := t.facts.get().ratio; ratio > 0 {
		share = min(ratio, 1) / 2
	}
	if estimate >= cutTokens && float64(told) < share*float64(estimate) {
		t.tokenizer.window.Store(int64(told))
		e := fault.ContextLength("The prompt does not fit the model's context window.")
		e.Err = fmt.Errorf("%s: the server has cut the prompt to %d tokens", t.host, told)
		return &failure{fault: e}
	}
	if estimate < ratioTokens {
		return nil
	}
	ratio := min(max(float64(told)/float64(estimate), leastRatio), mostRatio)
	t.facts.learn(func(k *known) {
		if k.ratio == 0 {
			k.ratio = ratio
		}
		k.ratio += (ratio - k.ratio) / 8 // the mean of the last answers
	})
	return nil
}
