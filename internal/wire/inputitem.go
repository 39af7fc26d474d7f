package wire

import (
	"encoding/json"
	"reflect"

	"github.com/seed-506d8e5d/svc/internal/jsonin"
)

// InputItem is an item of the input of a turn, or a part of the user's message: parts
// that follow each other are one message.
type InputItem struct {
	Type string `json:"type,omitempty" api:"default=message"`
	ID   string `json:"id,omitempty" doc:"Of a reference, and of items that are sent back."`

	Role    string               `json:"role,omitempty" of:"message" api:"required,enum=user|assistant|system|developer"`
	Phase   string               `json:"phase,omitempty" of:"message" api:"enum=commentary|final_answer"`
	Content *TextOr[[]InputPart] `json:"content,omitempty" of:"message" api:"needed" must:"a string or an array of parts"`

	CallID    string               `json:"call_id,omitempty" of:"function_call custom_tool_call function_call_output custom_tool_call_output" api:"required,notempty"`
	Namespace string               `json:"namespace,omitempty" of:"function_call custom_tool_call"`
	Name      string               `json:"name,omitempty" of:"function_call custom_tool_call mcp_call mcp_approval_request" api:"required,notempty"`
	Arguments *string              `json:"arguments,omitempty" of:"function_call mcp_call mcp_approval_request" api:"required"`
	Input     *string              `json:"input,omitempty" of:"custom_tool_call" api:"required"`
	Output    *TextOr[[]InputPart] `json:"output,omitempty" of:"function_call_output custom_tool_call_output mcp_call"`

	ServerLabel       string          `json:"server_label,omitempty" of:"mcp_list_tools mcp_call mcp_approval_request" api:"required"`
	ApprovalRequestID string          `json:"approval_request_id,omitempty" of:"mcp_call mcp_approval_response"`
	Approve           *bool           `json:"approve,omitempty" of:"mcp_approval_response" api:"required"`
	Reason            string          `json:"reason,omitempty" of:"mcp_approval_response" doc:"The model is told."`
	Error             json.RawMessage `json:"error,omitempty" of:"mcp_call mcp_list_tools" api:"types=string|object"`
	Listed            Ignored         `json:"tools,omitzero" of:"mcp_list_tools" harmless:"the list is taken from what the service has stored, or made anew"`

	EncryptedContent *string `json:"encrypted_content,omitempty" of:"compaction compaction_summary reasoning"`

	InputPartFields `of:"input_text input_file input_image"`

	Hosted json.RawMessage `json:"-"` // an item of a tool that others run, as it was sent

	Status  Ignored `json:"status,omitzero" harmless:"what is sent is complete"`
	Summary Ignored `json:"summary,omitzero" harmless:"there are no summaries"`
	Action  Ignored `json:"action,omitzero" harmless:"a search stands for itself by its ID"`
}

func (i *InputItem) readNode(n *jsonin.Node, _ *field) {
	if kind := n.Field("type").Text(); hosted[kind] {
		i.Type, i.Hosted = kind, n.Raw()
		return
	}
	readStruct(n, reflect.ValueOf(i).Elem())
}

// hosted are the types of items that stand for what a service did that has other tools.
// The model reads them as text.
var hosted = map[string]bool{
	"additional_tools": true, "code_interpreter_call": true, "computer_call": true, "computer_call_output": true, "file_search_call": true,
	"image_generation_call": true,
	"program":               true, "program_output": true, "tool_search_call": true, "tool_search_output": true,
	"apply_patch_call": true, "apply_patch_call_output": true, "local_shell_call": true, "local_shell_call_output": true, "shell_call": true, "shell_call_output": true,
}

func (i *InputItem) check(n *jsonin.Node) {
	switch i.Type {
	case "", "message":
		i.checkMessage(n)
	case "item_reference":
		if id := n.Field("id"); id.Absent() {
			id.Fail("is required")
		} else if i.ID == "" {
			id.Fail("must not be empty")
		}
	case "compaction", "compaction_summary":
		if sealed := n.Field("encrypted_content"); sealed.Absent() {
			sealed.Fail("is required")
		}
	case "input_text", "input_file", "input_image":
		i.InputPartFields.checkPart(n, i.Type)
	case "function_call_output", "custom_tool_call_output":
		if i.Output == nil {
			n.Field("output").Fail("is required")
		}
	case "mcp_approval_response":
		if i.ApprovalRequestID == "" {
			n.Field("approval_request_id").Fail("is required")
		}
	case "mcp_approval_request":
		if i.ID == "" {
			n.Field("id").Fail("is required")
		}
	case "mcp_list_tools", "mcp_call", "function_call", "custom_tool_call", "web_search_call", "reasoning":
	default:
		n.Field("type").Fail("is %q, which is not accepted as input", i.Type)
	}
}

func (i *InputItem) checkMessage(n *jsonin.Node) {
	switch i.Role {
	case "user", "assistant", "system", "developer":
	default:
		n.Field("role").Fail("must be user, assistant, system or developer")
	}
	switch i.Phase {
	case "", "commentary", "final_answer":
	default:
		if i.Role == "assistant" {
			n.Field("phase").Fail("must be %q or %q", "commentary", "final_answer")
		}
	}
	if i.Content == nil {
		n.Field("content").Fail("must be a string or an array of parts")
		return
	}
	for k, p := range i.Content.Value {
		if p.Type == "input_file" && i.Role == "assistant" {
			n.Field("content").First(k + 1)[k].Field("type").Fail("is \"input_file\", which is not accepted in messages of the assistant")
		}
	}
}

// isKept reports whether anything comes of the item: reasoning that is not sealed is
// taken and left out.
func (i InputItem) isKept() bool {
	return i.Type != "reasoning" || i.EncryptedContent != nil && *i.EncryptedContent != ""
}

// IsPart reports whether the item is a part of a message.
func (i *InputItem) IsPart() bool {
	return i.Type == "input_text" || i.Type == "input_file" || i.Type == "input_image"
}

// Part returns the part that an item is.
func (i *InputItem) Part() InputPart { return InputPart{i.Type, i.InputPartFields} }

// InputPart is a piece of a message's content, or of an output.
type InputPart struct {
	Type string `json:"type" api:"required"`
	InputPartFields
}

// InputPartFields are the fields of an [InputPart].
type InputPartFields struct {
	Text    *string `json:"text,omitempty"`
	Refusal *string `json:"refusal,omitempty"`
	FileID  string  `json:"file_id,omitempty"`

	FileData *DataURL `json:"file_data,omitempty" api:"open" harmless:"the open interface alone reads it; the strict one refuses it in a file"`
	Filename string   `json:"filename,omitempty" api:"open" harmless:"a file that was uploaded has a name"`

	ImageURL *ImageURL `json:"image_url,omitempty" doc:"A data URL, which the open interface reads; the strict one leaves images out."`

	FileURL     Ignored `json:"file_url,omitzero" harmless:"it is refused in a file, and nothing elsewhere"`
	Detail      Ignored `json:"detail,omitzero" harmless:"images are read as they are, or not at all"`
	Annotations Ignored `json:"annotations,omitzero" harmless:"the text says the same"`
	Logprobs    Ignored `json:"logprobs,omitzero" harmless:"models do not read them"`
}

func (p *InputPart) check(n *jsonin.Node) { p.checkPart(n, p.Type) }

func (p *InputPartFields) checkPart(n *jsonin.Node, kind string) {
	missing := ""
	switch kind {
	case "input_text", "output_text", "text":
		if p.Text == nil {
			missing = "text"
		}
	case "refusal":
		if p.Refusal == nil {
			missing = "refusal"
		}
	case "input_file":
		missing = p.checkFile(n)
	case "input_image":
		if n.Open() && (p.ImageURL == nil || p.ImageURL.Data == nil) {
			missing = "image_url"
		}
	default:
		n.Field("type").Fail("is %q, which is not accepted as content", kind)
	}
	if missing != "" {
		n.Field(missing).Fail("is required")
	}
}

// checkFile returns which field of a file is missing, if any.
func (p *InputPartFields) checkFile(n *jsonin.Node) (missing string) {
	refused := []string{"file_data", "file_url"}
	if n.Open() {
		refused = refused[1:]
	}
	for _, inline := range refused {
		if f := n.Field(inline); !f.Absent() {
			f.Fail("is not accepted: upload the file and send its file_id")
		}
	}
	switch {
	case p.FileID != "" && p.FileData != nil:
		n.Field("file_data").Fail("may not be sent with file_id")
	case p.FileID == "" && p.FileData == nil:
		return "file_id"
	}
	return ""
}

// ConversationRequest is the body of POST /v1/conversations.
type ConversationRequest struct {
	Metadata Tags        `json:"metadata,omitempty"`
	Items    []InputItem `json:"items,omitempty" api:"most=20"`
}

// ItemsRequest is the body of POST /v1/conversations/{conversation_id}/items.
type ItemsRequest struct {
	Items   []InputItem `json:"items" api:"needed,least=1,most=20"`
	Include Ignored     `json:"include,omitzero" harmless:"items have nothing to add"`
}

// UserConversationRequest is a [ConversationRequest] where callers may add the
// user's messages alone.
type UserConversationRequest struct {
	Metadata Tags          `json:"metadata,omitempty"`
	Items    []UserMessage `json:"items,omitempty" api:"most=20"`
}

// UserItemsRequest is an [ItemsRequest] where callers may add the user's messages
// alone.
type UserItemsRequest struct {
	Items   []UserMessage `json:"items" api:"needed,least=1,most=20"`
	Include Ignored       `json:"include,omitzero" harmless:"items have nothing to add"`
}

// UserMessage is an [InputItem] that is a message of the user's with text.
type UserMessage InputItem

// InputItems returns messages as items.
func InputItems(messages []UserMessage) []InputItem {
	items := make([]InputItem, len(messages))
	for i, m := range messages {
		items[i] = InputItem(m)
	}
	return items
}

// fromTurns says how other items than the user's messages come into a
// conversation.
const fromTurns = "others are written by responses with this conversation, or are taken where the server is configured with conversation_items any"

func (m *UserMessage) readNode(n *jsonin.Node, _ *field) {
	if t := n.Field("type"); !t.Absent() && t.Text() != "message" {
		t.Fail(`must be "message"; ` + fromTurns)
	}
	if role := n.Field("role"); role.Text() != "user" {
		role.Fail(`must be "user"; ` + fromTurns)
	}
	content := n.Field("content")
	if !content.IsText() && !content.IsArray() {
		content.Fail("must be a string or an array of text parts")
	}
	if content.IsArray() {
		for _, p := range content.Items(defaultMost) {
			if kind := p.Field("type"); kind.Text() != "input_text" {
				kind.Fail(`must be "input_text": only text is accepted here`)
			}
		}
	}
	readStruct(n, reflect.ValueOf((*InputItem)(m)).Elem())
}
