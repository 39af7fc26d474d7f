package svc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/responses/websearch"
	"github.com/seed-506d8e5d/svc/storage/badgerstore"
)

// With a store on disk everything survives the program, which closes it behind the
// service.
func ExampleOptions_store() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "svc-example"))
	defer os.RemoveAll(dir)
	var conversation string
	for range 2 { // runs of the program
		store := must(badgerstore.Open(badgerstore.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)}))
		service, caller := open(ctx, svc.Options{Store: store})
		if conversation == "" {
			conversation = must(service.CreateConversation(ctx, caller, map[string]string{"topic": "meetings"}, nil)).ID
		}
		fmt.Println(must(service.Conversation(ctx, caller, conversation)).Metadata["topic"])
		if err := errors.Join(service.Close(), store.Close()); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// meetings
	// meetings
}

// handbook is a search of one's own.
type handbook struct{}

// Search implements [websearch.Client].
func (handbook) Search(_ context.Context, query string) ([]websearch.Result, error) {
	return []websearch.Result{{Title: "Handbook", URL: "https://handbook.example", Snippet: "Vacation is requested two weeks ahead."}}, nil
}

// The web search tool looks wherever the program lets it.
func ExampleOptions_search() {
	ctx := context.Background()
	service, caller := open(ctx, svc.Options{Search: handbook{}})
	defer service.Close()
	response := must(service.CreateResponse(ctx, caller, &responses.Request{
		Model: model.DefaultGenerator, Input: responses.Text("When is vacation requested?"), Tools: []model.Tool{responses.SearchTool()},
	}))
	fmt.Println(response.OutputText())
	// Output: Vacation is requested two weeks ahead.
}

// A program that brings its own history adds both sides of it.
func ExampleOptions_anyItems() {
	ctx := context.Background()
	service, caller := open(ctx, svc.Options{AnyItems: true})
	defer service.Close()
	said := func(role model.Role, kind conversations.PartType, text string) conversations.Item {
		return &conversations.Message{Role: role, Content: []conversations.Part{{Type: kind, Text: text}}}
	}
	conversation := must(service.CreateConversation(ctx, caller, nil, []conversations.Item{
		said(model.User, conversations.InputText, "Which platform for Ghent?"),
		said(model.Assistant, conversations.OutputText, "The train to Ghent leaves from platform 4."),
	}))
	response := must(service.CreateResponse(ctx, caller, &responses.Request{
		Model: model.DefaultGenerator, Conversation: conversation.ID, Input: responses.Text("From which platform does it leave?"),
	}))
	fmt.Println(response.OutputText())
	// Output: The train to Ghent leaves from platform 4.
}

// A model answers to further names, such as those that clients have built in.
func ExampleOptions_aliases() {
	ctx := context.Background()
	service, caller := open(ctx, svc.Options{Aliases: map[string]string{"gpt-4o-mini": model.DefaultGenerator}})
	defer service.Close()
	response := must(service.CreateResponse(ctx, caller, &responses.Request{Model: "gpt-4o-mini", Input: responses.Text("Snow is white. What is white?")}))
	fmt.Println(response.Echo.Model, response.OutputText())
	// Output: svc-preview Snow is white.
}

// scanner is a reader of documents of one's own, such as one that knows scans.
type scanner struct{}

// Extract implements [files.Extractor].
func (scanner) Extract(_ context.Context, doc io.Reader, size int64, format files.Format) (files.Extracted, error) {
	_, err := io.Copy(io.Discard, doc)
	return files.Extracted{Text: fmt.Sprintf("This scan of %d bytes is an invoice.", size), Pages: 1}, err
}

// Documents are read by what the program has for it; text files are text already.
func ExampleOptions_extractor() {
	ctx := context.Background()
	service, caller := open(ctx, svc.Options{Extractor: scanner{}})
	defer service.Close()
	file := must(service.UploadFile(ctx, caller, files.Upload{
		Filename: "scan.pdf", MIMEType: "application/pdf", Content: strings.NewReader("%PDF-1.7 …"), Purpose: files.Purpose,
	}))
	for file.Status == files.Uploaded { // it is read in the background
		time.Sleep(time.Millisecond)
		file = must(service.File(ctx, caller, file.ID))
	}
	fmt.Println(file.Status, must(service.FileText(ctx, caller, file.ID)))
	// Output: processed This scan of 12 bytes is an invoice.
}

// What a model may search in one turn, and how long, is tuned.
func ExampleOptions_tuning() {
	ctx := context.Background()
	service, caller := open(ctx, svc.Options{Search: handbook{}, Tuning: svc.Tuning{MaxSearchRounds: 1, SearchTimeout: 3 * time.Second}})
	defer service.Close()
	response := must(service.CreateResponse(ctx, caller, &responses.Request{
		Model: model.DefaultGenerator, Input: responses.Text("When is vacation requested?"), Tools: []model.Tool{responses.SearchTool()},
	}))
	fmt.Println(len(response.Output), "items")
	// Output: 2 items
}

// Prices are by model, and in millionths of a dollar for a million tokens.
func ExampleOptions_prices() {
	ctx := context.Background()
	service, caller := open(ctx, svc.Options{Prices: map[string]svc.Prices{model.DefaultGenerator: {Input: 1_000_000, Output: 5_000_000}}})
	defer service.Close()
	response := must(service.CreateResponse(ctx, caller, &responses.Request{Model: model.DefaultGenerator, Input: responses.Text("Snow is white. What is white?")}))
	ledger := must(service.Ledger(ctx, caller.Organization, svc.Page{Desc: true, Limit: 1}))
	fmt.Println(int(ledger.Items[0].Cost()) == response.Usage.InputTokens+5*response.Usage.OutputTokens)
	// Output: true
}

// ponderer is a model that never comes to an end.
type ponderer struct{}

// Generate implements [model.Backend].
func (ponderer) Generate(ctx context.Context, _ *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		<-ctx.Done()
		yield(nil, ctx.Err())
	}
}

// One turn may have models work for so long, however often it calls them.
func ExampleOptions_maxDuration() {
	ctx := context.Background()
	service, caller := open(ctx, svc.Options{Backend: ponderer{}, MaxDuration: time.Millisecond})
	defer service.Close()
	_, err := service.CreateResponse(ctx, caller, &responses.Request{Model: model.DefaultGenerator, Input: responses.Text("Hello")})
	fmt.Println(fault.From(err).Code)
	// Output: generation_timeout
}
