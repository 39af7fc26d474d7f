// Backend puts a model of one's own behind the service: one method is all that
// it takes to generate.
package main

import (
	"context"
	"fmt"
	"iter"
	"log"
	"strings"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/model"
)

// shout answers with the last message in capitals.
type shout struct{}

// Generate implements model.Backend.
func (shout) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		used := model.Usage{InputTokens: model.PromptTokens(req, model.EstimateTokens)}
		for _, part := range req.Messages[len(req.Messages)-1].Parts {
			text, ok := part.(model.Text)
			if !ok {
				continue
			}
			answer := strings.ToUpper(string(text))
			used.OutputTokens += model.EstimateTokens(answer)
			if !yield(model.TextDelta{Text: answer}, nil) {
				return
			}
		}
		_ = yield(used, nil) && yield(model.Finish{Reason: model.Stop}, nil)
	}
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	service, err := svc.New(ctx, svc.Options{Backend: shout{}})
	if err != nil {
		return err
	}
	defer service.Close()
	caller, err := service.LocalCaller(ctx)
	if err != nil {
		return err
	}
	completion, err := service.CompleteChat(ctx, caller, &chat.Request{
		Model:    model.DefaultGenerator,
		Messages: []chat.Message{{Role: model.User, Content: []chat.Part{chat.Text("hello there")}}},
	})
	if err != nil {
		return err
	}
	fmt.Println(*completion.Content)
	return nil
}
