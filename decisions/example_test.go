package decisions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// Where a ticket goes. The model of the example is a table of weights.
func ExampleService_Decide() {
	if err := decide(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// billing 0.75
	// - support 0.25
	// - billing 0.75
}

func decide(ctx context.Context) error {
	store := memstore.New()
	defer store.Close()
	books, err := accounts.New(ctx, accounts.Options{Store: store})
	if err != nil {
		return err
	}
	defer books.Close()
	organization, err := books.CreateOrganization(ctx, accounts.NewOrganization{Name: "example", Credits: accounts.Dollar})
	if err != nil {
		return err
	}
	caller, err := books.CallerFor(ctx, organization.ID)
	if err != nil {
		return err
	}

	service := decisions.New(decisions.Options{
		Backend:  &modeltest.Script{Scores: modeltest.Distribution(map[string]float64{"support": 1, "billing": 3})},
		Accounts: books,
	})
	response, err := service.Decide(ctx, caller, &decisions.Request{
		Model: model.DefaultDecider,
		State: json.RawMessage(`"I was charged twice."`),
		Questions: []decisions.Question{{
			Name:         "team",
			Type:         decisions.Choice,
			Instructions: "Which team should answer?",
			Criteria:     json.RawMessage(`{"support": "anything that is broken", "billing": null}`),
		}},
	})
	if err != nil {
		return err
	}
	answer := response.Answers[0]
	fmt.Println(answer.Choice, answer.Confidence)
	for _, outcome := range answer.Outcomes {
		fmt.Println("-", outcome.Name, outcome.Probability)
	}
	return nil
}
