package compat

import (
	"errors"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

func ask(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    modelID,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)},
		Metadata: shared.Metadata{"topic": "greeting"},
	}
}

var weatherTool = openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
	Name:       "get_weather",
	Parameters: shared.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}},
})

func TestChatIsKeptAndReadBack(t *testing.T) {
	client := connect(t, script(modeltest.Text("Hello ", "there.")))
	ctx := t.Context()
	made, err := client.Chat.Completions.New(ctx, ask("Hi"))
	check(t, err)
	equal(t, "content", made.Choices[0].Message.Content, "Hello there.")
	equal(t, "finish", made.Choices[0].FinishReason, "stop")
	equal(t, "tokens", made.Usage.TotalTokens, 18)

	got, err := client.Chat.Completions.Get(ctx, made.ID)
	check(t, err)
	equal(t, "stored", got.RawJSON(), made.RawJSON())

	updated, err := client.Chat.Completions.Update(ctx, made.ID, openai.ChatCompletionUpdateParams{Metadata: shared.Metadata{"topic": "farewell"}})
	check(t, err)
	equal(t, "updated", updated.ID, made.ID)

	listed := client.Chat.Completions.ListAutoPaging(ctx, openai.ChatCompletionListParams{Metadata: shared.Metadata{"topic": "farewell"}})
	equal(t, "listed", listed.Next(), true)
	equal(t, "listed ID", listed.Current().ID, made.ID)
	equal(t, "listed once", listed.Next(), false)
	check(t, listed.Err())

	messages, err := client.Chat.Completions.Messages.List(ctx, made.ID, openai.ChatCompletionMessageListParams{})
	check(t, err)
	equal(t, "messages", len(messages.Data), 1)
	equal(t, "message", messages.Data[0].Content, "Hi")

	deleted, err := client.Chat.Completions.Delete(ctx, made.ID)
	check(t, err)
	equal(t, "deleted", deleted.Deleted, true)
	_, err = client.Chat.Completions.Get(ctx, made.ID)
	wantStatus(t, err, 404)
}

func TestChatStreamAccumulates(t *testing.T) {
	client := connect(t, script(modeltest.Text("Hello ", "there.")))
	params := ask("Hi")
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		if !all.AddChunk(stream.Current()) {
			t.Fatalf("the accumulator refused %s", stream.Current().RawJSON())
		}
	}
	check(t, stream.Err())
	equal(t, "content", all.Choices[0].Message.Content, "Hello there.")
	equal(t, "finish", all.Choices[0].FinishReason, "stop")
	equal(t, "tokens", all.Usage.TotalTokens, 18)
}

func TestChatToolLoop(t *testing.T) {
	client := connect(t, script(modeltest.Calls(weather), modeltest.Text("Sunny.")))
	params := ask("Weather in Paris?")
	params.Tools = []openai.ChatCompletionToolUnionParam{weatherTool}
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var all openai.ChatCompletionAccumulator
	finished := ""
	for stream.Next() {
		all.AddChunk(stream.Current())
		if call, ok := all.JustFinishedToolCall(); ok {
			finished = call.Name + call.Arguments
		}
	}
	check(t, stream.Err())
	equal(t, "finish", all.Choices[0].FinishReason, "tool_calls")
	equal(t, "call", finished, `get_weather{"city":"Paris"}`)

	message := all.Choices[0].Message
	params.Messages = append(params.Messages, message.ToParam(), openai.ToolMessage("20 degrees", message.ToolCalls[0].ID))
	made, err := client.Chat.Completions.New(t.Context(), params)
	check(t, err)
	equal(t, "content", made.Choices[0].Message.Content, "Sunny.")
}

func TestChatStructuredOutput(t *testing.T) {
	client := connect(t, script(modeltest.Text(`{"city":"Paris"}`)))
	params := ask("Where?")
	params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
		JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
			Name: "place", Strict: param.NewOpt(true),
			Schema: map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"}},
		},
	}
	made, err := client.Chat.Completions.New(t.Context(), params)
	check(t, err)
	equal(t, "content", made.Choices[0].Message.Content, `{"city":"Paris"}`)
}

func TestChatStreamThatFailsIsAnError(t *testing.T) {
	client := connect(t, script(modeltest.Fail(errors.New("the model broke"), model.TextDelta{Text: "Hel"})))
	stream := client.Chat.Completions.NewStreaming(t.Context(), ask("Hi"))
	for stream.Next() {
	}
	if stream.Err() == nil {
		t.Error("the stream ended without an error")
	}
}

func TestErrorsHaveTheirCodes(t *testing.T) {
	client := connect(t, script())
	_, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: modelID})
	e := wantStatus(t, err, 400)
	equal(t, "code", e.Code, "validation_error")
	equal(t, "param", e.Param, "messages")
}

func TestModels(t *testing.T) {
	client := connect(t, script())
	models, err := client.Models.List(t.Context())
	check(t, err)
	equal(t, "models", len(models.Data), 2)
	got, err := client.Models.Get(t.Context(), modelID)
	check(t, err)
	equal(t, "ID", got.ID, modelID)
}

func wantStatus(t *testing.T, err error, status int) *openai.Error {
	t.Helper()
	var e *openai.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an API error with status %d", err, status)
	}
	equal(t, "status", e.StatusCode, status)
	return e
}
