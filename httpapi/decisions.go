package httpapi

import (
	"strings"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
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
	req, err := decodeDecision(root)
	if err != nil {
		return err
	}
	c.model = req.Model
	resp, err := a.service.Decide(c.ctx(), c.caller, req)
	if err != nil {
		return err
	}
	c.inputTokens, c.outputTokens = resp.Usage.InputTokens, resp.Usage.OutputTokens
	return c.written(resp)
}

// decodeDecision reads a request. Questions keep their order, as options do in
// the criteria, which package decisions reads. Of a list that is too long it
// reads one element too many, for that package to refuse.
func decodeDecision(root *jsonin.Node) (*decisions.Request, error) {
	req := &decisions.Request{Model: root.Field("model").Text(), State: root.Field("state").Shared()}
	for q := range root.Field("questions").Fields() {
		req.Questions = append(req.Questions, decisions.Question{
			Name:         q.Name(),
			Type:         decisions.Type(q.Field("type").Text()),
			Instructions: instructions(q.Field("instructions")),
			Criteria:     q.Field("criteria").Raw(),
		})
		if len(req.Questions) > decisions.MaxQuestions {
			break
		}
	}
	decodeWays(req, root)
	for _, example := range root.Field("examples").First(decisions.MaxExamples + 1) {
		e := decisions.Example{State: example.Field("state").Raw()}
		for answer := range example.Field("answers").Fields() {
			e.Answers = append(e.Answers, decisions.ExampleAnswer{Question: answer.Name(), Value: answer.Raw()})
		}
		req.Examples = append(req.Examples, e)
	}
	for _, image := range root.Field("images").First(decisions.MaxImages + 1) {
		req.Images = append(req.Images, decodeImage(image))
	}
	return req, root.Err()
}

// decodeWays reads the extensions that say how to ask and what to do without.
func decodeWays(req *decisions.Request, root *jsonin.Node) {
	if n := root.Field("debias").Int(); n != nil {
		if req.Debias = *n; *n < 1 {
			root.Field("debias").Fail("must be 1 to %d", decisions.MaxOptions)
		}
	}
	if x := root.Field("abstain_above_error").Number(); x != nil {
		if req.AbstainAboveError = *x; !(*x > 0) {
			root.Field("abstain_above_error").Fail("must be above 0 and at most 1")
		}
	}
}

// instructions reads what a question asks: a string, or an object or array that
// the model reads as compact JSON.
func instructions(n *jsonin.Node) string {
	switch {
	case n.Absent():
		return ""
	case n.IsObject() || n.IsArray():
		return string(jsonout.Plain(n.Raw()))
	case !n.IsText():
		n.Fail("must be a string, an object, an array or null")
	}
	return n.Text()
}

// decodeImage reads an image. Its errors name the image, not the member at
// fault: the spec has their messages begin with images/<index>.
func decodeImage(image *jsonin.Node) decisions.Image {
	for _, name := range [...]string{"mediaType", "base64"} {
		if f := image.Field(name); !f.Absent() && !f.IsText() {
			image.Fail("%s must be a string", name)
		}
	}
	return decisions.Image{MediaType: image.Field("mediaType").Text(), Base64: image.Field("base64").Text()}
}
