package convert

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/responses"
)

// fromMCPTool returns the server that a tool of a request names.
func fromMCPTool(w *wire.ResponseTool) responses.MCPTool {
	t := responses.MCPTool{
		Label: w.ServerLabel, URL: w.ServerURL, Description: w.ServerDescription,
		Allowed: fromMCPFilter(w.AllowedTools), Authorization: w.Authorization,
	}
	_ = json.Unmarshal(w.Headers, &t.Headers) // here and below: JSON of the form that was checked
	var approval wire.MCPApproval
	if json.Unmarshal(w.RequireApproval, &t.Approval.Mode) != nil && json.Unmarshal(w.RequireApproval, &approval) == nil {
		t.Approval = responses.MCPApproval{Always: toMCPFilter(approval.Always), Never: toMCPFilter(approval.Never)}
		if d := approval.Decision; d != nil {
			t.Approval.Decision = &responses.MCPDecision{Instructions: string(d.Question.Instructions), Criteria: d.Question.Criteria, Threshold: d.Threshold, Error: d.Error}
		}
	}
	return t
}

// fromMCPFilter reads names of tools, or an object with some.
func fromMCPFilter(data json.RawMessage) *responses.MCPFilter {
	var f wire.MCPFilter
	if data == nil || json.Unmarshal(data, &f.ToolNames) != nil && json.Unmarshal(data, &f) != nil {
		return nil
	}
	return toMCPFilter(&f)
}

func toMCPFilter(w *wire.MCPFilter) *responses.MCPFilter {
	if w == nil {
		return nil
	}
	return &responses.MCPFilter{Names: w.ToolNames, ReadOnly: w.ReadOnly}
}

// toMCPTool returns a server as it is sent, with what it authenticates with.
func toMCPTool(t *responses.MCPTool) wire.ToolFields {
	w := wire.ToolFields{Type: "mcp", ServerLabel: t.Label, ServerURL: t.URL, ServerDescription: t.Description, Authorization: t.Authorization}
	if t.Allowed != nil {
		w.AllowedTools = toJSON(wire.MCPFilter{ToolNames: t.Allowed.Names, ReadOnly: t.Allowed.ReadOnly})
	}
	switch a := &t.Approval; {
	case a.Mode != "":
		w.RequireApproval = toJSON(a.Mode)
	case a.Decision != nil:
		d := a.Decision
		w.RequireApproval = toJSON(wire.MCPApproval{Decision: &wire.MCPDecision{
			Question:  wire.DecisionQuestion{Type: "noul", Instructions: wire.Instructions(d.Instructions), Criteria: d.Criteria},
			Threshold: d.Threshold, Error: d.Error,
		}})
	case a.Always != nil || a.Never != nil:
		var filters wire.MCPApproval
		for _, side := range []struct {
			from *responses.MCPFilter
			to   **wire.MCPFilter
		}{{a.Always, &filters.Always}, {a.Never, &filters.Never}} {
			if side.from != nil {
				*side.to = &wire.MCPFilter{ToolNames: side.from.Names, ReadOnly: side.from.ReadOnly}
			}
		}
		w.RequireApproval = toJSON(filters)
	}
	if t.Headers != nil {
		h := jsonout.Writer{}
		h.Object()
		for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
			h.Name(name).String(t.Headers[name])
		}
		h.EndObject()
		w.Headers = h.Buf
	}
	return w
}

// shownMCPTool is a server as a response shows it: without what it authenticates with.
func shownMCPTool(w *wire.ResponseTool) json.RawMessage {
	shown := struct {
		Type              string          `json:"type"`
		AllowedTools      json.RawMessage `json:"allowed_tools"`
		Headers           *struct{}       `json:"headers"`
		RequireApproval   json.RawMessage `json:"require_approval"`
		ServerDescription *string         `json:"server_description"`
		ServerLabel       string          `json:"server_label"`
		ServerURL         *string         `json:"server_url"`
	}{Type: "mcp", AllowedTools: orNull(w.AllowedTools), RequireApproval: w.RequireApproval,
		ServerDescription: optional(w.ServerDescription), ServerLabel: w.ServerLabel, ServerURL: optional(w.ServerURL)}
	if shown.RequireApproval == nil {
		shown.RequireApproval = toJSON("always")
	}
	return toJSON(shown)
}

func orNull(data json.RawMessage) json.RawMessage {
	if data == nil {
		return json.RawMessage("null")
	}
	return data
}

// fromMCPInput returns an item of a server's tools that a caller sends.
func fromMCPInput(w *wire.InputItem) conversations.Item {
	switch w.Type {
	case "mcp_list_tools":
		return &conversations.MCPListTools{ID: w.ID, Server: w.ServerLabel}
	case "mcp_approval_request":
		return &conversations.MCPApprovalRequest{ID: w.ID, Asked: w.ID, Server: w.ServerLabel, Name: w.Name, Arguments: value(w.Arguments)}
	case "mcp_approval_response":
		return &conversations.MCPApprovalResponse{ID: w.ID, Approval: w.ApprovalRequestID, Approve: isTrue(w.Approve), Reason: w.Reason}
	}
	c := &conversations.MCPCall{ID: w.ID, Status: conversations.Completed, Server: w.ServerLabel, Name: w.Name, Arguments: value(w.Arguments), Approval: w.ApprovalRequestID}
	if w.Output != nil {
		c.Output = value(w.Output.Text)
	}
	if w.Error != nil {
		c.Status, c.Error = conversations.Failed, fromMCPError(w.Error)
		if c.Output == "" {
			c.Output = "The call failed: " + string(w.Error)
		}
	}
	return c
}

// fromMCPError reads the error of a call: an object, or a string, which it was once.
func fromMCPError(data json.RawMessage) *conversations.MCPError {
	e := &conversations.MCPError{}
	if json.Unmarshal(data, e) != nil || e.Type == "" {
		e = &conversations.MCPError{Type: conversations.MCPProtocolError, Message: string(data)}
		_ = json.Unmarshal(data, &e.Message) // where it is a string
	}
	return e
}

// toMCPInput returns an item as it is sent, nil for one of another kind.
func toMCPInput(item conversations.Item) *wire.InputItem {
	switch i := item.(type) {
	case *conversations.MCPListTools:
		return &wire.InputItem{Type: "mcp_list_tools", ID: i.ID, ServerLabel: i.Server}
	case *conversations.MCPApprovalRequest:
		return &wire.InputItem{Type: "mcp_approval_request", ID: i.Asked, ServerLabel: i.Server, Name: i.Name, Arguments: &i.Arguments}
	case *conversations.MCPApprovalResponse:
		return &wire.InputItem{Type: "mcp_approval_response", ID: i.ID, ApprovalRequestID: i.Approval, Approve: &i.Approve, Reason: i.Reason}
	case *conversations.MCPCall:
		w := &wire.InputItem{Type: "mcp_call", ID: i.ID, ServerLabel: i.Server, Name: i.Name, Arguments: &i.Arguments, ApprovalRequestID: i.Approval}
		if i.Output != "" {
			w.Output = &wire.TextOr[[]wire.InputPart]{Text: &i.Output}
		}
		if i.Error != nil {
			w.Error = toMCPError(i.Error)
		}
		return w
	}
	return nil
}

// toMCPItem returns an item as it is answered, nil for one of another kind.
func toMCPItem(item conversations.Item) *wire.Item {
	switch i := item.(type) {
	case *conversations.MCPListTools:
		w := &wire.Item{ID: i.ID, Type: "mcp_list_tools", ServerLabel: &i.Server, Tools: mapped(i.Tools, toListedTool)}
		if w.Tools == nil {
			w.Tools = []wire.MCPListedTool{}
		}
		if i.Error != "" {
			w.Error = toJSON(i.Error)
		}
		return w
	case *conversations.MCPCall:
		output := wire.TextOr[[]wire.Part]{} // null
		if i.Error == nil && i.Status == conversations.Completed {
			output.Text = &i.Output
		}
		approval := optional(i.Approval)
		return &wire.Item{ID: i.ID, Type: "mcp_call", Status: string(i.Status), ServerLabel: &i.Server, Name: &i.Name, Arguments: &i.Arguments,
			Output: &output, Error: toMCPError(i.Error), ApprovalRequestID: &approval}
	case *conversations.MCPApprovalRequest:
		return &wire.Item{ID: i.ID, Type: "mcp_approval_request", ServerLabel: &i.Server, Name: &i.Name, Arguments: &i.Arguments}
	case *conversations.MCPApprovalResponse:
		approval, reason := &i.Approval, optional(i.Reason)
		return &wire.Item{ID: i.ID, Type: "mcp_approval_response", ApprovalRequestID: &approval, Approve: &i.Approve, Reason: &reason}
	}
	return nil
}

func toListedTool(t *conversations.MCPTool) wire.MCPListedTool {
	w := wire.MCPListedTool{Name: t.Name, Description: optional(t.Description), InputSchema: t.InputSchema}
	if w.InputSchema == nil {
		w.InputSchema = json.RawMessage("{}")
	}
	w.Annotations = &wire.MCPAnnotations{ReadOnly: t.ReadOnly}
	return w
}

// toMCPError returns the error of a call with the members of its type: null for none.
func toMCPError(e *conversations.MCPError) json.RawMessage {
	if e == nil {
		return json.RawMessage("null")
	}
	w := jsonout.Writer{}
	w.Object()
	w.Name("type").String(e.Type)
	if e.Type == conversations.MCPExecutionError {
		w.Name("content").Raw(orNull(e.Content))
	} else {
		w.Name("code").Raw(toJSON(e.Code))
		w.Name("message").String(e.Message)
	}
	w.EndObject()
	return w.Buf
}

// fromMCPItem returns an item that was answered, nil for one of another type.
func fromMCPItem(w *wire.Item) conversations.Item {
	switch w.Type {
	case "mcp_list_tools":
		l := &conversations.MCPListTools{ID: w.ID, Server: value(w.ServerLabel)}
		_ = json.Unmarshal(w.Error, &l.Error)
		l.Tools = mapped(w.Tools, func(t *wire.MCPListedTool) conversations.MCPTool {
			return conversations.MCPTool{Name: t.Name, Description: value(t.Description), InputSchema: t.InputSchema, ReadOnly: value(t.Annotations).ReadOnly}
		})
		return l
	case "mcp_call":
		c := &conversations.MCPCall{ID: w.ID, Status: conversations.Status(w.Status), Server: value(w.ServerLabel), Name: value(w.Name),
			Arguments: value(w.Arguments), Approval: value(value(w.ApprovalRequestID))}
		if w.Output != nil {
			c.Output = value(w.Output.Text)
		}
		if given(w.Error) != nil {
			c.Error = fromMCPError(w.Error)
		}
		return c
	case "mcp_approval_request":
		return &conversations.MCPApprovalRequest{ID: w.ID, Asked: w.ID, Server: value(w.ServerLabel), Name: value(w.Name), Arguments: value(w.Arguments)}
	case "mcp_approval_response":
		return &conversations.MCPApprovalResponse{ID: w.ID, Approval: value(value(w.ApprovalRequestID)), Approve: value(w.Approve), Reason: value(value(w.Reason))}
	}
	return nil
}

// withSecrets returns tools that are sent as they are shown, but for servers, which
// are sent with what they authenticate with.
func withSecrets(tools []wire.ResponseTool, servers []responses.MCPTool) []wire.ResponseTool {
	for i := range tools {
		var shown wire.ToolFields
		_ = json.Unmarshal(tools[i].Sent, &shown)
		for k := range servers {
			if shown.Type == "mcp" && shown.ServerLabel == servers[k].Label {
				tools[i] = wire.ResponseTool{ToolFields: toMCPTool(&servers[k])}
			}
		}
	}
	return tools
}
