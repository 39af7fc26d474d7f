package httpapi

import (
	"strings"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// decisionsPath is the one path whose errors have Shape B, with what lies below it.
const decisionsPath = "/v1/systemone"

// decides reports whether a path is one of Decisions.
func decides(path string) bool { return within(path, decisionsPath) || path == "/v1/decisions" }

// within reports whether a path is another one or lies below it.
func within(path, other string) bool { return path == other || strings.HasPrefix(path, other+"/") }

// maxDecisionBody is how large the body of a Decision may be, in bytes: what 8
// MiB of images take in base64, and a state that fills the context window.
const maxDecisionBody = 13 << 20

// decide serves POST /v1/systemone (Endpoints, Decisions in the spec).
func (a *API) decide(c *call) error {
	root, err := c.modelBody(maxDecisionBody, jsonin.Slashes)
	if fault.Is(err, fault.TooLarge) {
		// Shape B has no 413: what is too large is an invalid request, as the
		// images that make a body so large are.
		return fault.Invalidf("", "%s", fault.From(err).Message)
	}
	if err != nil {
		return err
	}
	body := &wire.DecisionRequest{}
	if err := c.decode(root, body); err != nil {
		return err
	}
	req := convert.FromDecisionRequest(body)
	c.model = req.Model
	resp, err := a.service.Decide(c.ctx(), c.caller, req)
	if err != nil {
		return err
	}
	c.inputTokens, c.outputTokens = resp.Usage.InputTokens, resp.Usage.OutputTokens
	return c.json(convert.ToDecision(resp))
}
