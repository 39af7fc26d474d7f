package openai

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// The learned ratio of a target's tokens to the estimate stays between leastRatio and
// mostRatio and is learned from prompts of at least ratioTokens, in which a chat
// template does not weigh.
const (
	leastRatio, mostRatio = 0.3, 4
	ratioTokens           = 200
)

const (
	// A prompt of at least cutTokens was cut where the server counted less than half
	// of what the ratio leads to expect, or less than leastRatio of the estimate where
	// there is none: no language needs so few. Of counts under leastCut nothing is
	// concluded.
	cutTokens = 2000
	leastCut  = 256

	// manyBytes is how many bytes of a prompt for each token that the server has
	// counted raise the doubt that it was cut: few languages have so many.
	manyBytes = 8

	// ratioBytes is the longest prompt of a generation that is estimated for the
	// ratio, and ratioEvery of how many answers one is.
	ratioBytes = 16 << 10
	ratioEvery = 64

	// beginBlock is the size of the pieces, in bytes, of which the beginnings of
	// prompts are remembered.
	beginBlock = 4 << 10
)

// beginning reads the texts of a prompt. It hashes the first n blocks, for each n.
type beginning struct {
	hash  maphash.Hash
	sums  []uint64
	bytes int
}

// beginning returns the beginning of a prompt to a target whose texts walk visits.
func (b *Backend) beginning(t *target, id string, walk func(func(string))) *beginning {
	p := new(beginning)
	p.hash.SetSeed(b.begun.seed)
	p.hash.WriteString(t.URL + "\x00" + t.model(id) + "\x00")
	walk(p.add)
	return p
}

func (p *beginning) add(text string) {
	for text != "" {
		n := min(beginBlock-p.bytes%beginBlock, len(text))
		p.hash.WriteString(text[:n])
		text = text[n:]
		if p.bytes += n; p.bytes%beginBlock == 0 {
			p.sums = append(p.sums, p.hash.Sum64())
		}
	}
}

// fresh returns the share of a prompt that is new: of what comes behind the longest
// beginning that the target has answered before. A server may count that alone,
// because it has the rest in its cache.
func (b *Backend) fresh(p *beginning) float64 {
	for n := len(p.sums); n > 0; n-- {
		if _, answered := b.begun.get(p.sums[n-1]); answered {
			return float64(max(0, p.bytes-(n+1)*beginBlock)) / float64(p.bytes)
		}
	}
	return 1
}

// remember notes that a prompt was answered.
func (b *Backend) remember(p *beginning) {
	for _, sum := range p.sums {
		b.begun.put(sum, 1)
	}
}

// checkPrompt is checkCount for the prompt of a generation, which is only estimated
// where the count leaves a doubt.
func (b *Backend) checkPrompt(ctx context.Context, t *target, req *model.Request, told int) error {
	sent := withoutReasoning(req)
	p := b.beginning(t, req.Model, func(add func(string)) {
		model.PromptTextTokens(sent, func(text string) int {
			add(text)
			return 0
		})
	})
	if p.bytes > 0 {
		t.facts.learn(func(k *known) { k.perByte = lower(k.perByte, float64(told)/float64(p.bytes)) })
	}
	doubtful := p.bytes > cutTokens && p.bytes > manyBytes*told
	learns := p.bytes <= ratioBytes && t.tokenizer.missing.Load() && t.answers.Add(1)%ratioEvery == 1
	if told < leastCut || !doubtful && !learns {
		b.remember(p)
		return nil
	}
	estimate, err := b.estimate(ctx, sent, p.bytes)
	if err != nil {
		return err
	}
	return b.checkCount(t, p, told, estimate)
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

// checkCount learns from what a server has counted how its tokens relate to the
// estimate, and returns an error where it shows that the prompt was cut: where it is
// far below even what is new in the prompt, or below all of it for a server that is
// known to cut.
func (b *Backend) checkCount(t *target, p *beginning, told, estimate int) error {
	if told < leastCut || estimate <= 0 {
		b.remember(p)
		return nil
	}
	fresh := b.fresh(p)
	if t.traits().cutsPrompts {
		fresh = 1
	}
	share := leastRatio
	if ratio := t.facts.get().ratio; ratio > 0 {
		share = min(ratio, 1) / 2
	}
	if estimate >= cutTokens && float64(told) < share*fresh*float64(estimate) {
		e := fault.ContextLength("The prompt does not fit the model's context window.")
		e.Err = fmt.Errorf("%s: the server has cut the prompt to %d tokens", t.host, told)
		return &failure{fault: e}
	}
	b.remember(p)
	if estimate < ratioTokens || fresh < 1 {
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
