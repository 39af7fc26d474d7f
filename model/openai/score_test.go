package openai

import (
	"github.com/seed-506d8e5d/svc/model"
)

// question is a question with these labels.
func question(labels ...string) *model.ScoreRequest {
	req := &model.ScoreRequest{Model: model.DefaultDecider, Instructions: "Answer with a label.",
		State: []model.Part{model.Text("The sky is blue.\n")}, Question: "Which?\n"}
	for _, label := range labels {
		req.Question += "\n" + label + ": the option " + label
		req.Options = append(req.Options, model.Option{Label: label, Texts: []string{"the option " + label}})
	}
	return req
}
