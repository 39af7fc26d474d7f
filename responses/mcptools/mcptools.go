// Package mcptools reaches servers of the Model Context Protocol for the tool mcp of
// responses. A [Client] is a [responses.MCPClient]: it knows the servers that the
// operator has named and the hosts that callers may name servers of ([Options]), and
// makes a server for each turn, which connects when the turn first needs it
// (server.go) and calls its tools (call.go). Whatever a server does, a turn goes on:
// answers, lists and times are bounded.
//
// Callers reach servers through package egress. What a request authenticates with
// goes to the server and nowhere else.
package mcptools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/egress"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/responses"
)

// CodeNotAllowed is the code of the error for a server that a caller may not use.
const CodeNotAllowed = "mcp_server_not_allowed"

// Server is a server that the operator has named. Requests name it by its label alone.
type Server struct {
	URL           string
	Authorization string            // an access token, unless the request has one or headers
	Headers       map[string]string // likewise
	Organizations []string          // IDs of those that may use it; nil: all
	Allowed       *responses.MCPFilter
	Approval      *responses.MCPApproval // calls that need approval whatever the request says; nil: none
}

// admits reports whether an organization may use the server.
func (s *Server) admits(organization string) bool {
	return s.Organizations == nil || slices.Contains(s.Organizations, organization)
}

// Options are what a Client is made of.
type Options struct {
	Servers map[string]Server // by label
	Hosts   []string          // that callers may name servers of, over https and at public addresses; "*" is all
	Version string            // that the client says it has

	// Decide answers the question whether a call needs approval. It chooses the model.
	// nil: every call that it is asked about needs approval.
	Decide func(ctx context.Context, caller accounts.Caller, req *decisions.Request) (*decisions.Response, error)

	Log *slog.Logger // of the protocol; nil: slog.Default()

	Now      func() time.Time // nil: time.Now
	Resolver egress.Resolver  // of the names of callers' servers; nil: the system's
	Dial     func(ctx context.Context, network, address string) (net.Conn, error)
}

// maxAnswer is how many bytes an answer of a server may have.
const maxAnswer = 8 << 20

// Client reaches servers. It must be closed. Its methods may be called concurrently.
type Client struct {
	o       Options
	named   *egress.Guard // for the operator's servers
	given   *egress.Guard // for those of callers
	slots   slots
	closing sync.WaitGroup

	mu     sync.Mutex
	lists  map[string]list   // kept as long as servers let them
	states map[string]string // of the operator's servers that were used: why the last time failed
}

var _ responses.MCPClient = (*Client)(nil)

// New returns a Client. The error is about a server of the operator's.
func New(o Options) (*Client, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	var hosts []string
	for _, label := range slices.Sorted(maps.Keys(o.Servers)) {
		s := o.Servers[label]
		u, err := url.Parse(s.URL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("the MCP server %q has the url %q: it must begin with http:// or https:// and name a host", label, s.URL)
		}
		if !validLabel.MatchString(label) {
			return nil, fmt.Errorf("the MCP server %q must be called by 1 to 64 letters, digits, underscores or hyphens", label)
		}
		if err := checkHeaders(s.Authorization, s.Headers); err != nil {
			return nil, fmt.Errorf("the MCP server %q: %w", label, err)
		}
		hosts = append(hosts, u.Hostname())
	}
	guard := func(hosts []string) *egress.Guard {
		return egress.New(egress.Options{Hosts: hosts, Redirects: egress.SameHost, MaxBytes: maxAnswer, Timeout: -1, Resolver: o.Resolver, Dial: o.Dial})
	}
	return &Client{o: o, named: guard(hosts), given: guard(nil), lists: map[string]list{}, states: map[string]string{}, slots: slots{of: map[string]*slot{}}}, nil
}

var validLabel = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Close waits until connections are closed.
func (c *Client) Close() error {
	c.closing.Wait()
	c.named.Close()
	c.given.Close()
	return nil
}

// Named returns the labels of the operator's servers that an organization may use.
func (c *Client) Named(organization string) []string {
	var labels []string
	for _, label := range slices.Sorted(maps.Keys(c.o.Servers)) {
		if s := c.o.Servers[label]; s.admits(organization) {
			labels = append(labels, label)
		}
	}
	return labels
}

// State is how a server of the operator's does.
type State struct {
	Label, URL string
	Used       bool   // since the start
	Failure    string // of the last time that it was used; empty where that went well
}

// States returns how the operator's servers do, by their labels.
func (c *Client) States() []State {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []State
	for _, label := range slices.Sorted(maps.Keys(c.o.Servers)) {
		failure, used := c.states[label]
		all = append(all, State{label, c.o.Servers[label].URL, used, failure})
	}
	return all
}

// used notes how the use of a server went.
func (s *server) used(failure string) {
	if s.own == nil {
		return
	}
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	s.client.states[s.tool.Label] = failure
}

// failedWith notes that the use of a server failed, unless the server itself has said so.
func (s *server) failedWith(f *conversations.MCPError) {
	if f.Type == conversations.MCPProtocolError && f.Code != codeInternal {
		s.used("")
		return
	}
	s.used(f.Message)
}

// Server implements [responses.MCPClient].
func (c *Client) Server(_ context.Context, caller accounts.Caller, tool *responses.MCPTool) (responses.MCPServer, error) {
	if err := checkHeaders(tool.Authorization, tool.Headers); err != nil {
		return nil, fault.Invalidf("tools", "The headers of the MCP server %q cannot be sent: %s.", tool.Label, err)
	}
	s := &server{client: c, caller: caller, tool: tool, url: tool.URL, guard: c.given}
	authorization, headers := tool.Authorization, tool.Headers
	own, named := c.o.Servers[tool.Label]
	named = named && own.admits(caller.Organization)
	if tool.URL == "" || named && tool.URL == own.URL { // some clients must have a URL
		if !named {
			return nil, notAllowed("No MCP server is named %q here. Give its server_url, or one of the names: %s.", tool.Label, strings.Join(c.Named(caller.Organization), ", "))
		}
		s.own, s.url, s.guard = &own, own.URL, c.named
		if authorization == "" && len(headers) == 0 {
			authorization, headers = own.Authorization, own.Headers
		}
	} else if err := c.checkURL(tool); err != nil {
		return nil, err
	}
	s.header = http.Header{}
	for name, value := range headers {
		s.header.Set(name, value)
	}
	if authorization != "" {
		s.header.Set("Authorization", "Bearer "+authorization)
	}
	return s, nil
}

func notAllowed(format string, args ...any) error {
	return &fault.Error{Kind: fault.Invalid, Code: CodeNotAllowed, Param: "tools", Message: fmt.Sprintf(format, args...)}
}

// checkURL refuses the address of a server that callers may not name. Where its host
// leads is checked when it is connected to.
func (c *Client) checkURL(tool *responses.MCPTool) error {
	u, err := url.Parse(tool.URL)
	switch {
	case err != nil || u.Host == "":
		return fault.Invalidf("tools", "The server_url of the MCP server %q is no URL.", tool.Label)
	case u.User != nil:
		return fault.Invalidf("tools", "The server_url of the MCP server %q must not have a user or a password: send authorization or headers.", tool.Label)
	case u.Scheme != "https":
		return notAllowed("The server_url of the MCP server %q must begin with https://.", tool.Label)
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if !slices.ContainsFunc(c.o.Hosts, func(h string) bool { return h == "*" || strings.ToLower(h) == host }) {
		return notAllowed("MCP servers of the host %.255q are not allowed here: the operator allows hosts with mcp_hosts.", host)
	}
	return nil
}

// unsendable are headers that are the connection's or the protocol's.
var unsendable = []string{
	"accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect", "host", "keep-alive", "last-event-id",
	"proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}

var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$")

// maxHeader is how many bytes the value of a header may have.
const maxHeader = 16 << 10

// checkHeaders returns an error for headers that cannot be sent, whose values it does
// not show.
func checkHeaders(authorization string, headers map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		lower := strings.ToLower(name)
		switch {
		case !headerName.MatchString(name):
			return fmt.Errorf("%.64q is no name of a header", name)
		case slices.Contains(unsendable, lower) || strings.HasPrefix(lower, "mcp-"):
			return fmt.Errorf("%s belongs to the connection", name)
		case authorization != "" && lower == "authorization":
			return fmt.Errorf("authorization and the header Authorization cannot be used together")
		case !isValue(headers[name]):
			return fmt.Errorf("the value of %s has characters that headers cannot have, or is too long", name)
		}
	}
	if !isValue(authorization) {
		return fmt.Errorf("authorization has characters that headers cannot have, or is too long")
	}
	return nil
}

func isValue(value string) bool {
	return len(value) <= maxHeader && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// digest returns a name for values, from which they cannot be told.
func digest(values ...any) string {
	data, err := json.Marshal(values)
	if err != nil {
		panic(err) // strings and filters
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}
