// Package mcpserver serves the tools of the service at /mcp, over the Model Context
// Protocol: an agent that speaks it can decide, rerank, ask models and read files.
//
// A [Server] is given to [httpapi.Options].MCP, whose handler authenticates each
// request and counts it against the limits of its organization. A tool that calls a
// model sends its arguments to the route of the interface that does the same
// (tools.go), so that its answers, errors and charges are those of the route. Files
// are read from the service (files.go) and searched in vector stores (search.go). Requests are independent of each other: any
// server of a store answers any of them.
package mcpserver

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/vectorstores"
)

// Answer answers a POST with a JSON body to a route for a caller, as
// [httpapi.API.Answer] does.
type Answer = func(ctx context.Context, caller svc.Caller, path string, body []byte) (status int, requestID string, answer []byte)

// Options are what a Server is made of. Service is required.
type Options struct {
	Service *svc.Service

	// VectorStores are what search_files searches; nil leaves the tool out.
	VectorStores *vectorstores.Service

	Version string       // that the server says it has; empty is "dev"
	Log     *slog.Logger // of the protocol; nil: slog.Default()
}

// Server serves the protocol. Its method may be called concurrently.
type Server struct {
	o Options
}

// New returns a Server.
func New(o Options) *Server {
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Server{o: o}
}

// maxBody is how large a request may be, in bytes: the largest body of a route with
// what the protocol has around it.
const maxBody = 17 << 20

// keptFor is how long a client may keep the lists of tools and resources. Tools
// change with the version of the server alone.
const keptFor = 5 * time.Minute

// ofCaller is the scope of what nobody may keep for others than the caller.
const ofCaller = "private"

const instructions = "Tools of an svc server. Use decide to classify, score or check something with probabilities, " +
	"rerank to order texts by relevance, respond to ask a model, and list_files, search_files and read_file for the files of the organization."

// Serve answers a request of the protocol for a caller.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, caller svc.Caller, answer Answer) {
	c := &call{Server: s, ctx: r.Context(), caller: caller, answer: answer}
	server := c.server()
	mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, Logger: s.o.Log, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		// Only browsers can be led to a server on this machine by a name of somebody
		// else's, and they send an origin. A proxy on this machine sends names as well.
		DisableLocalhostProtection: r.Header.Get("Origin") == "",
	}).ServeHTTP(w, r)
}

// call is one request. Its context ends when the client goes away, which those that
// the protocol's library hands to tools do in its newest version alone.
type call struct {
	*Server
	ctx    context.Context
	caller svc.Caller
	answer Answer
}

// server returns what serves the request.
func (c *call) server() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "svc", Title: "svc", Version: c.o.Version}, &mcp.ServerOptions{
		Instructions: instructions, Logger: c.o.Log,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}, Prompts: &mcp.PromptCapabilities{}}, // there are no prompts, and lists of them say so
		SetCacheable: func(_ context.Context, r mcp.Request, cacheable *mcp.Cacheable) {
			switch r.GetParams().(type) {
			case *mcp.ListToolsParams, *mcp.ListResourceTemplatesParams:
				cacheable.TTLMs = int(keptFor.Milliseconds())
			case *mcp.ReadResourceParams:
				cacheable.CacheScope = ofCaller
			}
		},
	})
	add := func(t tool) {
		server.AddTool(t.tool, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return t.run(c, r.Params.Arguments), nil
		})
	}
	for _, t := range tools {
		add(t)
	}
	if c.o.VectorStores != nil {
		add(searchTool)
	}
	server.AddResourceTemplate(fileTemplate, c.readResource)
	server.AddReceivingMiddleware(c.listsFiles)
	return server
}

// listsFiles answers lists of resources with the files of the organization, and
// refuses what the server does not say it can do.
func (c *call) listsFiles(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		switch p := r.GetParams().(type) {
		case *mcp.ListResourcesParams:
			return c.listResources(p.Cursor)
		case *mcp.SubscriptionsListenParams:
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "This server does not have " + method + "."}
		}
		return next(ctx, method, r)
	}
}

// protocolError returns an error of the service as one of the protocol.
func protocolError(err error) error {
	e := fault.From(err)
	code := int64(jsonrpc.CodeInternalError)
	if e.Kind != fault.Internal {
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: e.Message}
}
