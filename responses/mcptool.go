package responses

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

const (
	// MaxMCPServers is how many servers the tools of a request may name, MaxMCPTools
	// how many tools of theirs a model is offered.
	MaxMCPServers = 8
	MaxMCPTools   = 128
)

// MCPTool is a tool of the type mcp: a server of the Model Context Protocol, whose
// tools the model may call. What it authenticates with is used while the turn runs
// and neither stored nor shown.
type MCPTool struct {
	Label         string // server_label
	URL           string // server_url; empty: the server that the operator has given this label
	Description   string // of the server, for the model
	Allowed       *MCPFilter
	Approval      MCPApproval
	Authorization string            // an access token
	Headers       map[string]string // that requests to the server have
}

// MCPFilter chooses tools. A nil filter chooses all of them.
type MCPFilter struct {
	Names    []string // nil: whatever they are called
	ReadOnly *bool    // whether the server says of them that they change nothing; nil: either
}

// Matches reports whether the filter chooses a tool.
func (f *MCPFilter) Matches(tool *conversations.MCPTool) bool {
	if f == nil {
		return true
	}
	return (f.Names == nil || slices.Contains(f.Names, tool.Name)) && (f.ReadOnly == nil || *f.ReadOnly == tool.ReadOnly)
}

// MCPApproval says which calls need the caller's approval. The zero value is all.
type MCPApproval struct {
	Mode          string // "always", "never", or empty: as the filters or the decision say
	Always, Never *MCPFilter
	Decision      *MCPDecision // judges each call; no filters beside it
}

// MCPDecision is a question with the answer yes or no about a call, whose server,
// tool and arguments are the state: yes makes the call without the caller's approval.
type MCPDecision struct {
	Instructions string
	Criteria     json.RawMessage // what true and false mean; nil: nothing more

	// Threshold is how probable yes has to be. Where it is 0, Error is how often the
	// answer may be wrong by the question's calibration, without which every call needs
	// approval.
	Threshold, Error float64
}

// Needs reports whether a call of a tool needs approval, a decision aside. One that
// neither filter chooses does; a filter that names nothing chooses nothing here.
func (a *MCPApproval) Needs(tool *conversations.MCPTool) bool {
	if a.Mode != "" {
		return a.Mode != "never"
	}
	if a.Always != nil && (a.Always.Names != nil || a.Always.ReadOnly != nil) && a.Always.Matches(tool) {
		return true
	}
	return a.Never == nil || a.Never.Names == nil && a.Never.ReadOnly == nil || !a.Never.Matches(tool)
}

// MCPChoice names a server in a tool choice, or one of its tools.
type MCPChoice struct {
	Label string
	Name  string // empty: any tool of the server
}

// MCPClient reaches servers of the Model Context Protocol; package
// responses/mcptools has one. Its method may be called concurrently.
type MCPClient interface {
	// Server returns the server that a tool of a request names, for one turn. It does
	// not reach it yet. The error is Invalid for a server that the caller may not use.
	Server(ctx context.Context, caller accounts.Caller, tool *MCPTool) (MCPServer, error)
}

// MCPServer is a server as one turn uses it. Its methods may be called concurrently,
// and return soon after ctx ends.
type MCPServer interface {
	// Source names the server and what the request wants of it, without secrets: a
	// list of its tools holds for every turn with the same source.
	Source() string

	// ListTools returns the tools that the request may use, and until when they need
	// not be listed again, zero for always. The message of a *fault.Error is shown.
	ListTools(ctx context.Context) (tools []conversations.MCPTool, until time.Time, err error)

	// NeedsApproval reports whether the caller has to approve a call.
	NeedsApproval(ctx context.Context, tool *conversations.MCPTool, arguments string) (bool, error)

	// CallTool calls a tool once with a JSON object. The output is what the model
	// reads, also of a call that failed.
	CallTool(ctx context.Context, tool *conversations.MCPTool, arguments string) (output string, failure *conversations.MCPError)

	// Close ends what connects to the server.
	Close()
}

// mcpTurn is what a turn has to do with servers. The zero value is nothing.
type mcpTurn struct {
	servers   []*turnServer
	functions []model.Tool           // that the model is offered beside the servers' tools
	offered   map[string]offeredTool // by the name that the model knows
	approved  []approvedCall         // by the input
}

// turnServer is a server of a turn.
type turnServer struct {
	MCPServer
	tool   *MCPTool
	listed bool
	tools  []conversations.MCPTool
}

// offeredTool is a tool of a server that the model is offered.
type offeredTool struct {
	server *turnServer
	tool   *conversations.MCPTool
}

// errNoMCP is the answer to a tool that names a server where there are none.
func errNoMCP() error {
	return fault.Invalidf("tools", "tools has one of type mcp, but this server reaches no MCP servers: the operator names them with mcp_servers or mcp_hosts in the configuration.")
}

// mcpServers returns the servers that the tools of a request name.
func (s *Service) mcpServers(ctx context.Context, caller accounts.Caller, req *Request) (servers []*turnServer, err error) {
	chosen := slices.Clone(req.AllowedMCP)
	if req.MCPChoice != nil {
		chosen = append(chosen, *req.MCPChoice)
	}
	for _, c := range chosen {
		if !slices.ContainsFunc(req.MCP, func(tool MCPTool) bool { return tool.Label == c.Label }) {
			return nil, fault.Invalidf("tool_choice", "tool_choice names the MCP server %q, which is not among the tools.", c.Label)
		}
	}
	if len(req.MCP) == 0 {
		return nil, nil
	}
	if s.o.MCP == nil {
		return nil, errNoMCP()
	}
	if len(req.MCP) > MaxMCPServers {
		return nil, fault.Invalidf("tools", "tools must have at most %d of type mcp.", MaxMCPServers)
	}
	for i := range req.MCP {
		tool := &req.MCP[i]
		if slices.ContainsFunc(servers, func(other *turnServer) bool { return other.tool.Label == tool.Label }) {
			return nil, fault.Invalidf("tools", "tools has two of type mcp with the server_label %q.", tool.Label)
		}
		server, err := s.o.MCP.Server(ctx, caller, tool)
		if err != nil {
			return nil, err
		}
		servers = append(servers, &turnServer{MCPServer: server, tool: tool})
	}
	return servers, nil
}

// recallTools takes the tools of servers that a list of the history has.
func (t *turn) recallTools() {
	now := t.o.Now().Unix()
	for _, server := range t.mcp.servers {
		source := server.Source()
		recall := func(item conversations.Item) bool {
			list, ok := item.(*conversations.MCPListTools)
			if ok && list.Server == server.tool.Label && list.Source == source && list.Error == "" && (list.Until == 0 || list.Until > now) {
				server.listed, server.tools = true, list.Tools
			}
			return server.listed
		}
		for _, item := range slices.Backward(t.input) {
			if recall(item) {
				break
			}
		}
		for i := len(t.parent.Entries) - 1; i >= 0 && !server.listed; i-- {
			recall(t.parent.Entries[i].Item)
		}
	}
	t.offerTools()
}

// offerTools has the model offered the tools that servers have listed.
func (t *turn) offerTools() {
	if len(t.mcp.servers) == 0 {
		return
	}
	t.mcp.offered = map[string]offeredTool{}
	t.settings.Tools = slices.Clone(t.mcp.functions)
	for _, server := range t.mcp.servers {
		for i := range server.tools {
			tool := &server.tools[i]
			name := Qualified(server.tool.Label, tool.Name)
			if slices.ContainsFunc(t.settings.Tools, func(t model.Tool) bool { return t.Name == name }) {
				continue // names that differ in characters alone which functions cannot have
			}
			t.mcp.offered[name] = offeredTool{server, tool}
			description := tool.Description
			if server.tool.Description != "" {
				description = server.tool.Description + "\n\n" + description
			}
			t.settings.Tools = append(t.settings.Tools, model.Tool{Name: name, Description: description, Parameters: tool.InputSchema})
		}
	}
	t.settings.ToolChoice, t.settings.AllowedTools = t.chooseTools()
}

// chooseTools returns the choice among the tools that are offered.
func (t *turn) chooseTools() (choice model.ToolChoice, allowed []string) {
	choice, allowed = t.req.ToolChoice, t.req.AllowedTools
	ofServer := func(c MCPChoice) []string {
		names := []string{}
		for name, offered := range t.mcp.offered {
			if offered.server.tool.Label == c.Label && (c.Name == "" || c.Name == offered.tool.Name) {
				names = append(names, name)
			}
		}
		return names
	}
	if len(t.req.AllowedMCP) > 0 {
		allowed = slices.Clone(allowed)
		for _, c := range t.req.AllowedMCP {
			allowed = append(allowed, ofServer(c)...)
		}
	}
	if c := t.req.MCPChoice; c != nil {
		choice, allowed = model.ToolChoice{Mode: model.ToolRequired}, ofServer(*c)
	}
	if len(t.settings.Tools) == 0 || allowed != nil && len(allowed) == 0 {
		choice = model.ToolChoice{} // no tool could be listed that the choice is about
	}
	return choice, allowed
}

// toolFailure is the error of a call that was not made.
func toolFailure(format string) *conversations.MCPError {
	return &conversations.MCPError{Type: conversations.MCPProtocolError, Code: -32603, Message: format}
}
