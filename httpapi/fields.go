package httpapi

import (
	"maps"

	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/wire"
)

// ResponseFields returns what becomes of the fields of POST /v1/responses.
func ResponseFields() map[string]wire.Field { return maps.Clone(responseFields) }

func honoured(names ...string) map[string]wire.Field {
	fields := make(map[string]wire.Field, len(names))
	for _, name := range names {
		fields[name] = wire.Field{Use: wire.Honoured}
	}
	return fields
}

// sampled are the fields that all generating interfaces hand through.
var sampled = honoured("seed", "presence_penalty", "frequency_penalty", "logit_bias", "top_k", "min_p", "repetition_penalty",
	"chat_template_kwargs", "temperature", "top_p")

// common are the fields that both conversational interfaces have.
var common = table(sampled, honoured("model", "metadata", "parallel_tool_calls", "store", "stream", "tool_choice", "tools", "top_logprobs",
	"prompt_cache_key"), map[string]wire.Field{
	"safety_identifier":      {Use: wire.Harmless, Why: "it names the user for OpenAI's checks of misuse; echoed where there is a place"},
	"user":                   {Use: wire.Harmless, Why: "the older name of safety_identifier"},
	"service_tier":           {Use: wire.Harmless, Why: "there is one tier"},
	"prompt_cache_retention": {Use: wire.Harmless, Why: "the model server's cache keeps what it keeps; it changes cost, never the answer"},
	"prompt_cache_options":   {Use: wire.Harmless, Why: "as prompt_cache_retention"},
	"moderation":             {Use: wire.Harmless, Why: "there are no moderation scores to ask for"},
	"access_programs":        {Use: wire.Harmless, Why: "nothing is for members of programs only"},
	"stream_options":         {Use: wire.Honoured},
})

var responseFields = table(common, honoured("input", "instructions", "previous_response_id", "conversation", "max_output_tokens",
	"max_tool_calls", "reasoning", "text", "include", "background", "context_management", "truncation"), map[string]wire.Field{
	"client_metadata": {Use: wire.Harmless, Why: "what agents say of themselves"},
	"prompt":          {Use: wire.Refused, Why: "is not supported: there are no stored prompts here; send instructions and input"},
	"modalities":      {Use: wire.Refused, Why: "is not supported: answers are text"},
})

// table puts tables together.
func table(parts ...map[string]wire.Field) map[string]wire.Field {
	whole := map[string]wire.Field{}
	for _, part := range parts {
		maps.Copy(whole, part)
	}
	return whole
}

// refuseFields records an error for the first field of a request that is refused.
func refuseFields(root *jsonin.Node, fields map[string]wire.Field) {
	for f := range root.Fields() {
		if known := fields[f.Name()]; known.Use == wire.Refused && !f.Absent() {
			f.Fail("%s", known.Why)
		}
	}
}
