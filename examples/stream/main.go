// Stream holds a conversation of two turns: the second continues the first by
// its ID, and its text is printed as it comes.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/responses"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	service, err := svc.New(ctx, svc.Options{})
	if err != nil {
		return err
	}
	defer service.Close()
	caller, err := service.LocalCaller(ctx)
	if err != nil {
		return err
	}
	first, err := service.CreateResponse(ctx, caller, &responses.Request{
		Model: "svc-preview",
		Input: responses.Text("The warehouse in Rotterdam closes at six. The one in Antwerp closes at eight."),
	})
	if err != nil {
		return err
	}
	events, err := service.StreamResponse(ctx, caller, &responses.Request{
		Model:              "svc-preview",
		Input:              responses.Text("When does the warehouse in Antwerp close?"),
		PreviousResponseID: first.ID,
	})
	if err != nil {
		return err
	}
	for event, err := range events {
		if err != nil {
			return err
		}
		switch event.Type {
		case responses.EventTextDelta:
			fmt.Print(event.Text)
		case responses.EventFailed:
			return event.Response.Error
		}
	}
	fmt.Println()
	return nil
}
