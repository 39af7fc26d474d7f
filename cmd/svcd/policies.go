package main

import (
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/route"
)

// policies decodes policies by their names. What is wrong with what they say is for
// package guard.
func policies(n *jsonin.Node) map[string]guard.Policy {
	if n.Absent() {
		return nil
	}
	all := map[string]guard.Policy{}
	for f := range n.Fields() {
		only(f, "stage", "questions", "block", "model", "on_failure", "log_only", "sees", "calibrations")
		p := guard.Policy{
			Stage: guard.Stage(f.Field("stage").Text()), Questions: questions(f.Field("questions")), Model: f.Field("model").Text(),
			OnFailure: guard.OnFailure(f.Field("on_failure").Text()), LogOnly: f.Field("log_only").True(), Calibrations: f.Field("calibrations").Text(),
			Block: map[string]guard.Block{},
		}
		for _, sight := range texts(f.Field("sees")) {
			p.Sees = append(p.Sees, guard.Sight(sight))
		}
		for b := range f.Field("block").Fields() {
			p.Block[b.Name()] = block(b)
		}
		all[f.Name()] = p
	}
	return all
}

// block decodes what a policy blocks by one question.
func block(n *jsonin.Node) guard.Block {
	only(n, "when", "threshold", "false_blocks")
	b := guard.Block{When: n.Field("when").Raw()}
	if n.Field("when").Absent() {
		n.Fail("must have the answer that blocks as when")
	}
	for name, value := range map[string]*float64{"threshold": &b.Threshold, "false_blocks": &b.FalseBlocks} {
		if given := n.Field(name).Number(); given != nil {
			if *value = *given; *value <= 0 || *value > 1 {
				n.Field(name).Fail("must be above 0 and at most 1")
			}
		}
	}
	return b
}

// questions decodes questions by their names, as a decision has them.
func questions(n *jsonin.Node) []decisions.Question {
	var all []decisions.Question
	for f := range n.Fields() {
		q := question(f)
		q.Name = f.Name()
		all = append(all, q)
	}
	return all
}

// question decodes a question without a name.
func question(n *jsonin.Node) decisions.Question {
	only(n, "type", "instructions", "criteria")
	q := decisions.Question{Type: decisions.Type(n.Field("type").Text()), Instructions: n.Field("instructions").Text()}
	if criteria := n.Field("criteria"); !criteria.Absent() {
		q.Criteria = criteria.Raw()
	}
	return q
}

// texts decodes a list of texts.
func texts(n *jsonin.Node) []string {
	var all []string
	for _, item := range n.Items(maxModels) {
		all = append(all, item.Text())
	}
	return all
}

// routes decodes routes by their model IDs. What is wrong with what they say is for
// package route.
func routes(n *jsonin.Node) map[string]route.Route {
	if n.Absent() {
		return nil
	}
	all := map[string]route.Route{}
	for f := range n.Fields() {
		only(f, "question", "models", "otherwise", "min_confidence", "cascade", "accept", "threshold", "error", "decider", "sees", "calibrations")
		r := route.Route{
			Otherwise: f.Field("otherwise").Text(), Cascade: texts(f.Field("cascade")), Decider: f.Field("decider").Text(), Calibrations: f.Field("calibrations").Text(),
			Models: map[string]string{},
		}
		for name, q := range map[string]**decisions.Question{"question": &r.Question, "accept": &r.Accept} {
			if given := f.Field(name); !given.Absent() {
				asked := question(given)
				*q = &asked
			}
		}
		for m := range f.Field("models").Fields() {
			r.Models[m.Name()] = m.Text()
		}
		for _, sight := range texts(f.Field("sees")) {
			r.Sees = append(r.Sees, guard.Sight(sight))
		}
		for name, value := range map[string]*float64{"min_confidence": &r.MinConfidence, "threshold": &r.Threshold, "error": &r.Error} {
			if given := f.Field(name).Number(); given != nil {
				if *value = *given; *value <= 0 || *value > 1 {
					f.Field(name).Fail("must be above 0 and at most 1")
				}
			}
		}
		all[f.Name()] = r
	}
	return all
}
