package wire

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// ToolKind is what becomes of a tool of the Responses interface by its type.
type ToolKind int

// The kinds of tools.
const (
	UnknownTool    ToolKind = iota // an error: nobody knows it
	FunctionTool                   // offered as it is
	CustomTool                     // offered as a function with one string
	OwnTool                        // the caller's, with a form of its own: offered as a function
	NamespaceTool                  // its functions are offered under qualified names
	SearchTool                     // run here
	FileSearchTool                 // likewise
	MCPTool                        // a server, whose tools are run here
	OmittedTool                    // run nowhere: the model may do without it
	RefusedTool                    // an error: the answer would be another one without it
)

// KindOfTool is the one table of the types.
func KindOfTool(kind string) ToolKind {
	switch kind {
	case "function":
		return FunctionTool
	case "custom":
		return CustomTool
	case "namespace":
		return NamespaceTool
	case "local_shell", "shell", "apply_patch":
		return OwnTool
	case "image_generation", "tool_search", "programmatic_tool_calling":
		return OmittedTool
	case "file_search":
		return FileSearchTool
	case "code_interpreter":
		return RefusedTool
	case "mcp":
		return MCPTool
	case "web_search", "web_search_preview", "web_search_2025_08_26", "web_search_preview_2025_03_11":
		return SearchTool
	}
	if strings.HasPrefix(kind, "computer") { // computer, computer_use_preview and what else it was called
		return OmittedTool
	}
	return UnknownTool
}

// ResponseTool is a tool of a request: a function, a custom tool, a namespace of
// both, or a tool of the service's.
type ResponseTool struct {
	ToolFields

	Sent json.RawMessage `json:"-"` // the tool as it was sent
	Bare bool            `json:"-"` // it has a type and nothing else
	Away bool            `json:"-"` // a shell in a container of the service, which there is not
}

// ToolFields are the fields of a [ResponseTool].
type ToolFields struct {
	Type        string          `json:"type" api:"required"`
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty" api:"object" doc:"A JSON Schema."`
	Strict      bool            `json:"strict,omitempty"`
	Format      *CustomFormat   `json:"format,omitempty" doc:"Of a custom tool: what its input looks like."`
	Tools       []ResponseTool  `json:"tools,omitempty" api:"most=1024" doc:"Of a namespace: its functions and custom tools. All tools of a request together offer at most 1,024 functions."`

	ServerLabel       string          `json:"server_label,omitempty" of:"mcp" api:"required" doc:"Names the server in items."`
	ServerURL         string          `json:"server_url,omitempty" of:"mcp" doc:"Left out for a server that the operator has named by this label."`
	ServerDescription string          `json:"server_description,omitempty" of:"mcp" doc:"For the model."`
	AllowedTools      json.RawMessage `json:"allowed_tools,omitempty" of:"mcp" api:"types=array|object" doc:"Names of tools, or an object with tool_names and read_only; all if absent."`
	RequireApproval   json.RawMessage `json:"require_approval,omitempty" of:"mcp" api:"types=string|object" doc:"always, never, or an object with filters always and never, or with a decision that judges each call: its question, of the type noul, is answered with yes where the call needs no approval, with a threshold or by the error of its calibration; always if absent."`
	Authorization     string          `json:"authorization,omitempty" of:"mcp" doc:"An access token for the server. It is not stored and not shown."`
	Headers           json.RawMessage `json:"headers,omitempty" of:"mcp" api:"object" doc:"Headers of requests to the server. They are not stored and not shown."`

	ConnectorID    Ignored         `json:"connector_id,omitzero" of:"mcp" refused:"is not supported: name the server with server_url or by the label that the operator has given it"`
	TunnelID       Ignored         `json:"tunnel_id,omitzero" of:"mcp" refused:"is not supported: name the server with server_url or by the label that the operator has given it"`
	AllowedCallers Ignored         `json:"allowed_callers,omitzero" of:"mcp" harmless:"the model alone calls tools"`
	VectorStoreIDs []string        `json:"vector_store_ids,omitempty" of:"file_search" api:"required,first=11" doc:"Up to 10 stores that are searched."`
	Filters        json.RawMessage `json:"filters,omitempty" of:"file_search" api:"object" doc:"As in a search of a store."`
	MaxNumResults  *int            `json:"max_num_results,omitempty" of:"file_search" api:"min=1,max=50,default=20"`
	RankingOptions *SearchRanking  `json:"ranking_options,omitempty" of:"file_search"`

	UserLocation Ignored `json:"user_location,omitzero" harmless:"the search service knows no places"`
	ContextSize  Ignored `json:"search_context_size,omitzero" harmless:"a search brings what the model reads of it"`
	DeferLoading Ignored `json:"defer_loading,omitzero" harmless:"every tool is offered at once"`
}

// CustomFormat is the form of a custom tool's input.
type CustomFormat struct {
	Type       string `json:"type,omitempty" api:"enum=text|grammar,default=text"`
	Syntax     string `json:"syntax,omitempty" of:"grammar" api:"required"`
	Definition string `json:"definition,omitempty" of:"grammar" api:"required"`
}

func (f *CustomFormat) check(n *jsonin.Node) {
	switch f.Type {
	case "", "text", "grammar":
	default:
		n.Field("type").Fail(`must be "text" or "grammar"`)
	}
}

func (t *ResponseTool) readNode(n *jsonin.Node, _ *field) {
	kind := n.Field("type")
	t.Sent = n.Raw()
	switch what := KindOfTool(kind.Text()); what {
	case OmittedTool:
		t.Type = kind.Text()
	case OwnTool:
		t.Type = kind.Text()
		environment := n.Field("environment")
		t.Away = environment.IsObject() && environment.Field("type").Text() != "local"
	case UnknownTool, RefusedTool:
		refuseTool(kind, what)
	default:
		readStruct(n, reflect.ValueOf(&t.ToolFields).Elem())
		t.check(n, what)
	}
}

// refuseTool records the error for the type of a tool.
func refuseTool(n *jsonin.Node, what ToolKind) {
	switch {
	case n.Absent():
		n.Fail("is required")
	case what == RefusedTool:
		n.Fail("is %q, which this service does not run: offer functions of your own instead", n.Text())
	}
	n.Fail(`must be "function", "custom", "namespace", "mcp" or "web_search_preview"`)
}

func (t *ResponseTool) check(n *jsonin.Node, kind ToolKind) {
	if kind == SearchTool {
		fields := 0
		for range n.Fields() {
			fields++
		}
		t.Bare = fields == 1
		return
	}
	if kind == MCPTool {
		t.checkMCP(n)
		return
	}
	if kind == FileSearchTool {
		return
	}
	if name := n.Field("name"); name.Absent() {
		name.Fail("is required")
	} else if kind == NamespaceTool && t.Name == "" {
		name.Fail("must not be empty")
	}
	for i := range t.Tools {
		if inner := KindOfTool(t.Tools[i].Type); kind == NamespaceTool && inner != FunctionTool && inner != CustomTool {
			n.Field("tools").First(i + 1)[i].Field("type").Fail(`must be "function" or "custom"`)
		}
	}
}

// MarshalJSON implements [json.Marshaler]: a tool that was sent is as it was.
func (t ResponseTool) MarshalJSON() ([]byte, error) {
	if t.Sent != nil {
		return t.Sent, nil
	}
	return jsonout.Marshal(t.ToolFields)
}

// ResponseToolChoice is a tool that the model has to call, or the tools that it may
// call.
type ResponseToolChoice struct {
	Type        string          `json:"type" api:"required"`
	Name        string          `json:"name,omitempty"`
	Namespace   string          `json:"namespace,omitempty"`
	ServerLabel string          `json:"server_label,omitempty" of:"mcp" api:"required"`
	Mode        string          `json:"mode,omitempty" of:"allowed_tools" api:"required,enum=auto|required"`
	Tools       []ChosenTool    `json:"tools,omitempty" of:"allowed_tools" api:"most=128"`
	Sent        json.RawMessage `json:"-"` // the choice as it was sent
}

// MarshalJSON implements [json.Marshaler]: a choice that was sent is as it was.
func (c ResponseToolChoice) MarshalJSON() ([]byte, error) {
	if c.Sent != nil {
		return c.Sent, nil
	}
	type fields ResponseToolChoice
	return jsonout.Marshal(fields(c))
}

// ChosenTool is one of the tools that the model may call.
type ChosenTool struct {
	Type        string `json:"type" api:"required"`
	Name        string `json:"name,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	ServerLabel string `json:"server_label,omitempty" of:"mcp" api:"required"`
}

func (c *ResponseToolChoice) check(n *jsonin.Node) {
	c.Sent = n.Raw()
	if c.Type != "allowed_tools" {
		checkChosen(n)
		return
	}
	checkAllowed(c.Mode, n)
	for _, t := range n.Field("tools").Items(defaultMost) {
		if KindOfTool(t.Field("type").Text()) != OmittedTool {
			checkChosen(t)
		}
	}
}

// checkChosen refuses a choice of what cannot be called.
func checkChosen(n *jsonin.Node) {
	kind, name := n.Field("type"), n.Field("name")
	switch what := KindOfTool(kind.Text()); what {
	case FunctionTool, CustomTool:
		if name.Absent() {
			name.Fail("is required")
		}
	case SearchTool, FileSearchTool, MCPTool, OwnTool:
	case OmittedTool:
		kind.Fail("is %q, which this service does not run: it cannot be demanded", kind.Text())
	default:
		refuseTool(kind, what)
	}
}
