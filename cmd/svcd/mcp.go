package main

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/console"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/responses/mcptools"
)

// maxNames bounds lists of names in a configuration.
const maxNames = 1000

// mcp decodes the servers that responses may use.
func (d *decoder) mcp(root *jsonin.Node) mcptools.Options {
	o := mcptools.Options{Servers: map[string]mcptools.Server{}}
	for _, host := range root.Field("mcp_hosts").Items(maxNames) {
		o.Hosts = append(o.Hosts, host.Text())
	}
	for f := range root.Field("mcp_servers").Fields() {
		o.Servers[f.Name()] = d.mcpServer(f)
	}
	return o
}

func (d *decoder) mcpServer(n *jsonin.Node) mcptools.Server {
	only(n, "url", "headers", "authorization", "authorization_env", "organizations", "require_approval", "allowed_tools")
	s := mcptools.Server{
		URL: n.Field("url").Text(), Authorization: n.Field("authorization").Text(),
		Organizations: nameList(n.Field("organizations")), Allowed: mcpFilter(n.Field("allowed_tools")), Approval: mcpApproval(n.Field("require_approval")),
	}
	if s.URL == "" {
		n.Fail("must have a url")
	}
	if name := n.Field("authorization_env").Text(); name != "" {
		if s.Authorization = d.getenv(name); s.Authorization == "" {
			n.Field("authorization_env").Fail("names the environment variable %s, which is not set", name)
		}
	}
	for h := range n.Field("headers").Fields() {
		if s.Headers == nil {
			s.Headers = map[string]string{}
		}
		s.Headers[h.Name()] = h.Text()
	}
	return s
}

// nameList decodes a list of names, nil where it is absent.
func nameList(n *jsonin.Node) []string {
	if n.Absent() {
		return nil
	}
	list := []string{}
	for _, name := range n.Items(maxNames) {
		list = append(list, name.Text())
	}
	return list
}

// mcpFilter decodes names of tools, or an object with some.
func mcpFilter(n *jsonin.Node) *responses.MCPFilter {
	switch {
	case n.Absent():
		return nil
	case !n.IsObject():
		return &responses.MCPFilter{Names: nameList(n)}
	}
	only(n, "tool_names", "read_only")
	f := &responses.MCPFilter{Names: nameList(n.Field("tool_names"))}
	if read := n.Field("read_only"); !read.Absent() {
		only := read.True()
		f.ReadOnly = &only
	}
	return f
}

// mcpApproval decodes which calls need approval whatever a request says.
func mcpApproval(n *jsonin.Node) *responses.MCPApproval {
	switch {
	case n.Absent():
		return nil
	case n.IsObject():
		only(n, "always", "never", "decision")
		if d := n.Field("decision"); !d.Absent() {
			return &responses.MCPApproval{Decision: mcpDecision(d)}
		}
		return &responses.MCPApproval{Always: mcpFilter(n.Field("always")), Never: mcpFilter(n.Field("never"))}
	}
	a := &responses.MCPApproval{Mode: n.Text()}
	if a.Mode != "always" && a.Mode != "never" {
		n.Fail(`must be "always", "never" or an object with filters`)
	}
	return a
}

// mcpDecision decodes a question about calls, with a threshold or an error.
func mcpDecision(n *jsonin.Node) *responses.MCPDecision {
	only(n, "question", "threshold", "error")
	question := n.Field("question")
	only(question, "type", "instructions", "criteria")
	d := &responses.MCPDecision{Instructions: question.Field("instructions").Text()}
	if question.Field("type").Text() != "noul" || d.Instructions == "" {
		question.Fail("must have the type noul and instructions")
	}
	if c := question.Field("criteria"); !c.Absent() {
		d.Criteria = json.RawMessage(c.Raw())
	}
	for name, bound := range map[string]*float64{"threshold": &d.Threshold, "error": &d.Error} {
		if x := n.Field(name).Number(); x != nil {
			*bound = *x
		}
	}
	if (d.Threshold == 0) == (d.Error == 0) || d.Threshold < 0 || d.Threshold > 1 || d.Error < 0 || d.Error > 1 {
		n.Fail("must have either threshold or error, above 0 and at most 1")
	}
	return d
}

// reach returns what reaches MCP servers, nil where the configuration names none.
func (c config) reach(logger *slog.Logger) (*mcptools.Client, error) {
	o := c.models.mcp
	if len(o.Servers) == 0 && len(o.Hosts) == 0 {
		return nil, nil
	}
	o.Log, o.Version, o.Decide = logger, moduleVersion(), c.judge.decide
	return mcptools.New(o)
}

// showServers has the console show the servers that the configuration names.
func (c config) showServers(o *console.Options) {
	if c.servers == nil {
		return
	}
	o.MCPNamed = c.servers.Named
	o.MCPServers = func() []console.MCPServer {
		var all []console.MCPServer
		for _, s := range c.servers.States() {
			all = append(all, console.MCPServer{Name: s.Label, URL: s.URL, Used: s.Used, Failure: s.Failure})
		}
		return all
	}
}

// callJudge decides with a service that is made after what asks it.
type callJudge struct{ service *svc.Service }

// decide asks the first model that the caller may ask.
func (j *callJudge) decide(ctx context.Context, caller svc.Caller, req *decisions.Request) (*decisions.Response, error) {
	models, err := j.service.Models(ctx, caller)
	if err != nil {
		return nil, err
	}
	for _, m := range models {
		if m.Decides {
			req.Model = m.ID
			break
		}
	}
	return j.service.Decide(ctx, caller, req)
}
