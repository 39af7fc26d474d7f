package openai

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/model"
)

// askFormat is what a question ends with where probabilities are asked for.
const askFormat = "\n\nThis time do not reply with a label but with JSON: for each label the probability that it is the right one, " +
	"from 0 to 1, all of them adding up to 1."

var errNoProbabilities = errors.New("openai: the model did not give a probability for each label")

// askScores asks the model to write down its probabilities.
func (b *Backend) askScores(ctx context.Context, t *target, req *model.ScoreRequest) (*model.Scores, error) {
	asked := *req
	asked.Question += askFormat
	w := b.newScoreRequest(ctx, t, &asked)
	form, err := probabilitiesSchema(req.Options)
	if err != nil {
		return nil, err
	}
	w.ResponseFormat = newFormat(model.Format{Type: model.FormatSchema, Name: "probabilities", Schema: form, Strict: true})
	const perLabel, around = 24, 64 // tokens, blanks and long numbers included
	w.limit(t.server, around+perLabel*len(req.Options))
	reply, x, err := t.ask(ctx, w)
	if err != nil {
		return nil, err
	}
	var thoughts thinkFilter
	text := thoughts.add(reply.Get("choices.0.message.content").Str) + thoughts.end()
	p, err := parseProbabilities(text, req.Options)
	if err != nil {
		return nil, x.nonsense(err)
	}
	scores := &model.Scores{Probabilities: p}
	b.count(t, &asked, scores, parseUsage(reply.Get("usage")), 1)
	return scores, nil
}

func probabilitiesSchema(options []model.Option) (json.RawMessage, error) {
	var properties strings.Builder
	labels := make([]string, len(options))
	for i, o := range options {
		labels[i] = o.Label
		name, err := json.Marshal(o.Label)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			properties.WriteByte(',')
		}
		properties.Write(name)
		properties.WriteString(`:{"type":"number"}`)
	}
	required, err := json.Marshal(labels)
	return json.RawMessage(`{"type":"object","properties":{` + properties.String() + `},"required":` + string(required) + `,"additionalProperties":false}`), err
}

// parseProbabilities reads the probabilities that a model wrote and scales them
// to add up to 1.
func parseProbabilities(text string, options []model.Option) ([]float64, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		return nil, errors.Join(errNoProbabilities, err)
	}
	p := make([]float64, len(options))
	sum := 0.0
	for i, o := range options {
		value := gjson.ParseBytes(given[o.Label])
		if value.Type != gjson.Number || !(value.Num >= 0) {
			return nil, errNoProbabilities
		}
		p[i] = min(value.Num, 1)
		sum += p[i]
	}
	if sum == 0 {
		return nil, errNoProbabilities
	}
	for i := range p {
		p[i] /= sum
	}
	return p, nil
}
