package compat

import (
	"errors"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

func turn(text string) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: modelID,
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)},
	}
}

var weatherFunction = responses.ToolParamOfFunction("get_weather", map[string]any{
	"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}},
	"required": []string{"city"}, "additionalProperties": false,
}, true)

// accumulate reads a stream to its end with the client's own accumulator.
func accumulate(t *testing.T, stream *ssestream.Stream[responses.ResponseStreamEventUnion]) *responses.Response {
	t.Helper()
	var all responses.ResponseAccumulator
	for stream.Next() {
		var event responses.ResponsesServerEventUnion
		check(t, event.UnmarshalJSON([]byte(stream.Current().RawJSON())))
		if err := all.AddEvent(event); err != nil {
			t.Fatalf("%v: %s", err, stream.Current().RawJSON())
		}
	}
	check(t, stream.Err())
	made, err := all.ReconstructedResponse()
	check(t, err)
	snapshot := all.Snapshot()
	equal(t, "text from deltas", snapshot.OutputText(), made.OutputText())
	return made
}

func TestResponseChainIsKeptAndReadBack(t *testing.T) {
	client := connect(t, script(modeltest.Text("Noted."), modeltest.Text("Ada.")))
	ctx := t.Context()
	first, err := client.Responses.New(ctx, turn("My name is Ada."))
	check(t, err)
	params := turn("What is my name?")
	params.PreviousResponseID = openai.String(first.ID)
	params.Metadata = shared.Metadata{"k": "v"}
	second, err := client.Responses.New(ctx, params)
	check(t, err)
	equal(t, "text", second.OutputText(), "Ada.")
	equal(t, "previous", second.PreviousResponseID, first.ID)
	equal(t, "conversation", second.Conversation.ID, first.Conversation.ID)

	got, err := client.Responses.Get(ctx, second.ID, responses.ResponseGetParams{})
	check(t, err)
	equal(t, "stored", got.RawJSON(), second.RawJSON())

	items, err := client.Responses.InputItems.List(ctx, second.ID, responses.InputItemListParams{})
	check(t, err)
	equal(t, "input items", len(items.Data), 1)
	equal(t, "input", items.Data[0].AsMessage().Content[0].Text, "What is my name?")

	replayed := accumulate(t, client.Responses.GetStreaming(ctx, second.ID, responses.ResponseGetParams{}))
	equal(t, "replayed", replayed.OutputText(), "Ada.")

	_, err = client.Responses.Cancel(ctx, second.ID)
	wantStatus(t, err, 400)

	check(t, client.Responses.Delete(ctx, second.ID))
	_, err = client.Responses.Get(ctx, second.ID, responses.ResponseGetParams{})
	wantStatus(t, err, 404)
}

func TestResponseStreams(t *testing.T) {
	search := svc.Options{Search: pages{}, Backend: script(
		modeltest.Calls(model.ToolCall{ID: "s", Name: "web_search", Arguments: `{"queries":["tower height"]}`}),
		modeltest.Text("330 metres."))}
	for _, c := range []struct {
		name    string
		options svc.Options
		tools   []responses.ToolUnionParam
		types   []string
	}{
		{"text", svc.Options{Backend: script(modeltest.Text("Hello ", "there."))}, nil, []string{"message"}},
		{"preamble and parallel calls", svc.Options{Backend: script(modeltest.Events(
			model.TextDelta{Text: "Let me look."},
			model.ToolCallStart{ID: "a", Name: "get_weather"}, model.ToolCallDelta{Arguments: `{"city":"Paris"}`},
			model.ToolCallStart{ID: "b", Name: "get_weather"}, model.ToolCallDelta{Arguments: `{"city":"Rome"}`},
			modeltest.DefaultUsage, model.Finish{Reason: model.ToolCalls}))},
			[]responses.ToolUnionParam{weatherFunction}, []string{"message", "function_call", "function_call"}},
		{"web search", search, []responses.ToolUnionParam{responses.ToolParamOfWebSearch("web_search")}, []string{"web_search_call", "message"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := connectWith(t, c.options)
			params := turn("Go on")
			params.Tools = c.tools
			made := accumulate(t, client.Responses.NewStreaming(t.Context(), params))
			equal(t, "status", made.Status, "completed")
			equal(t, "items", len(made.Output), len(c.types))
			for i, item := range made.Output {
				equal(t, "item type", item.Type, c.types[i])
			}
			got, err := client.Responses.Get(t.Context(), made.ID, responses.ResponseGetParams{})
			check(t, err)
			equal(t, "stored", got.RawJSON(), made.RawJSON())
		})
	}
}

func TestResponseToolLoop(t *testing.T) {
	for _, chained := range []bool{true, false} {
		client := connect(t, script(modeltest.Calls(weather), modeltest.Text("Sunny.")))
		params := turn("Weather in Paris?")
		params.Tools = []responses.ToolUnionParam{weatherFunction}
		first, err := client.Responses.New(t.Context(), params)
		check(t, err)
		call := first.Output[0].AsFunctionCall()
		equal(t, "arguments", call.Arguments, `{"city":"Paris"}`)

		output := responses.ResponseInputItemParamOfFunctionCallOutput("20 degrees")
		output.OfFunctionCallOutput.CallID = openai.String(call.CallID)
		items := responses.ResponseInputParam{output}
		next := responses.ResponseNewParams{Model: modelID}
		if chained {
			next.PreviousResponseID = openai.String(first.ID)
		} else { // the whole history is sent again, as for a service without state
			sent := responses.ResponseInputItemParamOfFunctionCall(call.Arguments, call.CallID, call.Name)
			items = responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage("Weather in Paris?", "user"), sent, output}
		}
		next.Input.OfInputItemList = items
		second, err := client.Responses.New(t.Context(), next)
		check(t, err)
		equal(t, "text", second.OutputText(), "Sunny.")
	}
}

func TestResponseStructuredOutput(t *testing.T) {
	client := connect(t, script(modeltest.Text(`{"city":"Paris"}`)))
	params := turn("Where?")
	params.Text.Format = responses.ResponseFormatTextConfigParamOfJSONSchema("place", map[string]any{
		"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"}})
	made, err := client.Responses.New(t.Context(), params)
	check(t, err)
	equal(t, "text", made.OutputText(), `{"city":"Paris"}`)
}

func TestResponseStreamThatFailsIsAnError(t *testing.T) {
	client := connect(t, script(modeltest.Fail(errors.New("the model broke"), model.TextDelta{Text: "Hel"})))
	stream := client.Responses.NewStreaming(t.Context(), turn("Hi"))
	for stream.Next() {
	}
	if stream.Err() == nil {
		t.Error("the stream ended without an error")
	}
}

func TestInputTokens(t *testing.T) {
	client := connect(t, script())
	counted, err := client.Responses.InputTokens.Count(t.Context(), responses.InputTokenCountParams{
		Model: openai.String(modelID), Input: responses.InputTokenCountParamsInputUnion{OfString: openai.String("four bytes a token")},
	})
	check(t, err)
	if counted.InputTokens < 4 {
		t.Errorf("counted %d tokens", counted.InputTokens)
	}
}
