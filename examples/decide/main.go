// Command decide uses Decisions as a library: no store, no credits, and a model of
// the program's own.
package main

import (
	"context"
	"fmt"
	"iter"
	"log"
	"strings"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// words is a model that finds an option likely whose words are in the state.
type words struct{}

func (words) Generate(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		yield(nil, fault.Upstreamf(nil, "This model only decides."))
	}
}

func (words) Score(_ context.Context, req *model.ScoreRequest) (*model.Scores, error) {
	state, sum := strings.ToLower(fmt.Sprint(req.State)), 0.0
	scores := &model.Scores{Probabilities: make([]float64, len(req.Options))}
	for i, o := range req.Options {
		for _, word := range strings.Fields(strings.ToLower(strings.Join(o.Texts, " "))) {
			if strings.Contains(state, strings.Trim(word, ".,:()")) {
				scores.Probabilities[i]++
			}
		}
		scores.Probabilities[i] += 0.1 // nothing is impossible
		sum += scores.Probabilities[i]
	}
	for i := range scores.Probabilities {
		scores.Probabilities[i] /= sum
	}
	return scores, nil
}

func main() {
	ctx := context.Background()
	service, err := svc.New(ctx, svc.Options{Backend: words{}, Accounting: svc.NoAccounting})
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	judgment, err := service.Decide(ctx, svc.Caller{Organization: "me"}, &decisions.Request{Model: model.DefaultDecider,
		State: decisions.State("I was charged twice. I want a refund."), Questions: []decisions.Question{decisions.NewChoice("team", "Who answers?",
			decisions.Option{Name: "billing", Description: "charged, refund, invoice"}, decisions.Option{Name: "technical", Description: "crash, error"})}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(judgment.Result("team").Choice)
}
