package wire

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// Item is an item of a conversation or a response.
type Item struct {
	ID     string `json:"id,omitempty" api:"required"`
	Type   string `json:"type"`
	Status string `json:"status,omitempty" of:"message function_call custom_tool_call shell_call local_shell_call apply_patch_call function_call_output custom_tool_call_output web_search_call file_search_call mcp_call" api:"enum=in_progress|completed|incomplete|failed"`

	Role    string `json:"role,omitempty" of:"message" api:"required,enum=user|assistant|system"`
	Phase   string `json:"phase,omitempty" of:"message" api:"enum=commentary|final_answer"`
	Content []Part `json:"content,omitzero" of:"message" api:"required"`

	CallID    string          `json:"call_id,omitempty" of:"function_call custom_tool_call shell_call local_shell_call apply_patch_call function_call_output custom_tool_call_output shell_call_output local_shell_call_output apply_patch_call_output" api:"required"`
	Namespace string          `json:"namespace,omitempty" of:"function_call custom_tool_call" doc:"That the tool belongs to; absent where it belongs to none."`
	Name      *string         `json:"name,omitempty" of:"function_call custom_tool_call mcp_call mcp_approval_request" api:"required"`
	Arguments *string         `json:"arguments,omitempty" of:"function_call mcp_call mcp_approval_request" api:"required" doc:"JSON text."`
	Input     *string         `json:"input,omitempty" of:"custom_tool_call" api:"required" doc:"Plain text."`
	Output    *TextOr[[]Part] `json:"output,omitempty" of:"function_call_output custom_tool_call_output shell_call_output local_shell_call_output apply_patch_call_output mcp_call" api:"required,nullable" doc:"Text; parts where files stand among it; null of a call that failed."`

	ServerLabel       *string         `json:"server_label,omitempty" of:"mcp_list_tools mcp_call mcp_approval_request" api:"required"`
	Tools             []MCPListedTool `json:"tools,omitzero" of:"mcp_list_tools" api:"required"`
	Error             json.RawMessage `json:"error,omitempty" of:"mcp_list_tools mcp_call" api:"types=string|object|null" doc:"Why no tools were listed, in words; of a call an object with the type mcp_protocol_error, mcp_tool_execution_error or http_error."`
	ApprovalRequestID **string        `json:"approval_request_id,omitempty" of:"mcp_call mcp_approval_response" api:"required"`
	Approve           *bool           `json:"approve,omitempty" of:"mcp_approval_response" api:"required"`
	Reason            **string        `json:"reason,omitempty" of:"mcp_approval_response" api:"required"`

	Queries []string        `json:"queries,omitzero" of:"file_search_call" api:"required,most=5"`
	Results json.RawMessage `json:"results,omitempty" of:"file_search_call" api:"required,types=array|null" doc:"A list of FoundChunk with include file_search_call.results; null without."`

	Action    *ItemAction     `json:"action,omitempty" of:"web_search_call shell_call local_shell_call" api:"required"`
	Operation json.RawMessage `json:"operation,omitempty" of:"apply_patch_call" api:"required,object" doc:"With type (create_file, update_file or delete_file), path, and diff."`

	Summary          []SummaryPart `json:"summary,omitzero" of:"reasoning" api:"required" doc:"What the model has thought, where the request asks for it and the interface is open; else empty."`
	EncryptedContent *string       `json:"encrypted_content,omitempty" of:"compaction reasoning" doc:"A summary of what was said before, or what the model has thought, which the service alone can read."`
}

// SummaryPart is a piece of what a model has thought.
type SummaryPart struct {
	Type string `json:"type" api:"const=summary_text"`
	Text string `json:"text"`
}

// ItemAction is what a search looked for, or what the caller's own shell is to do.
type ItemAction struct {
	Search *SearchAction
	Own    json.RawMessage // where Search is nil
}

// MarshalJSON implements [json.Marshaler].
func (a ItemAction) MarshalJSON() ([]byte, error) {
	if a.Search != nil {
		return jsonout.Marshal(a.Search)
	}
	return a.Own, nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (a *ItemAction) UnmarshalJSON(data []byte) error {
	var search SearchAction
	if err := json.Unmarshal(data, &search); err == nil && search.Type == "search" {
		a.Search = &search
		return nil
	}
	a.Own = append([]byte(nil), data...)
	return nil
}

// Part is a piece of an item's content.
type Part struct {
	Type        string       `json:"type"`
	Text        *string      `json:"text,omitempty" of:"input_text output_text summary_text" api:"required"`
	Annotations []Annotation `json:"annotations,omitzero" of:"output_text" api:"required" doc:"Which files the text is from, where files were searched."`
	Logprobs    []Logprob    `json:"logprobs,omitzero" of:"output_text" api:"required" doc:"Empty unless include asks for them."`
	FileID      *string      `json:"file_id,omitempty" of:"input_file"`
	Filename    *string      `json:"filename,omitempty" of:"input_file" doc:"Of a file that came with its message, in place of file_id: its text is kept, and its bytes are not."`
	ImageURL    *ImageURL    `json:"image_url,omitempty" of:"input_image" api:"required" doc:"A data URL."`
}

// Annotation says that a place in a text is from a file.
type Annotation struct {
	Type     string `json:"type" api:"const=file_citation"`
	FileID   string `json:"file_id"`
	Filename string `json:"filename"`
	Index    int    `json:"index" doc:"How many characters of the text are before the place."`
}

// FoundChunk is a chunk of a file that a search has found.
type FoundChunk struct {
	FileID     string                `json:"file_id"`
	Filename   string                `json:"filename"`
	Score      float64               `json:"score"`
	Text       string                `json:"text"`
	Attributes VectorStoreAttributes `json:"attributes"`
	Page       *int                  `json:"page,omitempty"`
	Headings   []string              `json:"headings,omitempty"`
}

// SearchAction is what a search looked for and found.
type SearchAction struct {
	Type    string         `json:"type" api:"const=search"`
	Queries []string       `json:"queries" api:"most=5"`
	Query   string         `json:"query" doc:"The first of the queries."`
	Sources []SearchSource `json:"sources,omitzero" api:"most=40" doc:"The pages that were found, with include web_search_call.action.sources."`
}

// SearchSource is a page that a search found.
type SearchSource struct {
	Type string `json:"type" api:"const=url"`
	URL  string `json:"url"`
}
