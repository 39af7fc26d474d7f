package compat

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// claude is a client of Anthropic's for a server with a scripted model.
func claude(t *testing.T, open bool, answers ...modeltest.Answer) anthropic.Client {
	t.Helper()
	g := &gallery{}
	g.serve(t, svc.Options{Backend: script(answers...), Open: open})
	return anthropic.NewClient(option.WithBaseURL(g.url[:len(g.url)-len("/v1")]), option.WithAPIKey(g.key), option.WithMaxRetries(0))
}

// question asks for the weather, with a tool for it.
func question() anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: modelID, MaxTokens: 1000,
		System:   []anthropic.TextBlockParam{{Text: "Be brief."}},
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("How is the weather in Paris?"))},
		Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: weather.Name, Description: anthropic.String("The weather."),
			InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"city": map[string]any{"type": "string"}}}}}},
	}
}

// TestMessagesWithTools runs a loop of tools with Anthropic's client, whole and streamed.
func TestMessagesWithTools(t *testing.T) { eachInterface(t, testMessagesWithTools) }

func testMessagesWithTools(t *testing.T, open bool) {
	both := modeltest.Calls(weather, model.ToolCall{ID: "server-2", Name: weather.Name, Arguments: `{"city":"Rome"}`})
	client := claude(t, open, both, modeltest.Text("Sunny", "."), both, modeltest.Text("Sunny", "."))
	for _, streamed := range []bool{false, true} {
		ask := question()
		answer := message(t, client, ask, streamed)
		equal(t, "stop reason", answer.StopReason, anthropic.StopReasonToolUse)
		equal(t, "blocks", len(answer.Content), 2)
		ask.Messages = append(ask.Messages, answer.ToParam())
		var results []anthropic.ContentBlockParamUnion
		for i, city := range []string{"Paris", "Rome"} {
			use := answer.Content[i].AsToolUse()
			var input struct{ City string }
			check(t, json.Unmarshal(use.Input, &input))
			equal(t, "input", input.City, city)
			results = append(results, anthropic.NewToolResultBlock(use.ID, "sunny", i == 1))
		}
		ask.Messages = append(ask.Messages, anthropic.NewUserMessage(results...))
		answer = message(t, client, ask, streamed)
		equal(t, "text", answer.Content[0].Text, "Sunny.")
		equal(t, "stop reason", answer.StopReason, anthropic.StopReasonEndTurn)
		equal(t, "output tokens", answer.Usage.OutputTokens, int64(modeltest.DefaultUsage.OutputTokens))
	}
}

// message asks whole, or puts the events of a stream together as the client does.
func message(t *testing.T, client anthropic.Client, ask anthropic.MessageNewParams, streamed bool) *anthropic.Message {
	t.Helper()
	if !streamed {
		answer, err := client.Messages.New(t.Context(), ask)
		check(t, err)
		return answer
	}
	answer := &anthropic.Message{}
	stream := client.Messages.NewStreaming(t.Context(), ask)
	for stream.Next() {
		check(t, answer.Accumulate(stream.Current()))
	}
	check(t, stream.Err())
	return answer
}

// TestMessagesBeside counts tokens, lists models and meets errors.
func TestMessagesBeside(t *testing.T) { eachInterface(t, testMessagesBeside) }

func testMessagesBeside(t *testing.T, open bool) {
	client := claude(t, open, modeltest.Fail(errors.New("gone"), model.TextDelta{Text: "a"}))
	count, err := client.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: modelID, Messages: question().Messages})
	check(t, err)
	if count.InputTokens < 5 {
		t.Errorf("got %d tokens", count.InputTokens)
	}
	models := client.Models.ListAutoPaging(t.Context(), anthropic.ModelListParams{})
	found := false
	for models.Next() {
		found = found || models.Current().ID == modelID
	}
	check(t, models.Err())
	equal(t, "the model is in the list", found, true)

	ask := question()
	ask.Model = "none"
	_, err = client.Messages.New(t.Context(), ask)
	refused, ok := errors.AsType[*anthropic.Error](err)
	if !ok || refused.StatusCode != http.StatusNotFound || refused.RequestID == "" {
		t.Errorf("an unknown model: %v", err)
	}
	stream := client.Messages.NewStreaming(t.Context(), question())
	for stream.Next() {
	}
	if stream.Err() == nil {
		t.Error("a stream that breaks off ends well")
	}
}
