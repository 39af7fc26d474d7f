package responses

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/model"
)

const (
	// listTimeout bounds how long a server may take to list its tools.
	listTimeout = 30 * time.Second
	// maxCalls is how many tools of servers a model may call at once. More than that
	// are told that they were not called.
	maxCalls = 16
)

// toolCall is a call of a server's tool that the turn makes.
type toolCall struct {
	item    *conversations.MCPCall
	offered offeredTool
	failure *conversations.MCPError // of a call that is not to be made
	index   int                     // in the output
	done    chan struct{}           // closed when the item has what came of it; nil where nothing runs
}

// plannedCall returns the call of a tool that the model has planned.
func (t *turn) plannedCall(p *plannedCall) *toolCall {
	arguments := p.arguments.String()
	if arguments == "" {
		arguments = "{}"
	}
	c := &toolCall{offered: p.tool, item: &conversations.MCPCall{
		ID: t.o.NewID("mcp"), Status: conversations.InProgress, CallID: t.o.NewID("call"),
		Server: p.tool.server.tool.Label, Name: p.tool.tool.Name, Arguments: arguments, Thought: p.thought,
	}}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &object) != nil {
		c.failure = &conversations.MCPError{Type: conversations.MCPProtocolError, Code: -32602, Message: "The tool was not called: its arguments are not a JSON object."}
	}
	return c
}

// useServers lists the tools of the servers whose tools are not known, and makes the
// calls that the input approves.
func (t *turn) useServers(ctx context.Context) error {
	unlisted := slices.ContainsFunc(t.mcp.servers, func(s *turnServer) bool { return !s.listed })
	if !unlisted && len(t.mcp.approved) == 0 {
		return nil
	}
	if err := t.show(ctx); err != nil {
		return err
	}
	t.listTools(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	var calls []*toolCall
	for _, a := range t.mcp.approved {
		c, err := t.approvedCall(ctx, a)
		if err != nil {
			return err
		}
		calls = append(calls, c)
	}
	t.runCalls(ctx, calls)
	return ctx.Err()
}

// closeServers ends the connections of the turn.
func (t *turn) closeServers() {
	for _, server := range t.mcp.servers {
		server.Close()
	}
}

// toolList is what came of listing the tools of a server.
type toolList struct {
	tools []conversations.MCPTool
	until time.Time
	err   error
}

// listTools lists the tools of all servers at once, and shows the lists in the order
// of the servers. A server that fails has none: the model goes on without.
func (t *turn) listTools(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	lists := make([]chan toolList, len(t.mcp.servers))
	for i, server := range t.mcp.servers {
		if server.listed {
			continue
		}
		lists[i] = make(chan toolList, 1)
		go func() {
			var l toolList
			l.err = background.Recover(func() (err error) {
				l.tools, l.until, err = server.ListTools(ctx)
				return err
			})
			lists[i] <- l
		}()
	}
	known := 0
	for i, server := range t.mcp.servers {
		if lists[i] != nil {
			t.showList(ctx, server, lists[i], MaxMCPTools-known)
		}
		known += len(server.tools)
	}
	t.offerTools()
}

// showList waits for the list of a server and shows it. most is how many tools it may
// have.
func (t *turn) showList(ctx context.Context, server *turnServer, list <-chan toolList, most int) {
	item := &conversations.MCPListTools{ID: t.o.NewID("mcpl"), Server: server.tool.Label, Source: server.Source()}
	t.emitter.list(item, func() {
		l := <-list
		if l.err == nil && len(l.tools) > most {
			l.err = fault.Invalidf("tools", "The server lists %d tools, which are too many: all servers of a request together may have %d. Choose some with allowed_tools.", len(l.tools), MaxMCPTools)
		}
		if l.err != nil {
			item.Error = shownReason(l.err)
			t.o.Log.LogAttrs(ctx, slog.LevelWarn, "responses: the tools of an MCP server were not listed", slog.String("response", t.response.ID), slog.String("server", item.Server), slog.Any("err", l.err))
			return
		}
		item.Tools = l.tools
		if !l.until.IsZero() {
			item.Until = l.until.Unix()
		}
		server.listed, server.tools = true, l.tools
	})
}

// shownReason is what a caller is told about a server that failed.
func shownReason(err error) string {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e.Message
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "The server took too long to answer."
	}
	return "The server could not be reached."
}

// callTools makes the calls of a round. It reports whether the caller has to approve
// calls first.
func (t *turn) callTools(ctx context.Context, left int) (waits bool) {
	var calls, asked []*toolCall
	for i, c := range t.round.calls {
		switch {
		case c.failure != nil:
		case i >= left:
			c.failure = toolFailure("The tool was not called: no more calls are allowed for this answer.")
		case i >= maxCalls:
			c.failure = toolFailure("The tool was not called: too many calls at once.")
		default:
			needs, err := c.offered.server.NeedsApproval(ctx, c.offered.tool, c.item.Arguments)
			if err != nil {
				t.o.Log.LogAttrs(ctx, slog.LevelWarn, "responses: whether a call needs approval was not decided", slog.String("response", t.response.ID), slog.Any("err", err))
			}
			if needs || err != nil {
				asked = append(asked, c)
				continue
			}
		}
		calls = append(calls, c)
	}
	t.runCalls(ctx, calls)
	if ctx.Err() != nil {
		return false
	}
	for _, c := range asked {
		id := t.o.NewID("mcpr")
		item := &conversations.MCPApprovalRequest{ID: id, Asked: id, CallID: c.item.CallID, Server: c.item.Server, Name: c.item.Name, Arguments: c.item.Arguments, Thought: c.item.Thought}
		t.emitter.add(item, item)
		t.emitter.done(item, false)
	}
	return len(asked) > 0
}

// runCalls makes calls at once and shows them, each as an item of the output, in their
// order. It returns when all have ended: soon after ctx has.
func (t *turn) runCalls(ctx context.Context, calls []*toolCall) {
	for _, c := range calls {
		c.index = t.emitter.beginCall(c.item)
		if c.failure != nil || c.item.Status != conversations.InProgress {
			continue
		}
		c.done = make(chan struct{})
		go func() {
			defer close(c.done)
			t.runCall(ctx, c)
		}()
	}
	for _, c := range calls {
		if c.done != nil {
			<-c.done
		}
		if c.failure != nil {
			c.item.Status, c.item.Error = conversations.Failed, c.failure
			if c.item.Output == "" {
				c.item.Output = "The call failed: " + c.failure.Message
			}
		}
		if c.item.Status == conversations.InProgress {
			c.item.Status = conversations.Completed
			if ctx.Err() != nil {
				c.item.Status = conversations.Incomplete
			}
		}
		t.emitter.endCall(c.index, c.item)
	}
}

// runCall calls the tool of a call.
func (t *turn) runCall(ctx context.Context, c *toolCall) {
	ctx, cancel := context.WithTimeout(ctx, t.o.CallTimeout)
	defer cancel()
	err := background.Recover(func() error {
		c.item.Output, c.failure = c.offered.server.CallTool(ctx, c.offered.tool, c.item.Arguments)
		return nil
	})
	if err != nil {
		t.o.Log.LogAttrs(ctx, slog.LevelError, "responses: calling a tool of an MCP server panicked", slog.String("response", t.response.ID), slog.Any("err", err))
		c.failure = toolFailure("The tool was not called.")
	}
}

// approvedCall is a call that the input approves, and what is known of it where another
// turn has begun it.
type approvedCall struct {
	request *conversations.MCPApprovalRequest
	before  *conversations.MCPCall // nil: nobody has begun it
}

// approvedCall returns the call that an approval allows. Nobody else makes it from now
// on.
func (t *turn) approvedCall(ctx context.Context, a approvedCall) (*toolCall, error) {
	r := a.request
	c := &toolCall{item: &conversations.MCPCall{
		ID: t.o.NewID("mcp"), Status: conversations.InProgress, CallID: r.CallID, Server: r.Server, Name: r.Name, Arguments: r.Arguments,
		Approval: r.Asked, Request: r.ID,
	}}
	if a.before != nil {
		c.item.Status, c.item.Output, c.item.Error = a.before.Status, a.before.Output, a.before.Error
		return c, nil
	}
	for _, offered := range t.mcp.offered {
		if offered.server.tool.Label == r.Server && offered.tool.Name == r.Name {
			c.offered = offered
		}
	}
	if c.offered.tool == nil {
		c.failure = toolFailure("The tool was not called: its server does not list it any more.")
		return c, nil
	}
	until := t.o.Now().Add(t.o.CallTimeout + time.Minute).UnixMilli()
	err := t.o.Conversations.Approve(ctx, t.caller, r.Asked, conversations.ApprovedCall{Turn: t.response.ID, Until: until})
	return c, err
}

// matchApprovals ties approvals of the input, and calls that were made with one, to
// the requests that they answer, and finds the calls to make. An approval that comes
// again is left out.
func (t *turn) matchApprovals(ctx context.Context, input []conversations.Item) ([]conversations.Item, error) {
	if !slices.ContainsFunc(input, isApproval) {
		return input, nil
	}
	m := approvals{requests: map[string]*conversations.MCPApprovalRequest{}, answered: map[string]bool{}}
	for _, e := range t.parent.Entries {
		m.add(e.Item)
	}
	matched := make([]conversations.Item, 0, len(input))
	for _, item := range input {
		item, err := m.match(item)
		if err != nil {
			return nil, err
		}
		if item != nil {
			matched = append(matched, item)
		}
	}
	for _, r := range m.approved {
		if m.called[r.ID] {
			continue
		}
		a, err := t.approval(ctx, r)
		if err != nil {
			return nil, err
		}
		t.mcp.approved = append(t.mcp.approved, a)
	}
	return matched, nil
}

func isApproval(item conversations.Item) bool {
	switch item.(type) {
	case *conversations.MCPApprovalResponse, *conversations.MCPCall:
		return true
	}
	return false
}

// approvals are the approval requests of a history and an input, with their answers.
type approvals struct {
	requests map[string]*conversations.MCPApprovalRequest // by the ID that the caller knows
	answered map[string]bool                              // by the ID of the item
	called   map[string]bool                              // likewise
	approved []*conversations.MCPApprovalRequest          // by the input
}

func (m *approvals) add(item conversations.Item) {
	switch item := item.(type) {
	case *conversations.MCPApprovalRequest:
		m.requests[item.Asked] = item
		m.requests[item.ID] = item
	case *conversations.MCPApprovalResponse:
		m.answered[item.Request] = true
	case *conversations.MCPCall:
		m.call(item)
	}
}

func (m *approvals) call(item *conversations.MCPCall) {
	if m.called == nil {
		m.called = map[string]bool{}
	}
	m.called[item.Request], m.answered[item.Request] = true, true
}

// match returns an item of the input as it is kept, nil for one that is not.
func (m *approvals) match(item conversations.Item) (conversations.Item, error) {
	switch given := item.(type) {
	case *conversations.MCPCall:
		r := m.requests[given.Approval]
		if given.Approval == "" || r == nil {
			return item, nil
		}
		call := *given
		call.Request, call.CallID = r.ID, r.CallID
		m.call(&call)
		return &call, nil
	case *conversations.MCPApprovalResponse:
		r := m.requests[given.Approval]
		if r == nil {
			return nil, fault.Invalidf("input", "No approval request with the ID %.128q is in the conversation.", given.Approval)
		}
		if m.answered[r.ID] {
			return nil, nil
		}
		response := *given
		response.Request = r.ID
		if m.add(&response); given.Approve {
			m.approved = append(m.approved, r)
		}
		return &response, nil
	}
	m.add(item)
	return item, nil
}

// approval finds out whether the call that a request asks for can be made: its server
// is among the tools, and no other turn has begun it. What another turn has come to is
// taken over; where that is not known the call has failed, since it may have been made.
func (t *turn) approval(ctx context.Context, r *conversations.MCPApprovalRequest) (a approvedCall, err error) {
	a.request = r
	if !slices.ContainsFunc(t.mcp.servers, func(s *turnServer) bool { return s.tool.Label == r.Server }) {
		return a, fault.Invalidf("tools", "tools has no server with the server_label %q, of which the input approves a call: send the tool again.", r.Server)
	}
	by, err := t.o.Conversations.Approved(ctx, t.caller, r.Asked)
	if err != nil || by == nil {
		return a, err
	}
	answered := &fault.Error{Kind: fault.Invalid, Code: conversations.CodeApproved, Param: "input", Message: fmt.Sprintf("The approval request %q was answered by the response %q: continue from that one.", r.Asked, by.Turn)}
	stored, _, output, err := t.o.Conversations.GetTurn(ctx, t.caller, by.Turn)
	switch {
	case fault.Is(err, fault.NotFound) && t.o.Now().UnixMilli() < by.Until:
		return a, answered // it may run
	case fault.Is(err, fault.NotFound):
	case err != nil:
		return a, err
	default:
		response, err := newResponse(stored, output)
		if err != nil {
			return a, err
		}
		if stored.Running || response.Status == Completed {
			return a, answered
		}
	}
	for _, item := range output {
		if call, ok := item.(*conversations.MCPCall); ok && call.Approval == r.Asked && (call.Status == conversations.Completed || call.Status == conversations.Failed) {
			a.before = call
			return a, nil
		}
	}
	failure := toolFailure(fmt.Sprintf("The response %s was interrupted while it made the call: whether the tool has run is not known. It is not called again.", by.Turn))
	a.before = &conversations.MCPCall{Status: conversations.Failed, Error: failure, Output: "The call failed: " + failure.Message}
	return a, nil
}

// withoutHosted returns the tools without those that the service runs: the model must
// answer.
func (t *turn) withoutHosted(tools []model.Tool) []model.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(tool model.Tool) bool {
		_, ofServer := t.mcp.offered[tool.Name]
		return tool.Search || ofServer
	})
}
