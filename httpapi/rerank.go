package httpapi

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
)

// maxDocuments is how many documents one request may rank.
const maxDocuments = 1000

// ranked is a document's place in a ranking.
type ranked struct {
	Index     int             `json:"index"`
	Relevance float64         `json:"relevance_score"`
	Document  json.RawMessage `json:"document,omitempty"`
}

// rerank serves POST /v1/rerank, in the form of Cohere and Jina: a yes/no
// question per document about the query, which they share.
func (a *API) rerank(c *call) error {
	root, err := c.body(MaxBody, jsonin.Dots)
	if err != nil {
		return err
	}
	query, documents := root.Field("query"), root.Field("documents").Items(maxDocuments)
	req := &decisions.Request{Model: root.Field("model").Text(), State: query.Raw(), MaxQuestions: maxDocuments}
	if req.Model == "" {
		root.Field("model").Fail("is required")
	}
	if query.Text() == "" {
		query.Fail("is required")
	}
	if len(documents) == 0 {
		root.Field("documents").Fail("must have 1 to %d documents", maxDocuments)
	}
	for i, d := range documents {
		req.Questions = append(req.Questions, decisions.Question{Name: strconv.Itoa(i), Type: decisions.Noul,
			Instructions: "The state is a search query. Is this document relevant to it?\n" + model.Quote(documentText(d))})
	}
	top := len(documents)
	if n := root.Field("top_n").Int(); n != nil {
		if *n < 1 {
			root.Field("top_n").Fail("must be at least 1")
		}
		top = min(top, *n)
	}
	withDocuments := root.Field("return_documents").True()
	if err := root.Err(); err != nil {
		return err
	}
	resp, err := a.decision(c, req)
	if err != nil {
		return err
	}
	results := make([]ranked, len(resp.Answers))
	for i := range resp.Answers {
		results[i] = ranked{Index: i, Relevance: resp.Answers[i].Noul}
		if withDocuments {
			results[i].Document = documentObject(documents[i])
		}
	}
	slices.SortStableFunc(results, func(a, b ranked) int { return cmp.Compare(b.Relevance, a.Relevance) })
	return c.json(struct {
		Model   string   `json:"model"`
		Results []ranked `json:"results"`
		Usage   any      `json:"usage"`
	}{resp.Model, results[:top], map[string]int{
		"input_tokens": resp.Usage.InputTokens, "output_tokens": 0, "total_tokens": resp.Usage.InputTokens}})
}

// documentText returns a document as the model reads it.
func documentText(d *jsonin.Node) string {
	switch {
	case d.IsText():
		return d.Text()
	case d.IsObject() && d.Field("text").IsText():
		return d.Field("text").Text()
	case !d.IsObject():
		d.Fail("must be a string or an object")
	}
	return string(jsonout.Plain(d.Raw()))
}

// documentObject returns a document as answers show it.
func documentObject(d *jsonin.Node) json.RawMessage {
	if d.IsText() {
		object, err := encode(map[string]string{"text": d.Text()})
		if err == nil {
			return object
		}
	}
	return d.Raw()
}

// decision asks for the decision of an interface that answers 404 for a model
// that does not exist.
func (a *API) decision(c *call, req *decisions.Request) (*decisions.Response, error) {
	c.model = req.Model
	if err := a.exists(c, req.Model); err != nil {
		return nil, err
	}
	resp, err := a.service.Decide(c.ctx(), c.caller, req)
	if err != nil {
		return nil, err
	}
	c.inputTokens, c.outputTokens = resp.Usage.InputTokens, resp.Usage.OutputTokens
	return resp, nil
}

// exists returns an error where there is no model with an ID that a request
// names, unless the key may not use it, which is another one.
func (a *API) exists(c *call, id string) error {
	if _, err := a.service.Model(c.ctx(), c.caller, id); fault.Is(err, fault.NotFound) && c.caller.Allow(id) == nil {
		e := fault.Missing(model.CodeNotFound, "model", id)
		e.Param = "model"
		return e
	}
	return nil
}
