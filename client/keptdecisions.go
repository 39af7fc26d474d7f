package client

import (
	"context"
	"strconv"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

const keptPath = "/v1/decisions"

func (c *Client) keptDecision(ctx context.Context, method, path string, body any) (*decisions.Kept, error) {
	var w wire.KeptDecision
	if err := c.Do(ctx, method, path, body, &w); err != nil {
		return nil, err
	}
	return convert.FromKeptDecision(&w)
}

// StoredDecision returns a stored decision. The error is NotFound.
func (c *Client) StoredDecision(ctx context.Context, _ Caller, id string) (*decisions.Kept, error) {
	return c.keptDecision(ctx, "GET", under(keptPath, id), nil)
}

// StoredDecisions returns a page of the organization's stored decisions.
func (c *Client) StoredDecisions(ctx context.Context, _ Caller, f decisions.Filter, p Page) (List[decisions.Kept], error) {
	labeled := ""
	if f.Labeled != nil {
		labeled = strconv.FormatBool(*f.Labeled)
	}
	var failed error
	found, err := list(ctx, c, keptPath, p, func(w wire.KeptDecision) decisions.Kept {
		k, err := convert.FromKeptDecision(&w)
		if err != nil {
			failed = err
			return decisions.Kept{}
		}
		return *k
	}, "question", f.Question, "model", f.Model, "labeled", labeled)
	if err == nil {
		err = failed
	}
	return found, err
}

// LabelDecision replaces labels of a stored decision and returns it.
func (c *Client) LabelDecision(ctx context.Context, _ Caller, id string, labels []decisions.Label) (*decisions.Kept, error) {
	return c.keptDecision(ctx, "POST", under(keptPath, id)+"/labels", &wire.LabelsRequest{Labels: convert.ToLabels(labels)})
}

// DeleteDecision removes a stored decision. The error is NotFound.
func (c *Client) DeleteDecision(ctx context.Context, _ Caller, id string) error {
	return c.Do(ctx, "DELETE", under(keptPath, id), nil, nil)
}
