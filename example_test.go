package svc_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// A program that uses the service for itself judges a text.
func Example() {
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
	// Output: billing
}

// What refuses a request is an error before the first chunk.
func ExampleService_StreamChat() {
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
	request := &chat.Request{Model: "svc-preview", Messages: []chat.Message{
		{Role: model.System, Content: []chat.Part{chat.Text("Returns are accepted within 30 days. Shipping takes 3 to 5 days.")}},
		{Role: model.User, Content: []chat.Part{chat.Text("How many days do I have to return an item?")}},
	}}
	chunks, err := service.StreamChat(ctx, caller, request)
	if err != nil {
		log.Fatal(err)
	}
	for chunk, err := range chunks {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(chunk.Text)
	}
	fmt.Println()

	request.Model = "another"
	_, err = service.StreamChat(ctx, caller, request)
	fmt.Println(fault.From(err).Code)
	// Output:
	// Returns are accepted within 30 days.
	// model_not_found
}
