package builtin_test

import (
	"context"
	"fmt"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/builtin"
)

func Example() {
	req := &model.Request{
		Model: model.DefaultGenerator,
		Messages: []model.Message{
			model.TextMessage(model.User, "My name is Ada."),
			model.TextMessage(model.User, "What is my name?"),
		},
	}
	for event, err := range builtin.New().Generate(context.Background(), req) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if delta, ok := event.(model.TextDelta); ok {
			fmt.Print(delta.Text)
		}
	}
	// Output: My name is Ada.
}
