package wire

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/seed-506d8e5d/svc/internal/jsonin"
)

// MessagesRequest is the body of POST /v1/messages and of
// POST /v1/messages/count_tokens, which needs no max_tokens.
type MessagesRequest struct {
	Model     string           `json:"model" api:"needed"`
	MaxTokens *int             `json:"max_tokens,omitempty" api:"min=1" doc:"Required in POST /v1/messages."`
	Messages  []MessagesInput  `json:"messages" api:"needed,least=1,most=10000"`
	System    *TextOr[[]Block] `json:"system,omitempty" must:"a string or an array of text blocks"`

	Stream        *bool          `json:"stream,omitempty"`
	StopSequences []string       `json:"stop_sequences,omitempty" api:"most=16"`
	Temperature   *float64       `json:"temperature,omitempty" api:"min=0,max=2"`
	TopP          *float64       `json:"top_p,omitempty" api:"min=0,max=1"`
	TopK          *int           `json:"top_k,omitempty"`
	Tools         []MessagesTool `json:"tools,omitempty" api:"most=128"`
	ToolChoice    *BlockChoice   `json:"tool_choice,omitempty"`
	Thinking      *Thinking      `json:"thinking,omitempty"`
	OutputConfig  *OutputConfig  `json:"output_config,omitempty"`
	OutputFormat  *BlockFormat   `json:"output_format,omitempty" doc:"The older place of output_config.format."`
	Policies      []string       `json:"policies,omitempty" api:"most=16" doc:"Names of policies that the request is judged by, besides those that hold anyway."`

	Metadata          Ignored `json:"metadata,omitzero" harmless:"user_id names the user for Anthropic's checks of misuse"`
	ServiceTier       Ignored `json:"service_tier,omitzero" harmless:"there is one tier"`
	CacheControl      Ignored `json:"cache_control,omitzero" harmless:"caches are the model server's"`
	ContextManagement Ignored `json:"context_management,omitzero" harmless:"the client's own history is what the model reads"`
	Diagnostics       Ignored `json:"diagnostics,omitzero" harmless:"it asks for remarks on caches"`
	InferenceGeo      Ignored `json:"inference_geo,omitzero" harmless:"a model is where its server is"`
	Speed             Ignored `json:"speed,omitzero" harmless:"there is one speed"`
	Container         Ignored `json:"container,omitzero" refused:"is not supported: no code is run here"`
	MCPServers        Ignored `json:"mcp_servers,omitzero" refused:"is not supported: MCP is a tool of POST /v1/responses"`
}

// MessagesInput is a message of a [MessagesRequest].
type MessagesInput struct {
	Role    string           `json:"role" api:"required,notempty,enum=user|assistant|system"`
	Content *TextOr[[]Block] `json:"content" api:"required" must:"a string or an array of blocks"`
}

func (m *MessagesInput) check(n *jsonin.Node) {
	switch m.Role {
	case "user", "assistant", "system":
	default:
		n.Field("role").Fail("must be user, assistant or system")
	}
	if m.Content == nil {
		return
	}
	for i := range m.Content.Value {
		if b := &m.Content.Value[i]; !b.isFrom(m.Role) {
			n.Field("content").First(i + 1)[i].Field("type").Fail("is %q, which is not accepted in messages of the role %s", b.Type, m.Role)
		}
	}
}

// Block is a piece of a message's content.
type Block struct {
	Type string  `json:"type" api:"required"`
	Text *string `json:"text,omitempty" of:"text" api:"required"`
	BlockDocument

	Thinking  Ignored `json:"thinking,omitzero" of:"thinking" harmless:"what the model reads is sealed in the signature"`
	Signature *string `json:"signature,omitempty" of:"thinking" api:"required"`
	Data      *string `json:"data,omitempty" of:"redacted_thinking" api:"required"`

	ID    string          `json:"id,omitempty" of:"tool_use" api:"required,notempty"`
	Name  string          `json:"name,omitempty" of:"tool_use" api:"required,notempty"`
	Input json.RawMessage `json:"input,omitempty" of:"tool_use" api:"required,object"`

	ToolUseID string                 `json:"tool_use_id,omitempty" of:"tool_result" api:"required,notempty"`
	Content   *TextOr[[]ResultBlock] `json:"content,omitempty" of:"tool_result search_result" must:"a string or an array of blocks"`
	IsError   *bool                  `json:"is_error,omitempty" of:"tool_result"`

	Caller Ignored `json:"caller,omitzero" of:"tool_use" harmless:"it is direct in every answer"`
}

// BlockDocument are the fields of a document, an image and a search result.
type BlockDocument struct {
	Source  *TextOr[BlockSource] `json:"source,omitempty" of:"image document search_result" api:"required" must:"an object, or the text that names a search result"`
	Title   string               `json:"title,omitempty" of:"document search_result"`
	Context string               `json:"context,omitempty" of:"document" doc:"What the model is told of a document besides its text."`

	Citations    Ignored `json:"citations,omitzero" harmless:"answers have no citations"`
	CacheControl Ignored `json:"cache_control,omitzero" harmless:"caches are the model server's"`
}

func (b *Block) check(n *jsonin.Node) {
	switch b.Type {
	case "text", "thinking", "redacted_thinking", "tool_use", "tool_result":
	default:
		b.BlockDocument.checkType(n, b.Type)
	}
}

// isFrom reports whether messages of a role may have the block. Types that nobody
// may send are none of its business.
func (b *Block) isFrom(role string) bool {
	switch b.Type {
	case "thinking", "redacted_thinking", "tool_use":
		return role == "assistant"
	case "image", "document", "search_result", "tool_result":
		return role == "user"
	}
	return true
}

func (d *BlockDocument) checkType(n *jsonin.Node, kind string) {
	switch kind {
	case "image", "document":
		if d.Source != nil && d.Source.Text != nil {
			n.Field("source").Fail("must be an object")
		}
	case "search_result":
		if d.Source != nil && d.Source.Text == nil {
			n.Field("source").Fail("must be a string")
		}
	default:
		n.Field("type").Fail("is %.64q, which is not supported", kind)
	}
}

// ResultBlock is a piece of the result of a tool.
type ResultBlock struct {
	Type string  `json:"type" api:"required"`
	Text *string `json:"text,omitempty" of:"text" api:"required"`
	BlockDocument
	Content *TextOr[[]TextBlock] `json:"content,omitempty" of:"search_result" must:"a string or an array of text blocks"`

	ToolName Ignored `json:"tool_name,omitzero" of:"tool_reference" harmless:"all tools of a request are offered"`
}

func (b *ResultBlock) check(n *jsonin.Node) {
	if b.Type != "text" && b.Type != "tool_reference" {
		b.BlockDocument.checkType(n, b.Type)
	}
}

// TextBlock is a text within a document.
type TextBlock struct {
	Type string `json:"type" api:"required,const=text"`
	Text string `json:"text" api:"required"`

	Citations    Ignored `json:"citations,omitzero" harmless:"answers have no citations"`
	CacheControl Ignored `json:"cache_control,omitzero" harmless:"caches are the model server's"`
}

// BlockSource is where the content of an image or a document is.
type BlockSource struct {
	Type      string               `json:"type" api:"required,enum=base64|text|content|file|url"`
	MediaType string               `json:"media_type,omitempty" of:"base64 text"`
	Data      *string              `json:"data,omitempty" of:"base64 text" api:"required"`
	FileID    string               `json:"file_id,omitempty" of:"file" api:"required,notempty"`
	Content   *TextOr[[]TextBlock] `json:"content,omitempty" of:"content" api:"required" must:"a string or an array of text blocks"`
	URL       Ignored              `json:"url,omitzero" of:"url" refused:"is not accepted: nothing is fetched here; send the content as base64, or upload it and send its file_id"`

	bytes []byte
}

func (s *BlockSource) check(n *jsonin.Node) {
	switch s.Type {
	case "base64":
		if s.Data == nil {
			return
		}
		var err error
		if s.bytes, err = base64.StdEncoding.DecodeString(*s.Data); err != nil {
			n.Field("data").Fail("must be base64")
		}
		s.Data = nil
	case "text":
		if s.Data != nil {
			s.bytes = []byte(*s.Data)
		}
	case "content":
		s.bytes = []byte(JoinTexts(s.Content))
	case "file", "url":
	default:
		n.Field("type").Fail("is %.64q, which is not supported", s.Type)
	}
}

// Bytes returns the content that came with the request; nil is that of a file.
func (s *BlockSource) Bytes() []byte {
	if s.bytes == nil && s.Type != "file" {
		return []byte{}
	}
	return s.bytes
}

// JoinTexts returns a text, or text blocks as one, a line each.
func JoinTexts(t *TextOr[[]TextBlock]) string {
	switch {
	case t == nil:
		return ""
	case t.Text != nil:
		return *t.Text
	}
	texts := make([]string, len(t.Value))
	for i := range t.Value {
		texts[i] = t.Value[i].Text
	}
	return strings.Join(texts, "\n")
}

// MessagesTool is a tool that the model is offered: a function of the client, or a
// web search.
type MessagesTool struct {
	Type        string          `json:"type,omitempty" api:"default=custom"`
	Name        string          `json:"name" api:"required,notempty"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema,omitempty" api:"object" doc:"A JSON Schema."`
	Strict      bool            `json:"strict,omitempty"`

	CacheControl   Ignored `json:"cache_control,omitzero" harmless:"caches are the model server's"`
	DeferLoading   Ignored `json:"defer_loading,omitzero" harmless:"all tools of a request are offered"`
	InputExamples  Ignored `json:"input_examples,omitzero" harmless:"model servers have no place for them"`
	EagerStreaming Ignored `json:"eager_input_streaming,omitzero" harmless:"input is sent as it comes"`
	AllowedCallers Ignored `json:"allowed_callers,omitzero" harmless:"the model itself is the only caller"`
}

func (t *MessagesTool) check(n *jsonin.Node) {
	if t.Type != "" && t.Type != "custom" {
		n.Field("type").Fail("is %.64q, which is not supported: send a tool with an input_schema", t.Type)
	}
}

// BlockChoice says which tools the model may or must call.
type BlockChoice struct {
	Type                   string `json:"type" api:"required,enum=auto|any|none|tool"`
	Name                   string `json:"name,omitempty" of:"tool" api:"required,notempty"`
	DisableParallelToolUse *bool  `json:"disable_parallel_tool_use,omitempty"`
}

func (c *BlockChoice) check(n *jsonin.Node) {
	switch c.Type {
	case "auto", "any", "none", "tool":
	default:
		n.Field("type").Fail("must be auto, any, none or tool")
	}
}

// Thinking says whether the model thinks first.
type Thinking struct {
	Type         string `json:"type" api:"required,enum=enabled|adaptive|disabled"`
	BudgetTokens *int   `json:"budget_tokens,omitempty" of:"enabled" api:"min=1"`

	Display Ignored `json:"display,omitzero" harmless:"thoughts are not shown"`
}

func (t *Thinking) check(n *jsonin.Node) {
	switch t.Type {
	case "enabled", "adaptive", "disabled":
	default:
		n.Field("type").Fail("must be enabled, adaptive or disabled")
	}
}

// OutputConfig says how the model answers.
type OutputConfig struct {
	Effort string       `json:"effort,omitempty" api:"enum=low|medium|high|xhigh|max"`
	Format *BlockFormat `json:"format,omitempty"`
}

func (o *OutputConfig) check(n *jsonin.Node) {
	switch o.Effort {
	case "", "low", "medium", "high", "xhigh", "max":
	default:
		n.Field("effort").Fail("must be low, medium, high, xhigh or max")
	}
}

// BlockFormat is the form that the text of an answer has to have.
type BlockFormat struct {
	Type   string          `json:"type" api:"required,const=json_schema"`
	Schema json.RawMessage `json:"schema" api:"required,object" doc:"A JSON Schema."`
}

// MessagesMessage is the answer to a [MessagesRequest], and what a stream begins with.
type MessagesMessage struct {
	ID           string        `json:"id"`
	Type         string        `json:"type" api:"const=message"`
	Role         string        `json:"role" api:"const=assistant"`
	Model        string        `json:"model"`
	Content      []AnswerBlock `json:"content"`
	StopReason   *string       `json:"stop_reason" api:"enum=end_turn|max_tokens|stop_sequence|tool_use|refusal"`
	StopSequence *string       `json:"stop_sequence"`
	StopDetails  *struct{}     `json:"stop_details"`
	Container    *struct{}     `json:"container"`
	Usage        MessagesUsage `json:"usage"`
}

// AnswerBlock is a block of an answer: its type says which fields it has.
type AnswerBlock struct {
	Type      string          `json:"type" api:"enum=text|thinking|tool_use"`
	Text      *string         `json:"text,omitempty"`
	Citations *struct{}       `json:"citations,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature *string         `json:"signature,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	Caller    *BlockCaller    `json:"caller,omitempty"`
}

// BlockCaller says who calls a tool.
type BlockCaller struct {
	Type string `json:"type" api:"const=direct"`
}

// MessagesUsage is what an answer cost, or has cost so far.
type MessagesUsage struct {
	InputTokens         int       `json:"input_tokens" doc:"Without those that were cached."`
	CacheCreationTokens int       `json:"cache_creation_input_tokens"`
	CacheReadTokens     int       `json:"cache_read_input_tokens"`
	OutputTokens        int       `json:"output_tokens"`
	ServerToolUse       *struct{} `json:"server_tool_use"`
	ServiceTier         string    `json:"service_tier" api:"const=standard"`
}

// MessagesTokens is the answer of POST /v1/messages/count_tokens.
type MessagesTokens struct {
	InputTokens int `json:"input_tokens"`
}

// MessagesError is an error in the shape of the Messages interface.
type MessagesError struct {
	Type      string              `json:"type" api:"const=error"`
	Error     MessagesErrorObject `json:"error"`
	RequestID string              `json:"request_id"`
}

// MessagesErrorObject is what went wrong.
type MessagesErrorObject struct {
	Type    string                `json:"type"`
	Message string                `json:"message"`
	Details *MessagesErrorDetails `json:"details,omitempty"`
}

// MessagesErrorDetails has the code that the other interfaces show.
type MessagesErrorDetails struct {
	ErrorCode string `json:"error_code"`
}

// MessagesModel is a model in the shape of the Messages interface.
type MessagesModel struct {
	Type           string    `json:"type" api:"const=model"`
	ID             string    `json:"id"`
	DisplayName    string    `json:"display_name"`
	CreatedAt      string    `json:"created_at"`
	Lifecycle      string    `json:"lifecycle" api:"const=active"`
	MaxInputTokens int       `json:"max_input_tokens"`
	MaxTokens      int       `json:"max_tokens"`
	Capabilities   *struct{} `json:"capabilities"`
	DeprecatedAt   *string   `json:"deprecated_at"`
	RetiresAt      *string   `json:"retires_at"`
	Line           *string   `json:"line"`
}

// MessagesModels is a list of them.
type MessagesModels struct {
	Data    []MessagesModel `json:"data"`
	HasMore bool            `json:"has_more"`
	FirstID *string         `json:"first_id"`
	LastID  *string         `json:"last_id"`
}
