package conversations

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// MCPListTools are the tools that a server of the Model Context Protocol has listed.
type MCPListTools struct {
	ID     string
	Server string // its label in the request
	Tools  []MCPTool
	Error  string // why there are none, empty where they were listed

	// Source names the server and what the request wanted of it: tools that were listed
	// for another one are listed again. So are those whose time is up: Until is Unix
	// seconds, 0 for never. Neither is part of the interface.
	Source string
	Until  int64
}

// MCPTool is a tool of a server.
type MCPTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"schema"`
	ReadOnly    bool            `json:"read_only,omitempty"` // the server says that it changes nothing
}

// Failed is the status of a call of a server's tool that failed. Others are those of
// every item.
const Failed Status = "failed"

// MCPCall is a call of a server's tool that the service made for the model.
type MCPCall struct {
	ID        string
	Status    Status
	CallID    string // names the call to the model; not part of the interface
	Server    string
	Name      string
	Arguments string    // JSON text, as the model wrote it
	Output    string    // as the model reads it; the interface shows it where there is no error
	Error     *MCPError // nil where the call succeeded
	Thought   Thought

	// Approval is the approval_request_id of a call that was asked for, empty for one
	// that was not; Request is the ID of the item that asked, which is not part of the
	// interface.
	Approval, Request string
}

// The types of an [MCPError].
const (
	MCPProtocolError  = "mcp_protocol_error"
	MCPExecutionError = "mcp_tool_execution_error"
	MCPHTTPError      = "http_error"
)

// MCPError says why a call failed.
type MCPError struct {
	Type    string          `json:"type"`
	Code    int             `json:"code,omitempty"`    // of the protocol or of HTTP
	Message string          `json:"message,omitempty"` // besides
	Content json.RawMessage `json:"content,omitempty"` // of an [MCPExecutionError]: what the tool said
}

// MCPApprovalRequest asks the caller whether a server's tool may be called.
type MCPApprovalRequest struct {
	ID        string
	CallID    string // names the call to the model; not part of the interface
	Server    string
	Name      string
	Arguments string
	Thought   Thought

	// Asked is the ID by which the caller knows the request: that of the item which the
	// caller got, where the caller has sent it back. Not part of the interface.
	Asked string
}

// MCPApprovalResponse is the caller's answer to an [MCPApprovalRequest].
type MCPApprovalResponse struct {
	ID       string
	Approval string // the approval_request_id
	Approve  bool
	Reason   string // that the model is told
	Request  string // ID of the item that asked; not part of the interface
}

// ItemID implements [Item].
func (l *MCPListTools) ItemID() string { return l.ID }

// ItemID implements [Item].
func (c *MCPCall) ItemID() string { return c.ID }

// ItemID implements [Item].
func (r *MCPApprovalRequest) ItemID() string { return r.ID }

// ItemID implements [Item].
func (r *MCPApprovalResponse) ItemID() string { return r.ID }

// withIDMCP is [WithID] for items of this file.
func withIDMCP(item Item, newID func(prefix string) string) Item {
	switch item := item.(type) {
	case *MCPListTools:
		l := *item
		l.ID = newID("mcpl")
		return &l
	case *MCPCall:
		c := *item
		c.ID = newID("mcp")
		if c.CallID == "" {
			c.CallID = newID("call")
		}
		return &c
	case *MCPApprovalRequest:
		r := *item
		r.ID = newID("mcpr")
		if r.Asked == "" {
			r.Asked = r.ID
		}
		if r.CallID == "" {
			r.CallID = newID("call")
		}
		return &r
	case *MCPApprovalResponse:
		r := *item
		r.ID = newID("mcpa")
		return &r
	}
	return item
}

// resentAs returns the ID that an item of this file has which a caller sends back,
// empty for other items.
func resentAs(item Item) string {
	switch item := item.(type) {
	case *MCPCall, *MCPApprovalResponse:
		return item.ItemID()
	case *MCPApprovalRequest:
		return item.Asked
	}
	return ""
}

// mcpRecord is what a record has for items of this file alone.
type mcpRecord struct {
	Tools   []MCPTool `json:"tools,omitempty"`
	Error   *MCPError `json:"error,omitempty"`
	Failure string    `json:"failure,omitempty"` // of a list
	Source  string    `json:"source,omitempty"`
	Until   int64     `json:"until,omitempty"`
	Asked   string    `json:"asked,omitempty"`
	Approve bool      `json:"approve,omitempty"`
}

// The kinds of their records.
const (
	kindMCPList     = "ml"
	kindMCPCall     = "mc"
	kindMCPRequest  = "mr"
	kindMCPResponse = "ma"
)

// putMCP fills in the record of an item of this file.
func (r *record) putMCP(item Item) {
	switch item := item.(type) {
	case *MCPListTools:
		r.Kind, r.Space = kindMCPList, item.Server
		r.MCP = &mcpRecord{Tools: item.Tools, Failure: item.Error, Source: item.Source, Until: item.Until}
	case *MCPCall:
		r.Kind, r.Status, r.CallID, r.Space, r.Name, r.Text = kindMCPCall, item.Status, item.CallID, item.Server, item.Name, item.Arguments
		r.Call, r.Output, r.Thought = item.Request, item.Output, thoughtRecord(item.Thought)
		r.MCP = &mcpRecord{Error: item.Error, Asked: item.Approval}
	case *MCPApprovalRequest:
		r.Kind, r.CallID, r.Space, r.Name, r.Text = kindMCPRequest, item.CallID, item.Server, item.Name, item.Arguments
		r.Thought, r.MCP = thoughtRecord(item.Thought), &mcpRecord{Asked: item.Asked}
	case *MCPApprovalResponse:
		r.Kind, r.Call, r.Text = kindMCPResponse, item.Request, item.Reason
		r.MCP = &mcpRecord{Asked: item.Approval, Approve: item.Approve}
	}
}

// mcpItem returns the item of a record, nil where it is of another kind.
func (r *record) mcpItem() Item {
	m := r.MCP
	if m == nil {
		m = &mcpRecord{}
	}
	switch r.Kind {
	case kindMCPList:
		return &MCPListTools{ID: r.ID, Server: r.Space, Tools: m.Tools, Error: m.Failure, Source: m.Source, Until: m.Until}
	case kindMCPCall:
		return &MCPCall{ID: r.ID, Status: r.Status, CallID: r.CallID, Server: r.Space, Name: r.Name, Arguments: r.Text,
			Output: r.Output, Error: m.Error, Thought: Thought(r.Thought), Approval: m.Asked, Request: r.Call}
	case kindMCPRequest:
		return &MCPApprovalRequest{ID: r.ID, CallID: r.CallID, Server: r.Space, Name: r.Name, Arguments: r.Text, Thought: Thought(r.Thought), Asked: m.Asked}
	case kindMCPResponse:
		return &MCPApprovalResponse{ID: r.ID, Approval: m.Asked, Approve: m.Approve, Reason: r.Text, Request: r.Call}
	}
	return nil
}

// ApprovedCall is who runs the call that a caller has approved.
type ApprovedCall struct {
	Turn  string `json:"turn"`  // the response
	Until int64  `json:"until"` // Unix milliseconds: after that the call has ended, or never will
}

// Approved returns who runs, or has run, the call that an approval request asks for.
// The answer is nil where nobody has begun to, and for a request that is not stored.
func (s *Service) Approved(ctx context.Context, caller accounts.Caller, request string) (by *ApprovedCall, err error) {
	err = s.view(ctx, caller, func(tx storage.Tx) error {
		by, err = approved(tx, request)
		return err
	})
	return by, err
}

// ErrApproved is the cause of an error about a call that another turn runs or has run.
var ErrApproved = errors.New("conversations: the approval was used")

// Approve notes that a turn runs the call which an approval request asks for, before
// it does: no other turn runs it. The error has the cause [ErrApproved] where one has
// begun to.
func (s *Service) Approve(ctx context.Context, caller accounts.Caller, request string, by ApprovedCall) error {
	return s.update(ctx, caller, func(tx storage.Tx) error {
		before, err := approved(tx, request)
		if err != nil {
			return err
		}
		if before != nil {
			return &fault.Error{Kind: fault.Invalid, Code: CodeApproved, Param: "input", Message: "The approval request " + request + " was answered by the response " + before.Turn + ": continue from that one.", Err: ErrApproved}
		}
		conversation, _, err := locate(tx, request)
		if errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		key := approvedKey(request)
		if err := tx.Set(leftoverKey(conversation, key), nil); err != nil {
			return err
		}
		return storage.SetJSON(tx, key, by)
	})
}

func approved(tx storage.Tx, request string) (*ApprovedCall, error) {
	if len(request) > maxID {
		return nil, nil
	}
	var by ApprovedCall
	err := storage.GetJSON(tx, approvedKey(request), &by)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	return &by, err
}

// CodeApproved is the code of the error for an approval that was used.
const CodeApproved = "mcp_approval_answered"
