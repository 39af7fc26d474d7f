package wire

import "encoding/json"

// Response is a turn: what was asked for and what came of it.
type Response struct {
	ID                 string             `json:"id"`
	Object             string             `json:"object" api:"const=response"`
	CreatedAt          int64              `json:"created_at" doc:"When it was asked for, Unix seconds."`
	CompletedAt        *int64             `json:"completed_at" doc:"When it ended, Unix seconds."`
	Status             string             `json:"status" api:"enum=in_progress|completed|incomplete|failed|cancelled"`
	Background         bool               `json:"background"`
	Conversation       ConversationRef    `json:"conversation"`
	Error              *ResponseError     `json:"error"`
	IncompleteDetails  *IncompleteDetails `json:"incomplete_details"`
	Instructions       *string            `json:"instructions"`
	MaxOutputTokens    *int               `json:"max_output_tokens"`
	MaxToolCalls       *int               `json:"max_tool_calls"`
	Metadata           Tags               `json:"metadata"`
	Model              string             `json:"model"`
	Output             []Item             `json:"output"`
	ParallelToolCalls  bool               `json:"parallel_tool_calls"`
	PresencePenalty    float64            `json:"presence_penalty"`
	FrequencyPenalty   float64            `json:"frequency_penalty"`
	PreviousResponseID *string            `json:"previous_response_id"`
	PromptCacheKey     *string            `json:"prompt_cache_key"`
	Reasoning          *ShownReasoning    `json:"reasoning"`
	SafetyIdentifier   *string            `json:"safety_identifier"`
	ServiceTier        string             `json:"service_tier" api:"const=default"`
	Store              bool               `json:"store"`
	Temperature        float64            `json:"temperature"`
	Text               ShownText          `json:"text"`
	ToolChoice         json.RawMessage    `json:"tool_choice" api:"types=string|object" doc:"As in the request; auto where it has none."`
	Tools              []json.RawMessage  `json:"tools" api:"types=object" doc:"Functions with all of their fields, other tools as they were sent."`
	TopLogprobs        int                `json:"top_logprobs"`
	TopP               float64            `json:"top_p"`
	Truncation         string             `json:"truncation" api:"enum=auto|disabled"`
	TruncatedItems     int                `json:"truncated_items,omitempty" doc:"How many of the oldest items were left out of the prompt for its length; absent where none was."`
	Usage              *ResponseUsage     `json:"usage"`
}

// ResponseError says why a turn failed.
type ResponseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// IncompleteDetails say why a completed turn is cut short.
type IncompleteDetails struct {
	Reason string `json:"reason" api:"enum=max_output_tokens|content_filter"`
}

// ShownReasoning is how much the model was asked to think.
type ShownReasoning struct {
	Effort  string  `json:"effort"`
	Summary *string `json:"summary"`
}

// ShownText is what the text was asked to be like.
type ShownText struct {
	Format ShownFormat `json:"format"`
}

// ShownFormat is the form of the text.
type ShownFormat struct {
	Type        string          `json:"type" api:"enum=text|json_object|json_schema"`
	Name        *string         `json:"name,omitempty" of:"json_schema" api:"required"`
	Description **string        `json:"description,omitempty" of:"json_schema" api:"required"`
	Strict      *bool           `json:"strict,omitempty" of:"json_schema" api:"required"`
	Schema      json.RawMessage `json:"schema,omitempty" of:"json_schema" api:"required,object"`
}

// ShownFunction is a function among the tools of a [Response].
type ShownFunction struct {
	Type        string          `json:"type" api:"const=function"`
	Name        string          `json:"name"`
	Description *string         `json:"description"`
	Parameters  json.RawMessage `json:"parameters" api:"object,nullable"`
	Strict      bool            `json:"strict"`
}

// ResponseUsage is what a turn cost.
type ResponseUsage struct {
	InputTokens   int          `json:"input_tokens"`
	InputDetails  InputDetails `json:"input_tokens_details"`
	OutputTokens  int          `json:"output_tokens"`
	OutputDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	TotalTokens int `json:"total_tokens"`
}

// InputDetails are the details of a prompt.
type InputDetails struct {
	CachedTokens     int `json:"cached_tokens"`
	CacheWriteTokens int `json:"cache_write_tokens"`
}

// Compacted is the answer to a [CompactionRequest].
type Compacted struct {
	ID        string        `json:"id"`
	Object    string        `json:"object" api:"const=response.compaction"`
	CreatedAt int64         `json:"created_at"`
	Output    []Item        `json:"output" doc:"The user's last messages, then one item of type compaction: to be sent in the place of the history."`
	Usage     ResponseUsage `json:"usage"`
}

// InputTokens is the answer of POST /v1/responses/input_tokens.
type InputTokens struct {
	Object      string `json:"object" api:"const=response.input_tokens"`
	InputTokens int    `json:"input_tokens"`
}

// ResponseEvent is an event of a response's stream: the data of one server-sent event,
// whose name is its type. Which fields it has depends on its type. A stream begins with
// response.created and response.in_progress. Items and their parts are added, and done
// when they are whole; deltas between are the next pieces of a text, of a call's
// arguments or of a custom tool's input. A stream ends with response.completed, with
// response.incomplete where a policy blocked the output, or with error and
// response.failed, also where the response was cancelled, which its status says; the comment ": keepalive" is sent in silence.
type ResponseEvent struct {
	Type           string `json:"type"`
	SequenceNumber int    `json:"sequence_number" doc:"Counts the events of a stream from 0."`

	ItemID       string `json:"item_id,omitempty" of:"response.output_text.annotation.added response.file_search_call.in_progress response.file_search_call.searching response.file_search_call.completed response.content_part.added response.content_part.done response.output_text.delta response.output_text.done response.function_call_arguments.delta response.function_call_arguments.done response.custom_tool_call_input.delta response.custom_tool_call_input.done response.web_search_call.in_progress response.web_search_call.searching response.web_search_call.completed response.mcp_list_tools.in_progress response.mcp_list_tools.completed response.mcp_list_tools.failed response.mcp_call.in_progress response.mcp_call.completed response.mcp_call.failed response.mcp_call_arguments.delta response.mcp_call_arguments.done response.reasoning_summary_part.added response.reasoning_summary_part.done response.reasoning_summary_text.delta response.reasoning_summary_text.done" api:"required"`
	OutputIndex  *int   `json:"output_index,omitempty" of:"response.output_text.annotation.added response.file_search_call.in_progress response.file_search_call.searching response.file_search_call.completed response.output_item.added response.output_item.done response.content_part.added response.content_part.done response.output_text.delta response.output_text.done response.function_call_arguments.delta response.function_call_arguments.done response.custom_tool_call_input.delta response.custom_tool_call_input.done response.web_search_call.in_progress response.web_search_call.searching response.web_search_call.completed response.mcp_list_tools.in_progress response.mcp_list_tools.completed response.mcp_list_tools.failed response.mcp_call.in_progress response.mcp_call.completed response.mcp_call.failed response.mcp_call_arguments.delta response.mcp_call_arguments.done response.reasoning_summary_part.added response.reasoning_summary_part.done response.reasoning_summary_text.delta response.reasoning_summary_text.done" api:"required"`
	ContentIndex *int   `json:"content_index,omitempty" of:"response.output_text.annotation.added response.content_part.added response.content_part.done response.output_text.delta response.output_text.done" api:"required"`

	SummaryIndex    *int        `json:"summary_index,omitempty" of:"response.reasoning_summary_part.added response.reasoning_summary_part.done response.reasoning_summary_text.delta response.reasoning_summary_text.done" api:"required" doc:"Always 0."`
	Annotation      *Annotation `json:"annotation,omitempty" of:"response.output_text.annotation.added" api:"required"`
	AnnotationIndex *int        `json:"annotation_index,omitempty" of:"response.output_text.annotation.added" api:"required" doc:"The place of the annotation among those of the part."`

	Delta        *string   `json:"delta,omitempty" of:"response.output_text.delta response.function_call_arguments.delta response.custom_tool_call_input.delta response.mcp_call_arguments.delta response.reasoning_summary_text.delta" api:"required"`
	Text         *string   `json:"text,omitempty" of:"response.output_text.done response.reasoning_summary_text.done" api:"required"`
	Logprobs     []Logprob `json:"logprobs,omitzero" of:"response.output_text.delta response.output_text.done" api:"required" doc:"Empty unless include asks for them."`
	Part         *Part     `json:"part,omitempty" of:"response.content_part.added response.content_part.done response.reasoning_summary_part.added response.reasoning_summary_part.done" api:"required"`
	Input        *string   `json:"input,omitempty" of:"response.custom_tool_call_input.done" api:"required"`
	Name         *string   `json:"name,omitempty" of:"response.function_call_arguments.done" api:"required"`
	Arguments    *string   `json:"arguments,omitempty" of:"response.function_call_arguments.done response.mcp_call_arguments.done" api:"required"`
	Item         *Item     `json:"item,omitempty" of:"response.output_item.added response.output_item.done" api:"required"`
	SearchStatus string    `json:"status,omitempty" of:"response.web_search_call.in_progress response.web_search_call.searching response.web_search_call.completed" api:"required,enum=in_progress|searching|completed"`
	Response     *Response `json:"response,omitempty" of:"response.created response.in_progress response.completed response.incomplete response.failed" api:"required"`
	*EventError  `of:"error"`
}

// EventError is an error in an event: as fields of the event, which some clients
// read, and as an object, which others do.
type EventError struct {
	Code    string      `json:"code"`
	Message string      `json:"message"`
	Param   *string     `json:"param"`
	Error   ErrorObject `json:"error"`
}
