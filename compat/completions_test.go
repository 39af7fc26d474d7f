package compat

import (
	"testing"

	"github.com/openai/openai-go/v3"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

func TestCompletions(t *testing.T) {
	client := connectWith(t, svc.Options{Backend: &modeltest.Script{Respond: func(*model.Request) modeltest.Answer { return modeltest.Text(" a", " time") }}})
	params := openai.CompletionNewParams{
		Model:     modelID,
		Prompt:    openai.CompletionNewParamsPromptUnion{OfString: openai.String("Once upon")},
		MaxTokens: openai.Int(5), User: openai.String("me"),
	}
	whole, err := client.Completions.New(t.Context(), params)
	check(t, err)
	equal(t, "object", string(whole.Object), "text_completion")
	equal(t, "text", whole.Choices[0].Text, " a time")
	equal(t, "finish reason", string(whole.Choices[0].FinishReason), "stop")
	equal(t, "tokens", whole.Usage.TotalTokens > 0, true)

	stream := client.Completions.NewStreaming(t.Context(), params)
	text := ""
	for stream.Next() {
		text += stream.Current().Choices[0].Text
	}
	check(t, stream.Err())
	equal(t, "streamed text", text, " a time")

	params.Echo = openai.Bool(true)
	_, err = client.Completions.New(t.Context(), params)
	wantStatus(t, err, 400)
}
