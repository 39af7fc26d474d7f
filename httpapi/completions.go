package httpapi

import (
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// createCompletion serves POST /v1/completions as in the OpenAI API.
func (a *API) createCompletion(c *call) error {
	body := &wire.CompletionRequest{}
	if err := c.modelRequest(body); err != nil {
		return err
	}
	req := convert.FromCompletionRequest(body)
	c.model = req.Model
	var err error
	if req.Guard, err = c.guard(nil, ""); err != nil {
		return err
	}
	if isTrue(body.Stream) {
		chunks, err := a.service.StreamText(c.ctx(), c.caller, req)
		if err != nil {
			return err
		}
		return c.sendChunks(&chunkEncoder{usage: includeUsage(&body.Streaming), text: true}, chunks)
	}
	completion, err := a.service.CompleteText(c.ctx(), c.caller, req)
	if err != nil {
		return err
	}
	c.inputTokens, c.outputTokens = completion.Usage.InputTokens, completion.Usage.OutputTokens
	c.answered(completion.Answering)
	return c.json(convert.ToTextCompletion(completion))
}
