package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/model"
)

// wireRequest is the body of a request for a chat completion, or for that of a
// text, which has a prompt instead of messages. [wireRequest.encode] puts the
// messages before the rest.
type wireRequest struct {
	tenant    string // whose connections the request may use
	begun     []byte // JSON of messages, up to where the text of the first of messages goes on; nil: nothing
	messages  []model.Message
	past      *past  // what is known of the first messages; nil: nothing is kept
	same      int    // how many those are
	separator string // between the texts of a message's content
	reasoning string // what the server calls the reasoning of a message, or thinkOpen for in its text; empty leaves it out

	Model               string         `json:"model"`
	Prompt              *string        `json:"prompt,omitempty"`
	Tools               []wireTool     `json:"tools,omitempty"`
	ToolChoice          any            `json:"tool_choice,omitempty"`
	ParallelToolCalls   *bool          `json:"parallel_tool_calls,omitempty"`
	ResponseFormat      *wireFormat    `json:"response_format,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	Temperature         *float64       `json:"temperature,omitempty"`
	TopP                *float64       `json:"top_p,omitempty"`
	Stop                []string       `json:"stop,omitempty"`
	ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
	Stream              bool           `json:"stream,omitempty"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	Logprobs            bool           `json:"logprobs,omitempty"`
	TopLogprobs         int            `json:"top_logprobs,omitempty"`

	Seed              *int            `json:"seed,omitempty"`
	PresencePenalty   *float64        `json:"presence_penalty,omitempty"`
	FrequencyPenalty  *float64        `json:"frequency_penalty,omitempty"`
	RepetitionPenalty *float64        `json:"repetition_penalty,omitempty"`
	MinP              *float64        `json:"min_p,omitempty"`
	TopK              *int            `json:"top_k,omitempty"`
	LogitBias         json.RawMessage `json:"logit_bias,omitempty"`
	CacheKey          string          `json:"prompt_cache_key,omitempty"`

	// Of some kinds of servers, sent to those alone.
	Samplers          *[]string `json:"samplers,omitempty"`
	PostSamplingProbs bool      `json:"post_sampling_probs,omitempty"`
	Slot              *int      `json:"id_slot,omitempty"`
	LogprobTokenIDs   []int     `json:"logprob_token_ids,omitempty"`
	ReturnTokenIDs    bool      `json:"return_tokens_as_token_ids,omitempty"`
	AllowedTokenIDs   []int     `json:"allowed_token_ids,omitempty"`
	ReturnPromptIDs   bool      `json:"return_prompt_token_ids,omitempty"`

	// Not of the protocol, and sent only where a target is set up for them.
	ChatTemplateKwargs  any   `json:"chat_template_kwargs,omitempty"`
	ContinueFinal       *bool `json:"continue_final_message,omitempty"`
	AddGenerationPrompt *bool `json:"add_generation_prompt,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type wireTool struct {
	Type     string   `json:"type"`
	Function wireSpec `json:"function"`
}

type wireSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict,omitempty"`
}

type wireFormat struct {
	Type       model.FormatType `json:"type"`
	JSONSchema *wireSchema      `json:"json_schema,omitempty"`
}

type wireSchema struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Strict      bool            `json:"strict,omitempty"`
	Schema      json.RawMessage `json:"schema"`
}

// encode returns the JSON of a body, without the escapes that only HTML needs.
func encode(body any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(body)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// limit sets the most tokens that may be generated, in the server's own field.
func (w *wireRequest) limit(s *server, tokens int) {
	if s.TokenLimit == MaxCompletionTokens {
		w.MaxCompletionTokens = tokens
		return
	}
	w.MaxTokens = tokens
}

// newRequest returns the request for a generation on a target.
func newRequest(m *served, t *target, req *model.Request) *wireRequest {
	w := &wireRequest{
		tenant: req.Tenant, Model: t.model(req.Model), ResponseFormat: newFormat(req.Format),
		Temperature: req.Temperature, TopP: req.TopP, Stop: req.Stop, ReasoningEffort: m.effort(req.ReasoningEffort),
	}
	if req.Continue {
		w.Prompt = new(promptText(req))
	} else {
		w.messages, w.separator, w.reasoning = req.Messages, "\n\n", t.facts.get().reasoningName()
		if req.Memo != nil {
			w.past, w.same = pastOf(req.Memo), req.Same
		}
	}
	if !req.Whole {
		w.stream()
	}
	switch {
	case req.Continue:
		w.MaxTokens = req.MaxTokens // no server has another name for it there
	case req.MaxTokens > 0:
		w.limit(t.server, req.MaxTokens)
	}
	w.sample(req)
	// Servers offer the tools to the model even under tool_choice none.
	if len(req.Tools) == 0 || req.ToolChoice.Mode == model.ToolNone {
		return w
	}
	w.Tools = wireTools(req.Tools)
	switch req.ToolChoice.Mode {
	case model.ToolRequired:
		w.ToolChoice = "required"
	case model.ToolNamed:
		w.ToolChoice = map[string]any{"type": "function", "function": map[string]string{"name": req.ToolChoice.Name}}
	}
	if req.SingleToolCall {
		w.ParallelToolCalls = new(bool)
	}
	return w
}

// stream asks for the answer piece by piece.
func (w *wireRequest) stream() { w.Stream, w.StreamOptions = true, &streamOptions{IncludeUsage: true} }

// promptText returns the text that a request has continued.
func promptText(req *model.Request) string {
	var text strings.Builder
	for _, m := range req.Messages {
		for _, part := range m.Parts {
			text.WriteString(partText(part))
		}
	}
	return text.String()
}

// reasoningField is what most servers call the reasoning of a message.
const reasoningField = "reasoning_content"

// reasoningName is what the server calls the reasoning of a message: as it sends it,
// between tags in the text too. It is empty where it takes none.
func (k known) reasoningName() string {
	switch {
	case k.noReasoning:
		return ""
	case k.reasoningAs != "":
		return k.reasoningAs
	}
	return reasoningField
}

// forgetReasoning leaves out the reasoning, and reports whether there was any.
func (w *wireRequest) forgetReasoning() (had bool) {
	had = w.reasoning != "" && slices.ContainsFunc(w.messages, func(m model.Message) bool { return m.Reasoning != "" })
	w.reasoning = ""
	return had
}

// sample sets what is handed through.
func (w *wireRequest) sample(req *model.Request) {
	s := &req.Sampling
	w.Seed, w.TopK, w.MinP = s.Seed, s.TopK, s.MinP
	w.PresencePenalty, w.FrequencyPenalty, w.RepetitionPenalty = s.PresencePenalty, s.FrequencyPenalty, s.RepetitionPenalty
	w.LogitBias, w.CacheKey = s.LogitBias, s.CacheKey
	if s.ChatTemplateKwargs != nil {
		w.ChatTemplateKwargs = s.ChatTemplateKwargs
	}
	w.Logprobs, w.TopLogprobs = req.Logprobs, req.TopLogprobs
}

// effort returns what the servers of a model call a reasoning effort.
func (m *served) effort(effort string) string {
	if name, ok := m.Efforts[effort]; ok {
		return name
	}
	return effort
}

func hasImage(m model.Message) bool { return slices.ContainsFunc(m.Parts, isImage) }

func isImage(part model.Part) bool {
	_, ok := part.(model.Image)
	return ok
}

func partText(part model.Part) string {
	switch p := part.(type) {
	case model.Text:
		return string(p)
	case model.Document:
		return p.Quoted()
	}
	return ""
}

var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

func wireTools(tools []model.Tool) []wireTool {
	wired := make([]wireTool, len(tools))
	for i, tool := range tools {
		spec := wireSpec{Name: tool.Name, Description: tool.Description, Parameters: noParameters, Strict: tool.Strict}
		if tool.Parameters != nil {
			spec.Parameters = relax(tool.Parameters)
		}
		wired[i] = wireTool{Type: "function", Function: spec}
	}
	return wired
}

func newFormat(f model.Format) *wireFormat {
	switch f.Type {
	case model.FormatObject:
		return &wireFormat{Type: f.Type}
	case model.FormatSchema:
		return &wireFormat{Type: f.Type, JSONSchema: &wireSchema{Name: f.Name, Description: f.Description, Strict: f.Strict, Schema: relax(f.Schema)}}
	}
	return nil
}
