package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// ChatRequest is the body of POST /v1/chat/completions.
type ChatRequest struct {
	Model    string        `json:"model" api:"needed"`
	Messages []ChatMessage `json:"messages" api:"needed,least=1,most=10000"`

	Streaming
	Store    *bool `json:"store,omitempty"`
	Metadata Tags  `json:"metadata,omitempty"`

	Sampling
	MaxTokens           *int              `json:"max_tokens,omitempty" api:"min=1"`
	MaxCompletionTokens *int              `json:"max_completion_tokens,omitempty" api:"min=1" doc:"Another name of max_tokens."`
	Stop                *TextOr[[]string] `json:"stop,omitempty" api:"most=16" must:"a string or an array of strings"`
	ReasoningEffort     string            `json:"reasoning_effort,omitempty" api:"notempty,enum=none|minimal|low|medium|high|xhigh|max"`
	ResponseFormat      *ChatFormat       `json:"response_format,omitempty"`
	N                   *int              `json:"n,omitempty" api:"min=1,max=8" doc:"Several answers are to be had from the open interface alone."`
	Modalities          []string          `json:"modalities,omitempty" api:"enum=text"`

	Tools             []ChatTool              `json:"tools,omitempty" api:"most=128"`
	ToolChoice        *TextOr[ChatToolChoice] `json:"tool_choice,omitempty" api:"notempty,enum=auto|none|required"`
	ParallelToolCalls *bool                   `json:"parallel_tool_calls,omitempty"`
	Logprobs          *bool                   `json:"logprobs,omitempty"`
	TopLogprobs       *int                    `json:"top_logprobs,omitempty" api:"min=0,max=20"`

	Functions    []Function         `json:"functions,omitempty" api:"open,most=128" refused:"is not supported: send tools"`
	FunctionCall *TextOr[NamedTool] `json:"function_call,omitempty" api:"open" refused:"is not supported: send tool_choice" must:"none, auto, or an object with the name of a function"`

	Guarding
	Unused
	SafetyIdentifier Ignored `json:"safety_identifier,omitzero" harmless:"it names the user for OpenAI's checks of misuse; echoed where there is a place"`
	Verbosity        Ignored `json:"verbosity,omitzero" harmless:"a wish that no model server takes; an instruction says it better"`
	Prediction       Ignored `json:"prediction,omitzero" harmless:"it can only make an answer faster"`
	Audio            Ignored `json:"audio,omitzero" refused:"is not supported: answers are text"`
	WebSearchOptions Ignored `json:"web_search_options,omitzero" refused:"is not supported: web search is a tool of POST /v1/responses"`
}

// Unused are the fields of OpenAI's API that both conversational interfaces take
// without effect.
type Unused struct {
	User           Ignored `json:"user,omitzero" harmless:"the older name of safety_identifier"`
	ServiceTier    Ignored `json:"service_tier,omitzero" harmless:"there is one tier"`
	CacheRetention Ignored `json:"prompt_cache_retention,omitzero" harmless:"the model server's cache keeps what it keeps; it changes cost, never the answer"`
	CacheOptions   Ignored `json:"prompt_cache_options,omitzero" harmless:"as prompt_cache_retention"`
	AccessPrograms Ignored `json:"access_programs,omitzero" harmless:"nothing is for members of programs only"`
}

// Guarding are the policies that a request asks for.
type Guarding struct {
	Policies   []string    `json:"policies,omitempty" api:"most=16" doc:"Names of policies that the request is judged by, besides those that hold anyway."`
	Moderation *Moderation `json:"moderation,omitempty"`
}

// Moderation is what a request wants to be moderated.
type Moderation struct {
	Policy *ModerationPolicy `json:"policy,omitempty"`
	Model  Ignored           `json:"model,omitzero" harmless:"the policy moderation says which model decides"`
}

// ModerationPolicy says what becomes of the input and the output.
type ModerationPolicy struct {
	Input  *ModerationMode `json:"input,omitempty"`
	Output *ModerationMode `json:"output,omitempty"`
}

// ModerationMode says what becomes of what is flagged.
type ModerationMode struct {
	Mode string `json:"mode,omitempty" api:"enum=score|block" doc:"block has the policy moderation judge it. score adds nothing to the answer; POST /v1/moderations tells scores."`
}

func (m *ModerationMode) check(n *jsonin.Node) {
	if mode := n.Field("mode"); !mode.Absent() && m.Mode != "score" && m.Mode != "block" {
		mode.Fail(`must be "score" or "block"`)
	}
}

// Streaming says how an answer is sent.
type Streaming struct {
	Stream        *bool          `json:"stream,omitempty"`
	StreamOptions *StreamOptions `json:"stream_options,omitempty"`
}

// StreamOptions are the options of a stream.
type StreamOptions struct {
	IncludeUsage       *bool   `json:"include_usage,omitempty"`
	IncludeObfuscation Ignored `json:"include_obfuscation,omitzero" harmless:"nothing is padded"`
}

// check refuses options of a stream without one.
func (s *Streaming) check(n *jsonin.Node) {
	if s.StreamOptions != nil && (s.Stream == nil || !*s.Stream) {
		n.Field("stream_options").Fail("may only be sent with stream")
	}
}

func (r *ChatRequest) check(n *jsonin.Node) {
	r.Streaming.check(n)
	if !n.Open() {
		onlyOne(n.Field("n"))
	} else if r.N != nil && (*r.N < 1 || *r.N > mostChoices) {
		n.Field("n").Fail("must be between 1 and %d", mostChoices)
	}
	r.checkFunctions(n)
	most, other := r.MaxTokens, r.MaxCompletionTokens
	if most != nil && other != nil && *most != *other {
		n.Field("max_completion_tokens").Fail("must be the same as max_tokens, or omitted")
	}
	if other != nil && *other < 1 {
		n.Field("max_completion_tokens").Fail("must be at least 1")
	}
	for i, kind := range r.Modalities {
		if kind != "text" {
			n.Field("modalities").First(i + 1)[i].Fail(`must be "text": answers are text`)
		}
	}
	if c := r.ToolChoice; c != nil && c.Text != nil && *c.Text == "named" {
		n.Field("tool_choice").Fail("must be auto, required, none, or a function")
	}
}

// mostChoices is how many answers a request may want.
const mostChoices = 8

// checkFunctions refuses the older form of tools beside the newer one.
func (r *ChatRequest) checkFunctions(n *jsonin.Node) {
	if r.Functions != nil && r.Tools != nil {
		n.Field("functions").Fail("may not be sent with tools")
	}
	c := r.FunctionCall
	switch {
	case c == nil:
	case r.ToolChoice != nil:
		n.Field("function_call").Fail("may not be sent with tool_choice")
	case c.Text != nil && *c.Text != "none" && *c.Text != "auto":
		n.Field("function_call").Fail("must be none, auto, or an object with the name of a function")
	}
}

// onlyOne refuses any number but 1.
func onlyOne(n *jsonin.Node) {
	if count := n.Int(); count != nil && *count != 1 {
		n.Fail("must be 1")
	}
}

// Sampling are the fields that all generating interfaces hand through to the model.
type Sampling struct {
	Temperature        *float64        `json:"temperature,omitempty" api:"min=0,max=2"`
	TopP               *float64        `json:"top_p,omitempty" api:"min=0,max=1"`
	Seed               *int            `json:"seed,omitempty"`
	PresencePenalty    *float64        `json:"presence_penalty,omitempty" api:"min=-2,max=2"`
	FrequencyPenalty   *float64        `json:"frequency_penalty,omitempty" api:"min=-2,max=2"`
	RepetitionPenalty  *float64        `json:"repetition_penalty,omitempty" api:"above=0"`
	MinP               *float64        `json:"min_p,omitempty" api:"min=0,max=1"`
	TopK               *int            `json:"top_k,omitempty"`
	LogitBias          LogitBias       `json:"logit_bias,omitempty" doc:"Numbers from -100 to 100 by token ID."`
	ChatTemplateKwargs json.RawMessage `json:"chat_template_kwargs,omitempty" api:"object" doc:"Handed through to the model server's chat template."`
	PromptCacheKey     string          `json:"prompt_cache_key,omitempty" doc:"Handed through to the model server."`
}

// LogitBias is an object of numbers by token ID, as JSON. An empty one, which SDKs
// send, is none.
type LogitBias []byte

// maxBiases is how many tokens a logit_bias may name.
const maxBiases = 1024

func (l *LogitBias) readNode(n *jsonin.Node, _ *field) {
	count := 0
	for f := range n.Fields() {
		count++
		const most = 100
		if bias := f.Number(); bias == nil || *bias < -most || *bias > most {
			f.Fail("must be a number between -100 and 100")
		}
	}
	if count > maxBiases {
		n.Fail("must have at most %d members", maxBiases)
	}
	if count > 0 {
		*l = LogitBias(n.Raw())
	}
}

// MarshalJSON implements [json.Marshaler].
func (l LogitBias) MarshalJSON() ([]byte, error) { return l, nil }

// UnmarshalJSON implements [json.Unmarshaler].
func (l *LogitBias) UnmarshalJSON(data []byte) error {
	*l = append((*l)[:0], data...)
	return nil
}

// ChatMessage is a message of a request.
type ChatMessage struct {
	Role       string              `json:"role" api:"needed,enum=system|developer|user|assistant|tool|function" doc:"function, the older form of tool, is taken by the open interface alone."`
	Content    *TextOr[[]ChatPart] `json:"content,omitempty" must:"a string or an array of parts"`
	ToolCalls  []ToolCall          `json:"tool_calls,omitempty" api:"most=128"`
	ToolCallID string              `json:"tool_call_id,omitempty"`

	FunctionCall     *CallFunction `json:"function_call,omitempty" api:"open" harmless:"the older form of tool_calls, which the open interface alone reads"`
	ReasoningContent string        `json:"reasoning_content,omitempty" api:"open" harmless:"what the model has thought, which the open interface alone shows and reads"`

	Name        Ignored `json:"name,omitzero" harmless:"model servers do not tell people of one role apart"`
	Refusal     Ignored `json:"refusal,omitzero" harmless:"it is null in every answer"`
	Audio       Ignored `json:"audio,omitzero" harmless:"it is null in every answer"`
	Annotations Ignored `json:"annotations,omitzero" harmless:"the text says the same"`
}

// ChatPart is a piece of a message's content.
type ChatPart struct {
	Type     string  `json:"type" api:"required"`
	Text     *string `json:"text,omitempty" of:"text" api:"required"`
	ChatFile `of:"file"`
	File     *ChatFile  `json:"file,omitempty" of:"file" doc:"The fields of the part in the spelling of the OpenAI API."`
	ImageURL *ChatImage `json:"image_url,omitempty" of:"image_url" doc:"By the open interface alone."`

	CacheControl Ignored `json:"cache_control,omitzero" harmless:"caches are the model server's"`
}

// ChatImage is an image of a prompt.
type ChatImage struct {
	URL    ImageURL `json:"url" doc:"A data URL: nothing is fetched."`
	Detail Ignored  `json:"detail,omitzero" harmless:"models read images as they are"`
}

// ChatFile is a document: one that was uploaded, by its ID, or its content.
type ChatFile struct {
	FileID   string   `json:"file_id,omitempty"`
	Filename string   `json:"filename,omitempty"`
	MIMEType string   `json:"mime_type,omitempty"`
	FileData *DataURL `json:"file_data,omitempty" doc:"Base64."`
	FileURL  Ignored  `json:"file_url,omitzero" refused:"is not accepted; send the file as file_data, or upload it and send its file_id"`
}

func (p *ChatPart) check(n *jsonin.Node) {
	switch {
	case p.Type == "text", p.Type == "file":
	case p.Type != "image_url" || !n.Open():
		n.Fail("is a part of the type %.64q; only text and file parts are accepted", p.Type)
	case p.ImageURL == nil || p.ImageURL.URL.Data == nil:
		n.Field("image_url").Fail("is required")
	}
	if p.File == nil && p.FileData != nil && p.FileData.MIMEType != "" {
		n.Field("file_data").Fail("must be base64")
	}
}

// DataURL is bytes as base64, in a data URL where they have a type.
type DataURL struct {
	MIMEType string
	Data     []byte // not nil
}

func (d *DataURL) readNode(n *jsonin.Node, _ *field) {
	if err := d.parse(n.Text()); err != nil {
		n.Fail("must be %s", err.Error())
	}
}

var (
	errBase64  = errors.New("base64")
	errDataURL = errors.New("base64, or a data URL with base64")
)

func (d *DataURL) parse(text string) (err error) {
	if rest, ok := strings.CutPrefix(text, "data:"); ok {
		if d.MIMEType, text, ok = strings.Cut(rest, ";base64,"); !ok {
			return errDataURL
		}
	}
	if d.Data, err = base64.StdEncoding.DecodeString(text); err != nil {
		return errBase64
	}
	return nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (d *DataURL) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	return d.parse(text)
}

// MarshalJSON implements [json.Marshaler].
func (d DataURL) MarshalJSON() ([]byte, error) {
	head := ""
	if d.MIMEType != "" {
		head = "data:" + d.MIMEType + ";base64,"
	}
	return jsonout.Marshal(head + base64.StdEncoding.EncodeToString(d.Data))
}

// ToolCall is a call of a function, or with the open interface of a custom tool.
type ToolCall struct {
	Index    Ignored       `json:"index,omitzero" harmless:"calls are in order"`
	ID       string        `json:"id" api:"required"`
	Type     string        `json:"type" api:"required"`
	Function *CallFunction `json:"function,omitempty" of:"function" api:"required"`
	Custom   *CallCustom   `json:"custom,omitempty" of:"custom" api:"required"`
}

func (c *ToolCall) check(n *jsonin.Node) { checkToolType(c.Type, n) }

// checkToolType refuses what is neither a function nor, with the open interface, a
// custom tool.
func checkToolType(kind string, n *jsonin.Node) {
	if kind != "function" && (kind != "custom" || !n.Open()) {
		n.Field("type").Fail(`must be "function"`)
	}
}

// CallCustom is which custom tool is called, and with which text.
type CallCustom struct {
	Name  string `json:"name" api:"required"`
	Input string `json:"input" api:"required"`
}

// CallFunction is what is called, and with which arguments.
type CallFunction struct {
	Name      string `json:"name" api:"required"`
	Arguments string `json:"arguments" api:"required"`
}

// ChatTool is a tool that the model is offered: a function, or with the open interface a
// custom tool.
type ChatTool struct {
	Type     string      `json:"type" api:"required"`
	Function *Function   `json:"function,omitempty" of:"function" api:"required"`
	Custom   *ChatCustom `json:"custom,omitempty" of:"custom" api:"required"`
}

func (t *ChatTool) check(n *jsonin.Node) { checkToolType(t.Type, n) }

// ChatCustom is a custom tool, whose input is text.
type ChatCustom struct {
	Name        string            `json:"name" api:"required"`
	Description string            `json:"description,omitempty"`
	Format      *ChatCustomFormat `json:"format,omitempty"`
}

// ChatCustomFormat is the form of a custom tool's input.
type ChatCustomFormat struct {
	Type    string       `json:"type" api:"required,enum=text|grammar"`
	Grammar *ChatGrammar `json:"grammar,omitempty" of:"grammar" api:"required"`
}

func (f *ChatCustomFormat) check(n *jsonin.Node) {
	if f.Type != "text" && f.Type != "grammar" {
		n.Field("type").Fail(`must be "text" or "grammar"`)
	}
}

// ChatGrammar is the grammar of a custom tool's input.
type ChatGrammar struct {
	Syntax     string `json:"syntax" api:"required"`
	Definition string `json:"definition" api:"required"`
}

// Function is a function that the model is offered.
type Function struct {
	Name        string          `json:"name" api:"required"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty" api:"object" doc:"A JSON Schema."`
	Strict      bool            `json:"strict,omitempty"`
}

// ChatFormat is the form that the answer is to have.
type ChatFormat struct {
	Type   string      `json:"type" api:"required,notempty,enum=text|json_object|json_schema"`
	Schema *JSONSchema `json:"json_schema,omitempty" of:"json_schema" api:"required"`
}

// JSONSchema is a schema with a name.
type JSONSchema struct {
	Name        string          `json:"name" api:"required"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty" doc:"A JSON Schema."`
	Strict      bool            `json:"strict,omitempty"`
}

// ChatToolChoice is a function that the model has to call, or the tools that it may
// call.
type ChatToolChoice struct {
	Type     string        `json:"type" api:"required"`
	Function *NamedTool    `json:"function,omitempty" of:"function" api:"required"`
	Custom   *NamedTool    `json:"custom,omitempty" of:"custom" api:"required"`
	Allowed  *AllowedTools `json:"allowed_tools,omitempty" of:"allowed_tools" api:"required"`
}

func (c *ChatToolChoice) check(n *jsonin.Node) {
	if c.Type != "allowed_tools" {
		checkToolType(c.Type, n)
	}
}

// NamedTool names a function.
type NamedTool struct {
	Name string `json:"name" api:"required"`
}

// AllowedTools are the tools that the model may call, of those of its request.
type AllowedTools struct {
	Mode  string        `json:"mode" api:"required,enum=auto|required"`
	Tools []AllowedTool `json:"tools" api:"most=128"`
}

// AllowedTool is one of [AllowedTools].
type AllowedTool struct {
	Type     string     `json:"type" api:"required"`
	Function *NamedTool `json:"function,omitempty" of:"function" api:"required"`
	Custom   *NamedTool `json:"custom,omitempty" of:"custom" api:"required"`
}

func (t *AllowedTool) check(n *jsonin.Node) { checkToolType(t.Type, n) }

// Name returns the name of the tool.
func (t *AllowedTool) Name() string {
	if t.Custom != nil {
		return t.Custom.Name
	}
	return t.Function.Name
}

func (a *AllowedTools) check(n *jsonin.Node) { checkAllowed(a.Mode, n) }

func checkAllowed(mode string, n *jsonin.Node) {
	if mode != "auto" && mode != "required" {
		n.Field("mode").Fail(`must be "auto" or "required"`)
	}
}
