package console

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/decisions"
)

// decisionView is a stored decision.
type decisionView struct {
	Token    string
	Decision *decisions.Kept
	State    string
	Answers  []answerView
	Again    string // the request as JSON, which fills the playground
}

func (c *Console) decisionPage(v *request) error {
	kept, err := c.service.StoredDecision(v.ctx(), v.caller, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	req := &decisions.Request{Model: kept.Model, State: kept.State, Questions: kept.Questions}
	view := decisionView{Token: v.session.Token, Decision: kept, Again: string(requestJSON(req))}
	if len(view.Again) > maxAddress {
		view.Again = ""
	}
	var shown json.RawMessage
	if kind, text := stateOf(kept.State); kind == stateText {
		view.State = clip(maxShown, text)
	} else if shown, err = json.MarshalIndent(kept.State, "", "  "); err == nil {
		view.State = clip(maxShown, string(shown))
	}
	form, err := formOf(requestJSON(req))
	if err != nil {
		form, view.Again = decideForm{}, "" // the form cannot show it: options go without descriptions
	}
	for i, a := range kept.Answers {
		answer := viewOf(a, form.describe(a.Name))
		answer.Asked = kept.Questions[i].Instructions
		view.Answers = append(view.Answers, answer)
	}
	return v.render("decision", "Decision", view)
}

// maxAddress is how much of a request an address holds, in bytes.
const maxAddress = 6000

func (c *Console) deleteDecision(v *request) error {
	if err := c.service.DeleteDecision(v.ctx(), v.caller, v.r.PathValue("id")); err != nil {
		return err
	}
	return v.redirect("/log")
}
