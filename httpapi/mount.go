package httpapi

import (
	"maps"
	"slices"
	"strings"
)

// Interface is a part of what the handler serves, for [Options].Only.
type Interface string

// The interfaces.
const (
	Decisions     Interface = "decisions"
	Responses     Interface = "responses"
	Chat          Interface = "chat"
	Messages      Interface = "messages"
	Conversations Interface = "conversations"
	Files         Interface = "files"
	Models        Interface = "models"
	Embeddings    Interface = "embeddings"
	Moderations   Interface = "moderations"
	Batches       Interface = "batches"
	Webhooks      Interface = "webhooks"
	VectorStores  Interface = "vector_stores"
	MCP           Interface = "mcp" // its tools use the other interfaces

	Health  Interface = "health"  // /healthz and /readyz
	OpenAPI Interface = "openapi" // /openapi.json and /docs
	Admin   Interface = "admin"   // /admin/v1 and /metrics, both with an admin key alone
	// Console is nothing of this handler's: package console has its own.
	//
	// Deprecated: nothing is served for it.
	Console Interface = "console"
)

// places is which interface a path belongs to, by its first part behind /v1.
var places = map[string]Interface{
	"systemone": Decisions, "decisions": Decisions, "rerank": Decisions, "calibrations": Decisions,
	"responses": Responses, "chat": Chat, "completions": Chat, "messages": Messages, "embeddings": Embeddings, "moderations": Moderations,
	"conversations": Conversations, "files": Files, "models": Models, "batches": Batches, "webhook_endpoints": Webhooks, "webhook_event_types": Webhooks, "vector_stores": VectorStores,
	"mcp":     MCP,
	"healthz": Health, "readyz": Health, "openapi.json": OpenAPI, "docs": OpenAPI, "admin": Admin, "metrics": Admin,
}

// interfaceOf returns the interface that a route belongs to, or nothing for one
// that nobody has put in the table.
func interfaceOf(path string) Interface {
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(path, "/v1"), "/"), "/")
	return places[first]
}

// checkOnly says which interfaces are asked for that do not exist. New has no
// error, and nothing else would tell a misspelt name from one that serves nothing.
func (a *API) checkOnly() {
	for _, only := range a.opts.Only {
		if !slices.Contains(slices.Collect(maps.Values(places)), only) {
			a.opts.Logger.Error("httpapi: Options.Only names an interface that does not exist, for which nothing is served", "interface", string(only))
		}
	}
}

// serves reports whether a route is among those that the options ask for, and have
// what serves it.
func (a *API) serves(path string) bool {
	switch is := interfaceOf(path); {
	case is == Batches && a.opts.Batches == nil, is == Webhooks && a.opts.Webhooks == nil, is == VectorStores && a.opts.VectorStores == nil:
		return false
	}
	return a.opts.Only == nil || slices.Contains(a.opts.Only, interfaceOf(path))
}
