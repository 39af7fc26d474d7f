// Embed asks the service for a judgment from inside a Go program: no server, no
// network, everything in memory.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/decisions"
)

func main() {
	ctx := context.Background()
	service, err := svc.New(ctx, svc.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	caller, err := service.LocalCaller(ctx)
	if err != nil {
		log.Fatal(err)
	}
	judgment, err := service.Decide(ctx, caller, &decisions.Request{
		Model: "svc-snap-preview",
		State: []byte(`"I was charged twice for my subscription this month."`),
		Questions: []decisions.Question{{
			Name: "team", Type: decisions.Choice, Instructions: "Which team should handle this?",
			Criteria: []byte(`{"billing": "Charges, invoices and refunds", "technical": "Errors and outages"}`),
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(judgment.Answers[0].Choice)
}
