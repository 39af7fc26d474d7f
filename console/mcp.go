package console

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/responses"
)

// MCPServer is a server of the Model Context Protocol that the operator has named, and
// how it does.
type MCPServer struct {
	Name, URL string
	Used      bool   // since the start
	Failure   string // of the last time that it was used; empty where that went well
}

// viewMCP fills in the view of an item of a server's tools.
func viewMCP(view *itemView, item conversations.Item) {
	switch item := item.(type) {
	case *conversations.MCPListTools:
		view.Kind, view.Name, view.Text = "tools", item.Server, item.Error
		for _, tool := range item.Tools {
			view.Text += tool.Name + ": " + tool.Description + "\n"
		}
	case *conversations.MCPCall:
		view.Kind, view.Name, view.Text = "called", item.Server+" · "+item.Name, item.Arguments+"\n\n"+item.Output
		view.Failed = item.Status == conversations.Failed
	case *conversations.MCPApprovalRequest:
		view.Kind, view.Name, view.Text = "asks", item.Server+" · "+item.Name, item.Arguments
	case *conversations.MCPApprovalResponse:
		view.Kind, view.Text = "denial", item.Reason
		if item.Approve {
			view.Kind = "approval"
		}
	}
}

// mcpChoice is a server that a turn may use.
type mcpChoice struct {
	Label  string
	Chosen bool
}

// offersMCP fills in the servers that the caller may use.
func (c *Console) offersMCP(v *request, form *respondForm) {
	if c.opts.MCPNamed == nil {
		return
	}
	for _, label := range c.opts.MCPNamed(v.caller.Organization) {
		form.MCP = append(form.MCP, mcpChoice{label, slices.Contains(form.mcpLabels, label)})
	}
}

// readMCPForm adds the servers that were chosen to a request, and what was said to
// requests for approval. Calls of tools that change something need approval.
func readMCPForm(f map[string][]string, req *responses.Request) {
	only := true
	for _, label := range f["mcp"] {
		req.MCP = append(req.MCP, responses.MCPTool{Label: label, Approval: responses.MCPApproval{Never: &responses.MCPFilter{ReadOnly: &only}}})
	}
	for i, id := range f["approval_id"] {
		decided := f["approve_"+id]
		if len(decided) == 0 {
			continue // it goes on waiting
		}
		response := &conversations.MCPApprovalResponse{Approval: id, Approve: decided[0] == "yes"}
		if reasons := f["approval_reason"]; i < len(reasons) {
			response.Reason = strings.TrimSpace(reasons[i])
		}
		req.Input = append(req.Input, response)
	}
}

// shownMCP is how the response shows the tools, nil where it knows by itself: without
// servers.
func shownMCP(req *responses.Request) json.RawMessage {
	if len(req.MCP) == 0 {
		return nil
	}
	all := []any{}
	for i := range req.Tools {
		if req.Tools[i].Search {
			all = append(all, map[string]string{"type": responses.WebSearchPreview})
			continue
		}
		all = append(all, wireOf(req.Tools[i]))
	}
	for i := range req.MCP {
		all = append(all, map[string]any{"type": "mcp", "server_label": req.MCP[i].Label, "require_approval": map[string]any{"never": map[string]any{"read_only": true}}})
	}
	return marshal(all)
}

// likeShown sets the form up with the tools of a turn that says how they are shown.
func (f *respondForm) likeShown(shown json.RawMessage) {
	var all []json.RawMessage
	_ = json.Unmarshal(shown, &all) // a list, as it was taken
	var functions []json.RawMessage
	for _, data := range all {
		var tool struct {
			Type  string `json:"type"`
			Label string `json:"server_label"`
		}
		_ = json.Unmarshal(data, &tool)
		switch {
		case tool.Type == "mcp":
			f.mcpLabels = append(f.mcpLabels, tool.Label)
		case strings.HasPrefix(tool.Type, "web_search"):
			f.Search = true
		case tool.Type == "function":
			functions = append(functions, data)
		}
	}
	if functions != nil {
		f.Tools = string(marshal(functions))
	}
}
