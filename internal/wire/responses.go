package wire

import (
	"encoding/json"
	"slices"

	"github.com/seed-506d8e5d/svc/internal/jsonin"
)

// ResponseRequest is the body of POST /v1/responses and of
// POST /v1/responses/input_tokens.
type ResponseRequest struct {
	Model string `json:"model" api:"needed"`
	Continuation

	Store    *bool `json:"store,omitempty" doc:"Whether the response can be read back; true if absent."`
	Metadata Tags  `json:"metadata,omitempty"`
	Stream   *bool `json:"stream,omitempty"`
	// OpenAI's API takes options without a stream here.
	StreamOptions *StreamOptions `json:"stream_options,omitempty"`
	Background    *bool          `json:"background,omitempty" doc:"Whether the turn is made to its end with nobody waiting: the response is in progress, and can be polled, followed as a stream and cancelled."`

	Tools             []ResponseTool              `json:"tools,omitempty" api:"most=128"`
	ToolChoice        *TextOr[ResponseToolChoice] `json:"tool_choice,omitempty" api:"notempty,enum=auto|none|required"`
	ParallelToolCalls *bool                       `json:"parallel_tool_calls,omitempty"`
	MaxToolCalls      *int                        `json:"max_tool_calls,omitempty" api:"min=1" doc:"Caps the web searches of the turn."`

	Sampling
	MaxOutputTokens *int              `json:"max_output_tokens,omitempty" api:"min=1"`
	TopLogprobs     *int              `json:"top_logprobs,omitempty" api:"min=0,max=20"`
	Reasoning       *ReasoningOptions `json:"reasoning,omitempty"`
	Format          *TextOptions      `json:"text,omitempty"`

	Include           []string            `json:"include,omitempty" doc:"message.output_text.logprobs adds log-probabilities, reasoning.encrypted_content items of type reasoning, web_search_call.action.sources the pages that searches found, file_search_call.results the passages; others add nothing."`
	SafetyIdentifier  string              `json:"safety_identifier,omitempty" doc:"Echoed."`
	ContextManagement []ContextManagement `json:"context_management,omitempty" api:"most=1"`
	Truncation        string              `json:"truncation,omitempty" api:"notempty,enum=auto|disabled" doc:"auto: the oldest items are left out of a prompt that is too long for the model."`

	Guarding
	Unused
	ClientMetadata Ignored `json:"client_metadata,omitzero" harmless:"what agents say of themselves"`
	Prompt         Ignored `json:"prompt,omitzero" refused:"is not supported: there are no stored prompts here; send instructions and input"`
	Modalities     Ignored `json:"modalities,omitzero" refused:"is not supported: answers are text"`
}

// Continuation is what a turn goes on with.
type Continuation struct {
	Input              *TextOr[[]InputItem]     `json:"input,omitempty" api:"needed,least=1,most=5000" must:"a string or an array"`
	Instructions       string                   `json:"instructions,omitempty"`
	PreviousResponseID string                   `json:"previous_response_id,omitempty" api:"notempty"`
	Conversation       *TextOr[ConversationRef] `json:"conversation,omitempty" api:"notempty" doc:"Not together with previous_response_id."`
}

func (c *Continuation) checkInput(n *jsonin.Node) {
	input := n.Field("input")
	switch {
	case c.Input == nil:
		input.Fail("must be a string or an array")
	case c.Input.Text == nil && !slices.ContainsFunc(c.Input.Value, InputItem.isKept):
		input.Fail("must have at least one element")
	}
}

// ConversationRef names a conversation.
type ConversationRef struct {
	ID string `json:"id" api:"required,notempty"`
}

func (r *ResponseRequest) check(n *jsonin.Node) {
	r.checkInput(n)
}

// SocketRequest is a message of a client's over a WebSocket: the body of a turn.
type SocketRequest struct {
	Type     string `json:"type" api:"required,const=response.create"`
	Generate *bool  `json:"generate,omitempty" api:"only=true"`
	ResponseRequest
}

func (r *SocketRequest) check(n *jsonin.Node) {
	if r.Generate != nil && !*r.Generate {
		n.Field("generate").Fail("must be true: nothing can be prepared ahead of a turn here")
	}
	if r.Background != nil && *r.Background {
		n.Field("background").Fail("must be false over a WebSocket")
	}
	r.ResponseRequest.check(n)
}

// SocketRefusal is the message that refuses a turn over a WebSocket.
type SocketRefusal struct {
	Type           string `json:"type" api:"const=error"`
	Status         int    `json:"status"`
	SequenceNumber int    `json:"sequence_number"`
	EventError
}

// CompactionRequest is the body of POST /v1/responses/compact.
type CompactionRequest struct {
	Model string `json:"model" api:"needed"`
	Continuation
}

func (r *CompactionRequest) check(n *jsonin.Node) {
	if r.Input == nil && r.PreviousResponseID == "" && r.Conversation == nil {
		n.Field("input").Fail("is required without previous_response_id")
	}
	if r.Input != nil {
		r.checkInput(n)
	}
}

// ReasoningOptions say how much a model thinks.
type ReasoningOptions struct {
	Effort          string `json:"effort,omitempty" api:"notempty,enum=none|minimal|low|medium|high|xhigh|max"`
	Summary         string `json:"summary,omitempty" api:"open" harmless:"the open interface alone shows what a model thinks: auto, concise and detailed are the same"`
	GenerateSummary string `json:"generate_summary,omitempty" api:"open" harmless:"the older name of summary"`
}

// TextOptions say what the text of an answer is like.
type TextOptions struct {
	Format    *Format `json:"format,omitempty"`
	Verbosity Ignored `json:"verbosity,omitzero" harmless:"a wish that no model server takes; an instruction says it better"`
}

// Format is the form that the text of an answer is to have.
type Format struct {
	Type        string          `json:"type" api:"required,notempty,enum=text|json_object|json_schema"`
	Name        string          `json:"name,omitempty" of:"json_schema" api:"needed"`
	Description string          `json:"description,omitempty" of:"json_schema"`
	Schema      json.RawMessage `json:"schema,omitempty" of:"json_schema" api:"needed" doc:"A JSON Schema."`
	Strict      bool            `json:"strict,omitempty" of:"json_schema"`
}

// ContextManagement says how a history that grows too long is dealt with.
type ContextManagement struct {
	Type             string `json:"type" api:"required,const=compaction"`
	CompactThreshold *int   `json:"compact_threshold,omitempty" api:"min=1" doc:"Tokens of the prompt over which what was said is compacted; left out, four fifths of the context window."`
}

func (m *ContextManagement) check(n *jsonin.Node) {
	if m.CompactThreshold != nil && *m.CompactThreshold < 1 {
		n.Field("compact_threshold").Fail("must be at least 1")
	}
}
