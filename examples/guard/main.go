// Command guard puts a policy around a model: what has a password in it reaches no
// model, and no answer that has one reaches anybody.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/model"
)

func main() {
	ctx := context.Background()
	service, err := svc.New(ctx, svc.Options{
		Accounting: svc.NoAccounting,
		Policies: map[string]guard.Policy{"secrets": {
			Stage: guard.Both,
			Questions: []decisions.Question{{
				Name: "secret", Type: decisions.Noul, Instructions: "Does the text have a password?",
				Criteria: json.RawMessage(`{"true":"password, secret, token","false":"weather, sports, cooking"}`),
			}},
			Block: map[string]guard.Block{"secret": {When: json.RawMessage("true"), Threshold: 0.7}},
		}},
		DefaultPolicies: []string{"secrets"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	caller, err := service.LocalCaller(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, prompt := range []string{"How is the weather for cooking outside?", "My password is the secret token hunter2."} {
		answer, err := service.CompleteChat(ctx, caller, &chat.Request{
			Model: model.DefaultGenerator, Messages: []chat.Message{{Role: model.User, Content: []chat.Part{chat.Text(prompt)}}},
		})
		refusal, blocked := errors.AsType[*guard.Refusal](err)
		switch {
		case blocked:
			fmt.Printf("%s\n  blocked by %s, question %s, at %.2f\n", prompt, refusal.Policy, refusal.Question, refusal.Probability)
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Printf("%s\n  %s\n", prompt, *answer.Content)
		}
	}
}
