package openai

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/model"
)

// Ways to read a distribution that keep a model to its labels.

// restricted has the server keep the model to a form in which nothing but a label
// can stand where the labels are looked for. What it shows there is what the model
// thinks of them, since servers show probabilities of before the restriction; one
// that shows those of after it has left the model nothing else to say.
type restricted struct{}

// formMember is the member of the form that has the label.
const formMember = "answer"

func (restricted) score(ctx context.Context, t *target, w *wireRequest, labels []string) (*labelReading, error) {
	names, err := json.Marshal(labels)
	if err != nil {
		return nil, err
	}
	form := `{"type":"object","properties":{"` + formMember + `":{"type":"string","enum":` + string(names) + `}},"required":["` + formMember + `"],"additionalProperties":false}`
	w.ResponseFormat = newFormat(model.Format{Type: model.FormatSchema, Name: formMember, Schema: json.RawMessage(form), Strict: true})
	answer, positions, x, err := listed{manyTokens}.ask(ctx, t, w, len(labels))
	if err != nil {
		return nil, err
	}
	s := newLabelReading(answer, x)
	s.reading, s.used = readForm(positions, labels)
	s.hidden, s.shown = min(s.hidden, 1), len(positions)
	return s, nil
}

// readForm reads the distribution over labels where the form of restricted has
// one. The number of positions up to there is 0 where an answer is not in the form.
func readForm(positions []position, labels []string) (reading, int) {
	r := newReading(len(labels))
	said := ""
	for i, p := range positions {
		said += p.chosen.text
		begin := strings.Trim(said, padding+"{")
		value, whole := strings.CutPrefix(begin, formMember)
		switch {
		case !whole && !strings.HasPrefix(formMember, begin):
			return r, 0
		case whole && strings.Trim(value, padding+"}") != "":
			r.add(p, 1, labels)
			return r, i + 1
		}
	}
	return r, 0
}

// allowed is the way of a vLLM that does not show tokens by their IDs. Labels that
// are not among the likeliest tokens are asked for again, together with the
// likeliest label and nothing else allowed. A server shows probabilities of after
// that where it is set up so, and otherwise what the first answer left out stays
// out.
type allowed struct{}

func (allowed) score(ctx context.Context, t *target, w *wireRequest, labels []string) (*labelReading, error) {
	s, err := listed{1}.score(ctx, t, w, labels)
	if err != nil || s.used == 0 || s.complete() {
		return s, err
	}
	reference := -1
	for i, m := range s.masses {
		if !math.IsNaN(m) && (reference < 0 || m > s.masses[reference]) {
			reference = i
		}
	}
	if reference < 0 {
		return s, nil
	}
	for i, m := range s.masses {
		if math.IsNaN(m) {
			if err := s.askFor(ctx, t, w, labels, i, reference); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// askFor asks for a label that was not shown beside one that was.
func (s *labelReading) askFor(ctx context.Context, t *target, w *wireRequest, labels []string, i, reference int) error {
	pair := []string{labels[reference], labels[i]}
	owners, err := t.labelTokens(ctx, pair)
	if err != nil {
		return err
	}
	only := *w
	for id := range owners {
		only.AllowedTokenIDs = append(only.AllowedTokenIDs, id)
	}
	slices.Sort(only.AllowedTokenIDs)
	only.TopLogprobs = min(w.TopLogprobs, len(owners))
	answer, x, err := t.ask(ctx, &only)
	if err != nil {
		return err
	}
	positions := parsePositions(answer.Get("choices.0.logprobs"))
	if len(positions) == 0 {
		return x.unusable(errNoLogprobs)
	}
	r := newReading(len(pair))
	r.add(positions[0], 1, pair)
	const nearlyAll = 0.999
	if r.mass() < nearlyAll || !(r.masses[0] > 0) || math.IsNaN(r.masses[1]) {
		return errLacking
	}
	s.masses[i] = min(s.masses[reference]*r.masses[1]/r.masses[0], s.hidden)
	s.hidden -= s.masses[i]
	return nil
}

// replayed is SGLang's way. Its route for chats shows the likeliest tokens and says
// what the prompt was; where labels are missing its own route shows any token
// behind that prompt, which is in the cache.
type replayed struct{}

func (replayed) score(ctx context.Context, t *target, w *wireRequest, labels []string) (*labelReading, error) {
	w.ReturnPromptIDs = true
	s, answer, err := listed{1}.read(ctx, t, w, labels)
	if err != nil || s.used == 0 || s.complete() {
		return s, err
	}
	if slices.ContainsFunc(w.messages, hasImage) {
		return nil, errUnfit // images are no tokens
	}
	prompt := promptIDs(answer)
	if prompt == "" {
		return nil, errLacking
	}
	owners, err := t.labelTokens(ctx, labels)
	if err != nil {
		return nil, err
	}
	masses, err := t.replay(ctx, w.tenant, prompt, owners, len(labels))
	if err != nil {
		return nil, err
	}
	s.masses, s.hidden = masses, 0
	return s, nil
}

// promptIDs returns the tokens of the prompt of an answer as JSON, empty where the
// server does not say them.
func promptIDs(answer gjson.Result) string {
	for _, place := range []string{"choices.0.prompt_token_ids", "prompt_token_ids", "sglext.prompt_token_ids"} {
		if ids := answer.Get(place); ids.IsArray() && ids.Get("0").Type == gjson.Number {
			return ids.Raw
		}
	}
	return ""
}

// replay returns the masses of labels behind a prompt of tokens.
func (t *target) replay(ctx context.Context, tenant, prompt string, owners map[int]int, labels int) ([]float64, error) {
	ids := make([]int, 0, len(owners))
	for id := range owners {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	body, err := encode(map[string]any{
		"input_ids": json.RawMessage(prompt), "return_logprob": true, "token_ids_logprob": ids,
		"sampling_params": map[string]any{"max_new_tokens": 1, "temperature": 0},
	})
	if err != nil {
		return nil, err
	}
	x, err := t.send(ctx, post(tenant, t.root()+"/generate", body))
	if f, ok := errors.AsType[*failure](err); ok && (f.refuses() || noRoute(f.status)) {
		return nil, errLacking
	}
	if err != nil {
		return nil, err
	}
	defer x.close()
	answer, err := x.whole(maxEvent)
	if err != nil {
		return nil, err
	}
	masses, found := make([]float64, labels), 0
	answer.Get("meta_info.output_token_ids_logprobs.0").ForEach(func(_, shown gjson.Result) bool { // [log-probability, ID, text]
		if i, ok := owners[int(shown.Get("1").Int())]; ok && shown.Get("0").Type == gjson.Number {
			masses[i] += min(math.Exp(shown.Get("0").Num), 1)
			found++
		}
		return true
	})
	if found < len(owners) {
		return nil, errLacking
	}
	return masses, nil
}
