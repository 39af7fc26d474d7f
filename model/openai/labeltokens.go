package openai

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/model"
)

// labelTokens returns the tokens that spell labels, with the index of their
// label. The error is errUnfit where a label has none or shares one.
func (t *target) labelTokens(ctx context.Context, labels []string) (map[int]int, error) {
	t.learnSpellings(ctx, labels)
	owners := map[int]int{}
	for i, label := range labels {
		ids := t.spellings(ctx, label)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, id := range ids {
			if _, taken := owners[id]; taken {
				return nil, errUnfit
			}
			owners[id] = i
		}
		if len(ids) == 0 {
			return nil, errUnfit
		}
	}
	return owners, nil
}

// spellings returns the tokens that are a label alone, with or without a blank
// before it, and for a word in any case. It asks the server's tokenizer once.
func (t *target) spellings(ctx context.Context, label string) []int {
	if ids, ok := t.spelled.Load(label); ok {
		return ids.([]int)
	}
	ids, ok := t.spell(ctx, label)
	if ok {
		t.spelled.Store(label, ids)
	}
	return ids
}

// learnSpellings finds the tokens of many labels with one request: it has all of
// them tokenized in one text. Labels are left to spellings where the server does not
// tell the texts of tokens.
func (t *target) learnSpellings(ctx context.Context, labels []string) {
	var unknown []string
	var text strings.Builder
	for _, before := range blanksBefore {
		for _, label := range labels {
			if _, ok := t.spelled.Load(label); ok {
				continue
			}
			if before == blanksBefore[0] {
				unknown = append(unknown, label)
			}
			for _, form := range formsOf(label) {
				text.WriteString(before + form)
			}
		}
	}
	if len(unknown) < 2 {
		return
	}
	tokens, err := t.pieces(ctx, text.String())
	if err != nil || slices.ContainsFunc(tokens, func(p piece) bool { return p.text == "" }) {
		return
	}
	found := map[string][]int{} // by form
	for _, p := range tokens {
		if form := strings.Trim(p.text, padding); form != "" && !slices.Contains(found[form], p.id) {
			found[form] = append(found[form], p.id)
		}
	}
	for _, label := range unknown {
		var ids []int
		for _, form := range formsOf(label) {
			ids = append(ids, found[form]...)
		}
		t.spelled.Store(label, ids)
	}
}

// blanksBefore are what stands before a label when its tokens are looked for. Some
// vocabularies put a blank before a text by themselves.
var blanksBefore = []string{" ", "\n"}

// formsOf returns how a label may be written.
func formsOf(label string) []string {
	if isWord(label) {
		return []string{label, strings.ToLower(label), strings.ToUpper(label)}
	}
	return []string{label}
}

// spell is spellings without its memory. It reports whether the server has told all.
func (t *target) spell(ctx context.Context, label string) (ids []int, ok bool) {
	for _, form := range formsOf(label) {
		for _, before := range blanksBefore {
			tokens, err := t.pieces(ctx, before+form)
			if err != nil {
				return nil, false
			}
			n := len(tokens)
			if n == 0 {
				continue
			}
			last := tokens[n-1]
			if last.text == "" {
				if last.text, err = t.textOf(ctx, last.id); err != nil {
					return nil, false
				}
			}
			if strings.Trim(last.text, padding) == form && !slices.Contains(ids, last.id) {
				ids = append(ids, last.id)
			}
		}
	}
	return ids, true
}

// piece is a token of a text.
type piece struct {
	id   int
	text string
}

// pieces returns the tokens of a text as the server's tokenizer has them.
func (t *target) pieces(ctx context.Context, text string) ([]piece, error) {
	ctx, cancel := context.WithTimeout(ctx, tokenizeTime)
	defer cancel()
	body, err := encode(struct {
		Model      string `json:"model,omitempty"`
		Prompt     string `json:"prompt"`
		Content    string `json:"content"`
		Special    bool   `json:"add_special_tokens"`
		WithPieces bool   `json:"with_pieces"`
		Strings    bool   `json:"return_token_strs"`
	}{t.name, text, text, false, true, true})
	if err != nil {
		return nil, err
	}
	x, err := t.send(ctx, post("", t.root()+"/tokenize", body))
	if err != nil {
		return nil, err
	}
	defer x.close()
	data, err := x.read()
	if err != nil {
		return nil, err
	}
	answer := gjson.ParseBytes(data)
	strs := answer.Get("token_strs").Array()
	var tokens []piece
	for i, token := range answer.Get("tokens").Array() {
		switch {
		case token.IsObject():
			tokens = append(tokens, piece{int(token.Get("id").Int()), token.Get("piece").Str})
		case i < len(strs):
			tokens = append(tokens, piece{int(token.Int()), strs[i].Str})
		default:
			tokens = append(tokens, piece{id: int(token.Int())})
		}
	}
	return tokens, nil
}

// textOf returns the text of a token, for a server that says only the numbers of
// tokens.
func (t *target) textOf(ctx context.Context, id int) (string, error) {
	body, err := encode(struct {
		Model  string `json:"model,omitempty"`
		Tokens []int  `json:"tokens"`
	}{t.name, []int{id}})
	if err != nil {
		return "", err
	}
	x, err := t.send(ctx, post("", t.root()+"/detokenize", body))
	if err != nil {
		return "", err
	}
	defer x.close()
	data, err := x.read()
	if err != nil {
		return "", err
	}
	return gjson.GetBytes(data, "text").Str, nil
}

// Labels implements [model.Labeler]. Where every server of the model shows the
// labels that it is asked for there are as many as its vocabularies have, up to
// the number wanted, and otherwise as many as servers show.
func (b *Backend) Labels(ctx context.Context, id string, n int) []string {
	few := model.Letters[:min(n, model.MaxLabels)]
	m := b.find(id)
	if n <= model.MaxLabels || m == nil {
		return few
	}
	for _, t := range m.targets {
		if !t.wide(ctx, n) || !b.tested(ctx, t, id) || !t.wide(ctx, n) {
			return few
		}
	}
	for _, t := range m.targets {
		t.learnSpellings(ctx, candidates())
	}
	var labels []string
	for _, label := range candidates() {
		if !slices.ContainsFunc(m.targets, func(t *target) bool { return len(t.spellings(ctx, label)) == 0 }) {
			labels = append(labels, label)
		}
		if len(labels) == n {
			return labels
		}
		if ctx.Err() != nil {
			break
		}
	}
	return few
}

// tested asks a target a question, unless it was asked one, so that it is known
// which ways of reading distributions it has. It reports whether that is known.
func (b *Backend) tested(ctx context.Context, t *target, id string) bool {
	if t.facts.get().tested {
		return true
	}
	ask := trials[len(trials)-1]
	ask.Model = id
	_, err := b.readScores(ctx, t, &ask)
	if f, ok := errors.AsType[*failure](err); err != nil && (!ok || f.passing) {
		return false
	}
	t.facts.learn(func(k *known) { k.tested = true })
	return true
}

// wide reports whether the target shows so many labels.
func (t *target) wide(ctx context.Context, labels int) bool {
	for _, way := range t.exact(ctx) {
		if way != (allowed{}) {
			return true
		}
	}
	return t.top(ctx, labels) >= 2*labels+behind
}

// candidates are what may be a label: letters, then pairs of letters.
func candidates() []string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	labels := slices.Clone(model.Letters)
	for _, first := range alphabet {
		for _, second := range alphabet {
			labels = append(labels, string(first)+string(second))
		}
	}
	return labels
}
