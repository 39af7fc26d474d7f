package openai

import (
	"context"
	"errors"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/model"
)

// tokenizeTime bounds one call of a server's tokenizer.
const tokenizeTime = 10 * time.Second

// CountTokens implements [model.TokenCounter]: with the tokenizer of the model's
// first server where that has one (vLLM and llama.cpp do), and otherwise by the
// vocabulary o200k_base, which is an estimate for any other model. It stops where
// there are more than the model's context window has.
func (b *Backend) CountTokens(ctx context.Context, req *model.Request) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m := b.find(req.Model)
	if m == nil {
		return 0, notFound(req.Model, nil)
	}
	window := m.info().Window()
	count, ok := m.targets[0].countTokens(ctx, b.counts, req, window)
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if ok {
		return count, nil
	}
	ratio := m.targets[0].facts.get().ratio
	orElse(&ratio, 1)
	count, err := b.estimate(ctx, req, int(float64(window)/ratio))
	return int(ratio * float64(count)), err
}

// tokenizer is what is known of a server's tokenizer for a model.
type tokenizer struct {
	missing atomic.Bool  // the server has none
	window  atomic.Int64 // the context window that the server told, in tokens
}

// countTokens counts the tokens of a prompt with the server's tokenizer, up to
// where there are more than most. It reports whether it could. Messages that
// requests have in common are counted once, and apart from the others: a token
// that would have gone over the line break between them counts as two.
func (t *target) countTokens(ctx context.Context, known *cache, req *model.Request, most int) (count int, ok bool) {
	if t.tokenizer.missing.Load() {
		return 0, false
	}
	type key struct {
		target *target
		name   string
	}
	name := t.model(req.Model)
	ok = true
	count = req.Sum(key{t, name}, func(part *model.Request) (int, bool) {
		var text strings.Builder
		around := model.PromptTokens(part, func(s string) int {
			text.WriteString(s)
			text.WriteByte('\n')
			return 0
		})
		var n int
		n, ok = t.countText(ctx, known, req.Tenant, name, text.String(), most)
		most -= n
		return n + around, ok && most >= 0
	})
	return count, ok
}

// countText is countTokens for a text.
func (t *target) countText(ctx context.Context, known *cache, tenant, name, text string, most int) (int, bool) {
	key := known.key(t.URL, name, text)
	if count, ok := known.get(key); ok {
		return count, true
	}
	count := 0
	for piece, rest := cut(text, tokenizePiece); piece != "" && count <= most; piece, rest = cut(rest, tokenizePiece) {
		n, ok := t.tokenize(ctx, tenant, name, piece)
		if !ok {
			return 0, false
		}
		count += n
	}
	if count <= most {
		known.put(key, count)
	}
	return count, true
}

// tokenize asks the server how many tokens a text has. vLLM and SGLang read
// prompt and say count, llama.cpp reads content and lists the tokens. A server
// that does not have the route is not asked again.
func (t *target) tokenize(ctx context.Context, tenant, name, text string) (int, bool) {
	ctx, cancel := context.WithTimeout(ctx, tokenizeTime)
	defer cancel()
	body, err := encode(struct {
		Model   string `json:"model"`
		Prompt  string `json:"prompt"`
		Content string `json:"content"`
		Special bool   `json:"add_special_tokens"`
	}{name, text, text, false})
	if err != nil {
		return 0, false
	}
	x, err := t.send(ctx, post(tenant, t.root()+"/tokenize", body))
	if err != nil {
		if f, ok := errors.AsType[*failure](err); ok && f.status >= 300 && f.status < 500 && !f.busy() {
			t.tokenizer.missing.Store(true)
		}
		return 0, false
	}
	defer x.close()
	data, err := x.read()
	if err != nil {
		return 0, false
	}
	answer := gjson.ParseBytes(data)
	if window := answer.Get("max_model_len").Int(); window > 0 {
		t.tokenizer.window.Store(window)
	}
	if count := answer.Get("count"); count.Type == gjson.Number {
		return int(count.Int()), true
	}
	if tokens := answer.Get("tokens"); tokens.IsArray() {
		return int(answer.Get("tokens.#").Int()), true
	}
	t.tokenizer.missing.Store(true)
	return 0, false
}

// cache keeps numbers by the hash of what they belong to, the newest of them. It
// may be used concurrently.
type cache struct {
	seed maphash.Seed

	mu       sync.Mutex
	now, old map[uint64]int // guarded by mu
}

// cacheSize is how many numbers each half of a cache keeps: more than the texts of
// a few long histories, of which each is counted again at each turn. A number
// takes about 40 bytes.
const cacheSize = 1 << 14

func newCache() *cache { return &cache{seed: maphash.MakeSeed(), now: map[uint64]int{}} }

// key returns the hash of texts. Two that differ have the same one with a
// probability of 2⁻⁶⁴.
func (c *cache) key(texts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	for _, text := range texts {
		h.WriteString(text)
		h.WriteByte(0)
	}
	return h.Sum64()
}

// stateKey returns the hash of what a target is asked about.
func (c *cache) stateKey(t *target, req *model.ScoreRequest) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	h.WriteString(t.URL + "\x00" + t.model(req.Model) + "\x00" + req.Instructions)
	for _, part := range req.State {
		h.WriteByte(0)
		h.WriteString(partText(part))
		if image, ok := part.(model.Image); ok {
			h.Write(image.Data)
		}
	}
	return h.Sum64()
}

// questionKey returns the hash of a question of a tenant, whatever it is about.
func (c *cache) questionKey(req *model.ScoreRequest) uint64 {
	texts := []string{req.Tenant, req.Model, req.Instructions, req.Question}
	for _, o := range req.Options {
		texts = append(texts, o.Label)
	}
	return c.key(texts...)
}

func (c *cache) get(key uint64) (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.now[key]; ok {
		return v, true
	}
	v, ok := c.old[key]
	if ok {
		c.set(key, v)
	}
	return v, ok
}

func (c *cache) put(key uint64, v int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(key, v)
}

// set is called with the lock held. When the newer half is full it becomes the
// older one.
func (c *cache) set(key uint64, v int) {
	if len(c.now) >= cacheSize {
		c.old, c.now = c.now, map[uint64]int{}
	}
	c.now[key] = v
}
