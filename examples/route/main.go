// Command route asks a cheap model first and a strong one only where the answer of the
// cheap one is judged not to be right.
package main

import (
	"context"
	"fmt"
	"iter"
	"log"
	"strings"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/route"
)

// stub is two models and a judge: the cheap one knows capitals, and the judge sees that an
// answer is a shrug.
type stub struct{}

func (stub) Models() []model.Info {
	return []model.Info{{ID: "cheap", Generates: true}, {ID: "strong", Generates: true}, {ID: model.DefaultDecider, Decides: true}}
}

func (s stub) Model(id string) (model.Info, bool) {
	for _, info := range s.Models() {
		if info.ID == id {
			return info, true
		}
	}
	return model.Info{}, false
}

func (stub) Generate(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	text := "No idea."
	if asked := fmt.Sprint(req.Messages[0].Parts[0]); strings.Contains(asked, "capital") {
		text = "Paris."
	} else if req.Model == "strong" {
		text = "1729 is 10³ + 9³ and 12³ + 1³."
	}
	return func(yield func(model.Event, error) bool) {
		_ = yield(model.TextDelta{Text: text}, nil) && yield(model.Usage{InputTokens: 10, OutputTokens: 5}, nil) && yield(model.Finish{Reason: model.Stop}, nil)
	}
}

func (stub) Score(_ context.Context, req *model.ScoreRequest) (*model.Scores, error) {
	yes := 0.95
	if strings.Contains(fmt.Sprint(req.State), "No idea") {
		yes = 0.05
	}
	return &model.Scores{Probabilities: []float64{yes, 1 - yes}, StateTokens: 10, QuestionTokens: 5}, nil
}

func main() {
	ctx := context.Background()
	service, err := svc.New(ctx, svc.Options{
		Backend: stub{},
		Routes: map[string]route.Route{"careful": {
			Cascade: []string{"cheap", "strong"}, Accept: &decisions.Question{Type: decisions.Noul, Instructions: "Does it answer the question?"}, Threshold: 0.8,
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	caller, err := service.LocalCaller(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, prompt := range []string{"What is the capital of France?", "What is special about 1729?"} {
		answer, err := service.CompleteChat(ctx, caller, &chat.Request{
			Model: "careful", Messages: []chat.Message{{Role: model.User, Content: []chat.Part{chat.Text(prompt)}}},
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n  %s: %s\n", prompt, answer.Answering, *answer.Content)
	}
	used, err := service.Usage(ctx, accounts.DefaultOrganization, page.Params{Limit: 10})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range used.Items {
		fmt.Printf("%-16s %d+%d tokens\n", e.Use.Model, e.Use.InputTokens, e.Use.OutputTokens)
	}
}
