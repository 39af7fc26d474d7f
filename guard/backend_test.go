package guard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/driver"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/builtin"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// scripted is a model whose judgment is yes where the state has the word secret.
func scripted(answers ...modeltest.Answer) *modeltest.Script {
	script := modeltest.New(answers...)
	script.Decisions = func(_ context.Context, req *model.DecideRequest) (*model.Decision, error) {
		d := &model.Decision{StateTokens: 1, QuestionTokens: 1}
		for range req.Questions {
			p := 0.01
			if strings.Contains(string(req.State), "secret") {
				p = 0.99
			}
			d.Probabilities = append(d.Probabilities, []float64{p, 1 - p})
		}
		return d, nil
	}
	return script
}

func policy(stage guard.Stage) guard.Policy {
	return guard.Policy{
		Stage:     stage,
		Questions: []decisions.Question{{Name: "leaks", Type: decisions.Noul, Instructions: "Does it have a secret?"}},
		Block:     map[string]guard.Block{"leaks": {When: json.RawMessage("true"), Threshold: 0.7}},
	}
}

// generate returns the text of an answer and how it ended.
func generate(ctx context.Context, b model.Backend, prompt string) (text string, reason model.FinishReason, err error) {
	for event, err := range b.Generate(ctx, &model.Request{Model: model.DefaultGenerator, Messages: []model.Message{model.TextMessage(model.User, prompt)}}) {
		switch e := event.(type) {
		case model.TextDelta:
			text += e.Text
		case model.Finish:
			reason = e.Reason
		}
		if err != nil {
			return text, reason, err
		}
	}
	return text, reason, nil
}

// TestPoliciesAroundABackend judge without a service, a store or accounts.
func TestPoliciesAroundABackend(t *testing.T) {
	is := is.New(t)
	script := scripted(modeltest.Text("Hello."), modeltest.Text("The ", "secret."))
	b, err := guard.New(script, map[string]guard.Policy{"p": policy(guard.Both)})
	is.NoErr(err)
	_, _, err = generate(t.Context(), b, "the secret")
	is.Equal(fault.From(err).Code, fault.CodePolicyBlocked)
	is.Equal(len(script.Requests()), 0)
	text, reason, err := generate(t.Context(), b, "Hi")
	is.NoErr(err)
	is.Equal(text, "Hello.")
	is.Equal(reason, model.Stop)
	text, reason, err = generate(t.Context(), b, "Hi")
	is.NoErr(err)
	is.Equal(text, "")
	is.Equal(reason, model.ContentFilter)
	_, decides := driver.As[model.Decider](b) // the rest of the backend is there
	is.True(decides)
	other := policy(guard.Input)
	other.Model = "nobody"
	_, err = guard.New(script, map[string]guard.Policy{"p": other})
	is.Equal(err.Error(), `guard: policies.p.model is "nobody", which is not a decision model.`)
}

// TestABackendWithPoliciesKeepsTheContract of package model where nothing is blocked.
func TestABackendWithPoliciesKeepsTheContract(t *testing.T) {
	never := policy(guard.Both)
	never.Block["leaks"] = guard.Block{When: json.RawMessage("true"), Threshold: 1}
	modeltest.Run(t, func(t *testing.T) model.Backend {
		b, err := guard.New(builtin.New(), map[string]guard.Policy{"p": never})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}, modeltest.Options{})
}

// ExampleNew puts a policy around a model.
func ExampleNew() {
	b, err := guard.New(scripted(modeltest.Text("Hello.")), map[string]guard.Policy{
		"no_secrets": {
			Stage:     guard.Input,
			Questions: []decisions.Question{{Name: "secret", Type: decisions.Noul, Instructions: "Does the message have a password or a key?"}},
			Block:     map[string]guard.Block{"secret": {When: json.RawMessage("true"), Threshold: 0.7}},
		},
	})
	if err != nil {
		panic(err)
	}
	for _, prompt := range []string{"Hi.", "My secret is 12345."} {
		text, _, err := generate(context.Background(), b, prompt)
		fmt.Println(text, err)
	}
	// Output:
	// Hello. <nil>
	//  The request was blocked by the policy "no_secrets", question "secret".: guard: policy no_secrets, stage input, question "secret"
}
