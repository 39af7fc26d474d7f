package httpapi

import (
	"maps"

	"github.com/seed-506d8e5d/svc/internal/jsonin"
)

// Use is what becomes of a field of a request.
type Use string

// The uses.
const (
	Honoured Use = "honoured" // it means what it means in OpenAI's API
	Harmless Use = "harmless" // it is taken, and the answer is the same without it
	Refused  Use = "refused"  // it would make another answer, which is not to be had here: a 400
)

// Field says what becomes of a field, and why where it is not honoured. For a
// refused one that is what its 400 says behind the field's name.
type Field struct {
	Use Use
	Why string
}

// ResponseFields returns the table of the fields of POST /v1/responses, as others
// do for the routes that they are named for: every one that OpenAI's API has,
// and ours beside them. A field that is in no table is ignored, as that of a
// newer client must be.
func ResponseFields() map[string]Field { return maps.Clone(responseFields) }

// EmbeddingFields is described at [ResponseFields].
func EmbeddingFields() map[string]Field { return maps.Clone(embeddingFields) }

// CompletionFields is described at [ResponseFields].
func CompletionFields() map[string]Field { return maps.Clone(completionFields) }

// ChatFields is described at [ResponseFields].
func ChatFields() map[string]Field { return maps.Clone(chatFields) }

func honoured(names ...string) map[string]Field {
	fields := make(map[string]Field, len(names))
	for _, name := range names {
		fields[name] = Field{Use: Honoured}
	}
	return fields
}

// sampled are the fields that all generating interfaces hand through.
var sampled = honoured("seed", "presence_penalty", "frequency_penalty", "logit_bias", "top_k", "min_p", "repetition_penalty",
	"chat_template_kwargs", "temperature", "top_p")

// common are the fields that both conversational interfaces have.
var common = table(sampled, honoured("model", "metadata", "parallel_tool_calls", "store", "stream", "tool_choice", "tools", "top_logprobs",
	"prompt_cache_key"), map[string]Field{
	"safety_identifier":      {Harmless, "it names the user for OpenAI's checks of misuse; echoed where there is a place"},
	"user":                   {Harmless, "the older name of safety_identifier"},
	"service_tier":           {Harmless, "there is one tier"},
	"prompt_cache_retention": {Harmless, "the model server's cache keeps what it keeps; it changes cost, never the answer"},
	"prompt_cache_options":   {Harmless, "as prompt_cache_retention"},
	"moderation":             {Harmless, "there are no moderation scores to ask for"},
	"access_programs":        {Harmless, "nothing is for members of programs only"},
	"stream_options":         {Use: Honoured},
})

var responseFields = table(common, honoured("input", "instructions", "previous_response_id", "conversation", "max_output_tokens",
	"max_tool_calls", "reasoning", "text", "include", "background", "context_management", "truncation"), map[string]Field{
	"client_metadata": {Harmless, "what agents say of themselves"},
	"prompt":          {Refused, "is not supported: there are no stored prompts here; send instructions and input"},
	"modalities":      {Refused, "is not supported: answers are text"},
})

var chatFields = table(common, honoured("messages", "logprobs", "max_completion_tokens", "max_tokens", "n", "reasoning_effort", "stop",
	"response_format", "modalities"), map[string]Field{
	"verbosity":          {Harmless, "a wish that no model server takes; an instruction says it better"},
	"prediction":         {Harmless, "it can only make an answer faster"},
	"audio":              {Refused, "is not supported: answers are text"},
	"functions":          {Refused, "is not supported: send tools"},
	"function_call":      {Refused, "is not supported: send tool_choice"},
	"web_search_options": {Refused, "is not supported: web search is a tool of POST /v1/responses"},
})

var completionFields = table(sampled, honoured("model", "prompt", "max_tokens", "stop", "stream", "stream_options", "prompt_cache_key",
	"n", "best_of", "echo"), map[string]Field{
	"user":                 {Harmless, "it names the user for OpenAI's checks of misuse"},
	"suffix":               {Refused, "is not supported: few models fill gaps, and each in its own form; put it into the prompt as the model wants it"},
	"logprobs":             {Refused, "is not supported: POST /v1/chat/completions has log-probabilities"},
	"chat_template_kwargs": {Refused, "is not supported: there is no template around a prompt"},
})

var embeddingFields = table(honoured("model", "input", "dimensions", "encoding_format"), map[string]Field{
	"user": {Harmless, "it names the user for OpenAI's checks of misuse"},
})

// table puts tables together.
func table(parts ...map[string]Field) map[string]Field {
	whole := map[string]Field{}
	for _, part := range parts {
		maps.Copy(whole, part)
	}
	return whole
}

// refuseFields records an error for the first field of a request that is refused.
func refuseFields(root *jsonin.Node, fields map[string]Field) {
	for f := range root.Fields() {
		if known := fields[f.Name()]; known.Use == Refused && !f.Absent() {
			f.Fail("%s", known.Why)
		}
	}
}
