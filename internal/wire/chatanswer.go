package wire

// ChatCompletion is the answer to a [ChatRequest].
type ChatCompletion struct {
	ID       string       `json:"id"`
	Object   string       `json:"object" api:"const=chat.completion"`
	Created  int64        `json:"created"`
	Model    string       `json:"model"`
	Choices  []ChatChoice `json:"choices" api:"least=1,most=8"`
	Usage    ChatUsage    `json:"usage"`
	Metadata Tags         `json:"metadata"`
}

// ChatChoice is an answer: one, unless the request wants several.
type ChatChoice struct {
	Index        int           `json:"index"`
	Message      ChatAnswer    `json:"message"`
	Logprobs     *ChatLogprobs `json:"logprobs"` // null unless they were asked for
	FinishReason string        `json:"finish_reason" api:"enum=stop|length|tool_calls|function_call|content_filter"`
}

// ChatAnswer is the message of a choice.
type ChatAnswer struct {
	Role             string        `json:"role" api:"const=assistant"`
	Content          *string       `json:"content"`
	ReasoningContent string        `json:"reasoning_content,omitempty" doc:"What the model has thought, by the open interface."`
	Refusal          *string       `json:"refusal" doc:"A sentence where a policy blocked the answer."`
	ToolCalls        []ToolCall    `json:"tool_calls,omitempty"`
	FunctionCall     *CallFunction `json:"function_call,omitempty" doc:"Of a request with functions."`
}

// ChatLogprobs are the log-probabilities of a choice.
type ChatLogprobs struct {
	Content []Logprob `json:"content"`
	Refusal *struct{} `json:"refusal"`
}

// Logprob is a token and the logarithm of its probability, with the likeliest at
// its place.
type Logprob struct {
	Token   string       `json:"token"`
	Bytes   []int        `json:"bytes,omitzero"`
	Logprob float64      `json:"logprob"`
	Top     []TopLogprob `json:"top_logprobs"`
}

// TopLogprob is one of the likeliest tokens at a place.
type TopLogprob struct {
	Token   string  `json:"token"`
	Bytes   []int   `json:"bytes,omitzero"`
	Logprob float64 `json:"logprob"`
}

// ChatUsage is what an answer of Chat Completions or Completions cost.
type ChatUsage struct {
	PromptTokens      int               `json:"prompt_tokens"`
	CompletionTokens  int               `json:"completion_tokens"`
	TotalTokens       int               `json:"total_tokens"`
	PromptDetails     PromptDetails     `json:"prompt_tokens_details"`
	CompletionDetails CompletionDetails `json:"completion_tokens_details"`
}

// PromptDetails are the details of a prompt.
type PromptDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

// CompletionDetails are the details of what was generated.
type CompletionDetails struct {
	ReasoningTokens int `json:"reasoning_tokens"`
}

// ChatChunk is an event of a stream of Chat Completions.
type ChatChunk struct {
	ID      string        `json:"id"`
	Object  string        `json:"object" api:"const=chat.completion.chunk"`
	Created int64         `json:"created"`
	Model   string        `json:"model"`
	Choices []ChunkChoice `json:"choices" api:"most=1" doc:"Empty in the chunk with the usage."`
	Usage   *ChatUsage    `json:"usage,omitempty" api:"nullable" doc:"With stream_options.include_usage: null but in the last chunk."`
}

// TextCompletion is the answer to a [CompletionRequest], and an event of its stream.
type TextCompletion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object" api:"const=text_completion"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []TextChoice `json:"choices" api:"most=1" doc:"Empty in the event with the usage."`
	Usage   *ChatUsage   `json:"usage,omitempty" api:"nullable" doc:"In a stream only with stream_options.include_usage, and null but in its last event."`
}

// TextChoice is the text of a [TextCompletion].
type TextChoice struct {
	Text         string    `json:"text"`
	Index        int       `json:"index"`
	Logprobs     *struct{} `json:"logprobs"`
	FinishReason *string   `json:"finish_reason" api:"enum=stop|length|content_filter"`
}

// ChunkChoice is the choice of a chunk.
type ChunkChoice struct {
	Index        int           `json:"index"`
	Delta        ChatDelta     `json:"delta"`
	Logprobs     *ChatLogprobs `json:"logprobs,omitempty"`
	FinishReason *string       `json:"finish_reason" api:"enum=stop|length|tool_calls|function_call|content_filter"`
}

// ChatDelta is the next piece of an answer.
type ChatDelta struct {
	Role             string         `json:"role,omitempty" api:"const=assistant"`
	Content          **string       `json:"content,omitempty" api:"nullable" doc:"null in the first chunk of a call."`
	ReasoningContent string         `json:"reasoning_content,omitempty" doc:"What the model has thought, by the open interface."`
	Refusal          string         `json:"refusal,omitempty" doc:"A sentence where a policy blocked the answer."`
	ToolCalls        []CallDelta    `json:"tool_calls,omitempty"`
	FunctionCall     *FunctionDelta `json:"function_call,omitempty" doc:"Of a request with functions."`
}

// CallDelta is the next piece of a call. The first one of each call has its ID,
// type and name.
type CallDelta struct {
	Index    int            `json:"index"`
	ID       string         `json:"id,omitempty"`
	Type     string         `json:"type,omitempty" api:"enum=function|custom"`
	Function *FunctionDelta `json:"function,omitempty"`
	Custom   *CustomDelta   `json:"custom,omitempty"`
}

// CustomDelta is what a [CallDelta] adds to the call of a custom tool.
type CustomDelta struct {
	Name  string `json:"name,omitempty"`
	Input string `json:"input"`
}

// FunctionDelta is what a [CallDelta] adds.
type FunctionDelta struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// StoredMessage is a message of a stored completion's request. Content is the text
// of a message with one text part; other content is in ContentParts.
type StoredMessage struct {
	ID           string     `json:"id"`
	Role         string     `json:"role" api:"enum=system|developer|user|assistant|tool"`
	Content      *string    `json:"content"`
	ContentParts []ChatPart `json:"content_parts" api:"nullable"` // null where Content tells all
	Refusal      *struct{}  `json:"refusal"`
	ToolCalls    []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID   string     `json:"tool_call_id,omitempty"`
}
