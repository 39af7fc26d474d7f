package mcptools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/egress"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/responses"
)

const (
	// maxListed is how many tools a server may list, before a filter chooses among
	// them, and maxListBytes how many bytes of names, descriptions and schemas.
	maxListed    = 1000
	maxListBytes = 1 << 20
	// maxKept is how many lists are kept.
	maxKept = 256
	// mostKeptFor is how long a list is kept at most, whatever the server says.
	mostKeptFor = 24 * time.Hour
)

// server is a server for one turn.
type server struct {
	client *Client
	caller accounts.Caller
	tool   *responses.MCPTool
	own    *Server // of the operator; nil: the caller's
	url    string
	header http.Header
	guard  *egress.Guard

	mu      sync.Mutex
	session *mcp.ClientSession // nil before it is connected
}

// list are the tools that a server has listed, all of them.
type list struct {
	tools []conversations.MCPTool
	until time.Time // zero: not said
}

// Source implements [responses.MCPServer].
func (s *server) Source() string {
	var operators *responses.MCPFilter
	if s.own != nil {
		operators = s.own.Allowed
	}
	return digest(s.url, s.tool.Allowed, operators)
}

// NeedsApproval implements [responses.MCPServer].
func (s *server) NeedsApproval(ctx context.Context, tool *conversations.MCPTool, arguments string) (bool, error) {
	rules := []*responses.MCPApproval{&s.tool.Approval}
	if s.own != nil && s.own.Approval != nil {
		rules = append(rules, s.own.Approval)
	}
	var judges []*responses.MCPDecision
	for _, rule := range rules {
		if rule.Decision != nil {
			judges = append(judges, rule.Decision)
		} else if rule.Needs(tool) {
			return true, nil
		}
	}
	for _, d := range judges {
		if free, err := s.judge(ctx, d, tool, arguments); err != nil || !free {
			return true, err
		}
	}
	return false, nil
}

// judge reports whether a decision has a call made without approval.
func (s *server) judge(ctx context.Context, d *responses.MCPDecision, tool *conversations.MCPTool, arguments string) (bool, error) {
	if s.client.o.Decide == nil {
		return false, nil
	}
	state, err := json.Marshal(map[string]any{
		"server": s.tool.Label, "tool": tool.Name, "description": tool.Description, "read_only": tool.ReadOnly, "arguments": json.RawMessage(arguments),
	})
	if err != nil {
		return false, err
	}
	req := &decisions.Request{State: state, Questions: []decisions.Question{{Name: "approved", Type: decisions.Noul, Instructions: d.Instructions, Criteria: d.Criteria}}}
	if d.Threshold == 0 {
		req.AbstainAboveError = d.Error
	}
	answer, err := s.client.o.Decide(ctx, s.caller, req)
	if err != nil {
		return false, err
	}
	a := answer.Answers[0]
	if d.Threshold == 0 {
		return !a.Abstained && a.Noul >= 0.5, nil
	}
	return a.Noul >= d.Threshold, nil
}

// ListTools implements [responses.MCPServer].
func (s *server) ListTools(ctx context.Context) (tools []conversations.MCPTool, until time.Time, err error) {
	l, err := s.list(ctx)
	if err != nil {
		return nil, until, err
	}
	for i := range l.tools {
		tool := &l.tools[i]
		if s.tool.Allowed.Matches(tool) && (s.own == nil || s.own.Allowed.Matches(tool)) {
			tools = append(tools, *tool)
		}
	}
	return tools, l.until, nil
}

// list returns all tools of the server: as they were listed before, where the server
// lets that be kept.
func (s *server) list(ctx context.Context) (l list, err error) {
	c, now := s.client, s.client.o.Now()
	key := digest(s.caller.Organization, s.url, s.header)
	c.mu.Lock()
	l, ok := c.lists[key]
	c.mu.Unlock()
	if ok && now.Before(l.until) {
		return l, nil
	}
	session, err := s.connect(ctx)
	if err != nil {
		return l, s.reason(err)
	}
	if l, err = listAll(ctx, session); err != nil {
		return l, s.reason(err)
	}
	s.used("")
	if !l.until.IsZero() {
		l.until = now.Add(min(l.until.Sub(time.Time{}), mostKeptFor))
		c.keep(key, l, now)
	}
	return l, nil
}

// keep keeps a list, in the place of those whose time is up.
func (c *Client) keep(key string, l list, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.lists) >= maxKept {
		maps.DeleteFunc(c.lists, func(_ string, l list) bool { return !now.Before(l.until) })
	}
	if len(c.lists) < maxKept {
		c.lists[key] = l
	}
}

// listAll reads all pages of a list. Its until is how long it may be kept, from the
// zero time on.
func listAll(ctx context.Context, session *mcp.ClientSession) (l list, err error) {
	size, ttl := 0, 0
	for params := (&mcp.ListToolsParams{}); ; {
		page, err := session.ListTools(ctx, params)
		if err != nil {
			return l, err
		}
		for _, t := range page.Tools {
			tool := conversations.MCPTool{Name: t.Name, Description: t.Description, ReadOnly: t.Annotations != nil && t.Annotations.ReadOnlyHint}
			if t.InputSchema != nil {
				if tool.InputSchema, err = json.Marshal(t.InputSchema); err != nil {
					return l, err
				}
			}
			if size += len(tool.Name) + len(tool.Description) + len(tool.InputSchema); size > maxListBytes || len(l.tools) == maxListed {
				return l, fault.Invalidf("tools", "The server lists more than %d tools, or more than %d KiB of them.", maxListed, maxListBytes>>10)
			}
			l.tools = append(l.tools, tool)
		}
		if ttl == 0 || page.TTLMs < ttl {
			ttl = page.TTLMs
		}
		if page.NextCursor == "" || len(page.Tools) == 0 {
			break
		}
		params = &mcp.ListToolsParams{Cursor: page.NextCursor}
	}
	if ttl > 0 {
		l.until = time.Time{}.Add(time.Duration(min(ttl, int(mostKeptFor.Milliseconds()))) * time.Millisecond)
	}
	return l, nil
}

// connect returns the connection to the server.
func (s *server) connect(ctx context.Context) (*mcp.ClientSession, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session != nil {
		return s.session, nil
	}
	o := &s.client.o
	client := mcp.NewClient(&mcp.Implementation{Name: "svc", Version: o.Version}, &mcp.ClientOptions{Logger: o.Log, Capabilities: &mcp.ClientCapabilities{}})
	own := s.guard.Client()
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: s.url, HTTPClient: &http.Client{Transport: &transport{own.Transport, s.header}, CheckRedirect: own.CheckRedirect},
		MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxAnswer,
	}, nil)
	if err != nil {
		return nil, err
	}
	s.session = session
	return session, nil
}

// Close implements [responses.MCPServer]. The server is told in the background.
func (s *server) Close() {
	s.mu.Lock()
	session := s.session
	s.session = nil
	s.mu.Unlock()
	if session != nil {
		s.client.closing.Go(func() { _ = session.Close() }) // nobody can be told
	}
}

// reason returns an error about a server in words for the caller.
func (s *server) reason(err error) error {
	f := failureOf(err)
	s.failedWith(f)
	if s.own != nil && f.Type == conversations.MCPHTTPError {
		s.client.o.Log.Warn("mcptools: a server of the operator's refuses requests", "server", s.tool.Label, "status", f.Code)
	}
	return &fault.Error{Kind: fault.Upstream, Code: fault.CodeUpstream, Message: f.Message, Err: err}
}

// transport adds the headers of a server, and makes errors of answers that are none of
// the protocol.
type transport struct {
	next   http.RoundTripper
	header http.Header
}

// statusError is an answer that is not of the protocol.
type statusError struct{ code int }

func (e *statusError) Error() string {
	return fmt.Sprintf("the server answered with the status %d", e.code)
}

// maxErrorBody is how much of an answer that refuses is read.
const maxErrorBody = 64 << 10

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range t.header {
		r.Header[name] = slices.Clone(values)
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil || resp.StatusCode < 400 || r.Method != http.MethodPost {
		return resp, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	var message struct {
		JSONRPC string          `json:"jsonrpc"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &message) != nil || message.JSONRPC == "" || message.Error == nil {
		return nil, &statusError{resp.StatusCode}
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// isTimeout reports whether an error is that somebody took too long.
func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "deadline exceeded")
}
