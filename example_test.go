package svc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/telemetry"
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

// open returns a service and a caller for the examples below.
func open(ctx context.Context, o svc.Options) (*svc.Service, svc.Caller) {
	service := must(svc.New(ctx, o))
	return service, must(service.LocalCaller(ctx))
}

func must[T any](result T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return result
}

func ExampleService_Decide() {
	ctx := context.Background()
	service, caller := open(ctx, svc.Options{})
	defer service.Close()
	judgment, err := service.Decide(ctx, caller, &decisions.Request{
		Model: model.DefaultDecider,
		State: json.RawMessage(`"I was charged twice for my subscription this month."`),
		Questions: []decisions.Question{
			{Name: "twice", Type: decisions.Noul, Instructions: "Was the customer charged twice?"},
			{
				Name: "urgency", Type: decisions.Score, Instructions: "How soon must this be answered?",
				Criteria: json.RawMessage(`["whenever there is time", "this month", "today"]`),
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	twice, urgency := judgment.Answers[0], judgment.Answers[1]
	fmt.Printf("charged twice: %.2f\n", twice.Noul)
	fmt.Printf("urgency, 0 to 2: %.2f\n", urgency.Score)
	// Output:
	// charged twice: 0.98
	// urgency, 0 to 2: 1.00
}

func ExampleService_CompleteChat() {
	ctx := context.Background()
	service, caller := open(ctx, svc.Options{})
	defer service.Close()
	completion, err := service.CompleteChat(ctx, caller, &chat.Request{
		Model: model.DefaultGenerator,
		Messages: []chat.Message{
			{Role: model.System, Content: []chat.Part{chat.Text("Returns are accepted within 30 days. Shipping takes 3 to 5 days.")}},
			{Role: model.User, Content: []chat.Part{chat.Text("How many days do I have to return an item?")}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(*completion.Content, completion.FinishReason)
	// Output: Returns are accepted within 30 days. stop
}

// A turn that had begun and failed is an error with the response: what was said until then,
// which is stored and charged.
func ExampleService_CreateResponse_failed() {
	ctx := context.Background()
	service, caller := open(ctx, svc.Options{
		Backend: modeltest.New(modeltest.Fail(errors.New("the model server is gone"), model.TextDelta{Text: "Once upon a time"})),
		Logger:  slog.New(slog.DiscardHandler),
	})
	defer service.Close()
	_, err := service.CreateResponse(ctx, caller, &responses.Request{Model: model.DefaultGenerator, Input: responses.Text("Tell me a story.")})
	if failed, ok := errors.AsType[*responses.TurnError](err); ok {
		fmt.Println(failed.Response.Status, failed.Response.OutputText())
	}
	// Output: failed Once upon a time
}

// What refuses a request is an error before the first chunk.
func ExampleService_StreamChat() {
	ctx := context.Background()
	service, caller := open(ctx, svc.Options{})
	defer service.Close()
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

// A turn continues another one by the ID of its response.
func ExampleService_StreamResponse() {
	ctx := context.Background()
	service, caller := open(ctx, svc.Options{})
	defer service.Close()
	first, err := service.CreateResponse(ctx, caller, &responses.Request{
		Model: model.DefaultGenerator,
		Input: responses.Text("The warehouse in Ghent closes at six. The one in Antwerp closes at eight."),
	})
	if err != nil {
		log.Fatal(err)
	}
	events, err := service.StreamResponse(ctx, caller, &responses.Request{
		Model:              model.DefaultGenerator,
		Input:              responses.Text("When does the warehouse in Ghent close?"),
		PreviousResponseID: first.ID,
	})
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range events {
		if err != nil {
			log.Fatal(err)
		}
		switch event.Type {
		case responses.EventTextDelta:
			fmt.Print(event.Text)
		case responses.EventCompleted, responses.EventFailed:
			fmt.Println(" -", event.Response.Status)
		}
	}
	// Output: The warehouse in Ghent closes at six. - completed
}

// A file is uploaded once and named in any number of prompts.
func ExampleService_UploadFile() {
	ctx := context.Background()
	service, caller := open(ctx, svc.Options{})
	defer service.Close()
	file, err := service.UploadFile(ctx, caller, files.Upload{
		Filename: "returns.txt",
		MIMEType: "text/plain",
		Content:  strings.NewReader("Returns are accepted within 30 days. Refunds take two weeks."),
		Purpose:  files.Purpose,
	})
	if err != nil {
		log.Fatal(err)
	}
	response, err := service.CreateResponse(ctx, caller, &responses.Request{
		Model: model.DefaultGenerator,
		Input: []conversations.Item{&conversations.Message{Role: model.User, Content: []conversations.Part{
			{Type: conversations.InputFile, FileID: file.ID},
			{Type: conversations.InputText, Text: "How long does a refund take?"},
		}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.OutputText())
	// Output: Refunds take two weeks.
}

// counter is a model of one's own: it answers with the number of messages.
type counter struct{}

// Generate implements [model.Backend].
func (counter) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		answer := fmt.Sprintf("I was sent %d messages.", len(req.Messages))
		used := model.Usage{
			InputTokens:  model.PromptTokens(req, model.EstimateTokens),
			OutputTokens: model.EstimateTokens(answer),
		}
		_ = yield(model.TextDelta{Text: answer}, nil) && yield(used, nil) && yield(model.Finish{Reason: model.Stop}, nil)
	}
}

func ExampleOptions_backend() {
	ctx := context.Background()
	service, caller := open(ctx, svc.Options{Backend: counter{}})
	defer service.Close()
	response, err := service.CreateResponse(ctx, caller, &responses.Request{
		Model:        model.DefaultGenerator,
		Instructions: "Be brief.",
		Input:        responses.Text("Is there anybody out there?"),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.OutputText(), response.Usage.OutputTokens)
	// Output: I was sent 2 messages. 6
}

// A program redacts what models see, and keeps an audit of what they answer.
func ExampleOptions_hooks() {
	ctx := context.Background()
	service, caller := open(ctx, svc.Options{Hooks: model.Hooks{
		Before: func(_ context.Context, call *model.Call) error {
			if call.Request == nil {
				return nil // a decision
			}
			for _, m := range call.Request.Messages {
				for i, part := range m.Parts {
					if text, ok := part.(model.Text); ok {
						m.Parts[i] = model.Text(strings.ReplaceAll(string(text), "4711", "****"))
					}
				}
			}
			return nil
		},
		After: func(_ context.Context, call *model.Call, answer *model.Answer) error {
			fmt.Println(call.Tenant(), "was answered:", answer.Text)
			return nil
		},
	}})
	defer service.Close()
	must(service.CreateResponse(ctx, caller, &responses.Request{
		Model: model.DefaultGenerator, Input: responses.Text("The code is 4711. What is the code?"),
	}))
	// Output: org_default was answered: The code is ****.
}

// plan is the accounting of a program whose customers pay it by the month.
type plan struct{ svc.Accounting }

func (plan) Settle(_ context.Context, caller svc.Caller, use accounts.Use) error {
	fmt.Println(caller.Organization, use.Endpoint, use.OutputTokens > 0)
	return nil
}

// A program with books of its own implements three methods; this one takes two of
// them from svc.NoAccounting.
func ExampleOptions_accounting() {
	ctx := context.Background()
	service, caller := open(ctx, svc.Options{Accounting: plan{svc.NoAccounting}})
	defer service.Close()
	must(service.CreateResponse(ctx, caller, &responses.Request{Model: model.DefaultGenerator, Input: responses.Text("Snow is white. What is white?")}))
	// Output: org_default responses true
}

// A program shows what the service does in the registry that it has.
func ExampleOptions_observer() {
	registry := prometheus.NewRegistry()
	ctx := context.Background()
	service, caller := open(ctx, svc.Options{Observer: telemetry.New(telemetry.Options{Registerer: registry})})
	defer service.Close()
	must(service.CreateResponse(ctx, caller, &responses.Request{Model: model.DefaultGenerator, Input: responses.Text("Snow is white. What is white?")}))
	for _, family := range must(registry.Gather()) {
		if family.GetName() == "gen_ai_server_request_duration_seconds" {
			fmt.Println("calls of models:", family.GetMetric()[0].GetHistogram().GetSampleCount())
		}
	}
	// Output: calls of models: 1
}

// A program gives turns a minute to end.
func ExampleService_Shutdown() {
	service, _ := open(context.Background(), svc.Options{Tuning: svc.Tuning{SearchTimeout: 3 * time.Second}})
	defer service.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(service.Shutdown(ctx), fault.From(service.Ready(ctx)).Message)
	// Output: <nil> The service is shutting down.
}

// Questions and states are Go values, and answers are found by name.
func ExampleService_Decide_values() {
	ctx := context.Background()
	service, caller := open(ctx, svc.Options{})
	defer service.Close()
	judgment := must(service.Decide(ctx, caller, &decisions.Request{
		Model: model.DefaultDecider,
		State: decisions.State(map[string]string{"subject": "Charged twice", "text": "I want a refund of the second charge."}),
		Questions: []decisions.Question{decisions.NewChoice("team", "Which team should handle this?",
			decisions.Option{Name: "billing", Description: "Charges, invoices and refunds"},
			decisions.Option{Name: "technical", Description: "Errors and outages"})},
	}))
	fmt.Println(judgment.Result("team").Choice, judgment.Result("team").Probability("billing") > 0.5)
	// Output: billing true
}
