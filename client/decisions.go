package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
)

// Decide answers typed questions about a state with probabilities.
func (c *Client) Decide(ctx context.Context, _ Caller, req *decisions.Request) (*decisions.Response, error) {
	questions, err := ordered(req.Questions)
	if err != nil {
		return nil, err
	}
	body := object{"model": req.Model, "state": req.State, "questions": questions}
	if req.Debias > 0 {
		body["debias"] = req.Debias
	}
	if req.AbstainAboveError > 0 {
		body["abstain_above_error"] = req.AbstainAboveError
	}
	var examples []object
	for _, e := range req.Examples {
		answers := object{}
		for _, a := range e.Answers {
			answers[a.Question] = a.Value
		}
		examples = append(examples, object{"state": e.State, "answers": answers})
	}
	if examples != nil {
		body["examples"] = examples
	}
	var images []object
	for _, i := range req.Images {
		images = append(images, object{"mediaType": i.MediaType, "base64": i.Base64})
	}
	if images != nil {
		body["images"] = images
	}
	var answer struct {
		Model   string
		Answers map[string]wireAnswer
		Usage   struct {
			Input  int `json:"input_tokens"`
			Output int `json:"output_tokens"`
		}
	}
	if err := c.Do(ctx, "POST", "/v1/systemone", body, &answer); err != nil {
		return nil, err
	}
	resp := &decisions.Response{Model: answer.Model, Usage: decisions.Usage{InputTokens: answer.Usage.Input, OutputTokens: answer.Usage.Output}}
	for i := range req.Questions {
		a, ok := answer.Answers[req.Questions[i].Name]
		if !ok {
			return nil, fault.Upstreamf(nil, "The server did not answer the question %q.", req.Questions[i].Name)
		}
		one, err := a.answer(req.Questions[i].Name)
		if err != nil {
			return nil, err
		}
		resp.Answers = append(resp.Answers, one)
	}
	resp.Ordered, resp.Abstains = req.Debias > 0, req.AbstainAboveError > 0
	return resp, nil
}

// ordered is the object of the questions, in their order: as of two keys in a
// map, nothing says which comes first.
func ordered(questions []decisions.Question) (json.RawMessage, error) {
	var b bytes.Buffer
	for i, q := range questions {
		fields := object{"type": q.Type}
		set(fields, "instructions", q.Instructions)
		if q.Criteria != nil {
			fields["criteria"] = q.Criteria
		}
		if q.Images != nil {
			return nil, fault.Invalidf("questions", "Images of a question cannot be sent: make them images of the request.")
		}
		name, err := json.Marshal(q.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(fields)
		if err != nil {
			return nil, fault.Invalidf("questions", "The criteria of %q are no JSON.", q.Name)
		}
		separator := ","
		if i == 0 {
			separator = "{"
		}
		fmt.Fprintf(&b, "%s%s:%s", separator, name, value)
	}
	if b.Len() == 0 {
		return json.RawMessage("{}"), nil
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

type wireAnswer struct {
	Type           decisions.Type
	Noul           float64
	Choice         string
	Score          float64
	Probabilities  json.RawMessage
	Legend         map[string]json.RawMessage
	Confidence     float64
	OrderVariation float64 `json:"order_variation"`
	Calibration    string
	Raw            *wireAnswer
	Stale          bool `json:"calibration_stale"`
	Abstained      bool
}

// answer returns the answer to the question of a name.
func (a *wireAnswer) answer(name string) (decisions.Answer, error) {
	outcomes, err := a.outcomes()
	if err != nil {
		return decisions.Answer{}, err
	}
	one := decisions.Answer{
		Name: name, Type: a.Type, Noul: a.Noul, Choice: a.Choice, Score: a.Score, Outcomes: outcomes, Confidence: a.Confidence,
		OrderVariation: a.OrderVariation, Calibration: a.Calibration, CalibrationStale: a.Stale, Abstained: a.Abstained,
	}
	if a.Raw != nil {
		a.Raw.Type = a.Type
		raw, err := a.Raw.answer(name)
		if err != nil {
			return decisions.Answer{}, err
		}
		raw.OrderVariation, one.Raw = a.OrderVariation, &raw
	}
	return one, nil
}

// outcomes reads the probabilities, which are in the order of the options.
func (a *wireAnswer) outcomes() ([]decisions.Outcome, error) {
	if a.Probabilities == nil {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(a.Probabilities))
	_, err := d.Token()
	var result []decisions.Outcome
	for err == nil && d.More() {
		var name json.Token
		var p float64
		if name, err = d.Token(); err != nil {
			break
		}
		if err = d.Decode(&p); err == nil {
			text := fmt.Sprint(name)
			level := a.Legend[text]
			if string(level) == "null" {
				level = nil
			}
			result = append(result, decisions.Outcome{Name: text, Level: level, Probability: p})
		}
	}
	if err != nil {
		return nil, fault.Upstreamf(err, "The server's probabilities cannot be read.")
	}
	return result, nil
}
