package httpapi

import (
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
	Conversations Interface = "conversations"
	Files         Interface = "files"
	Models        Interface = "models"
	Embeddings    Interface = "embeddings"

	Health  Interface = "health"  // /healthz and /readyz
	OpenAPI Interface = "openapi" // /openapi.json
	Admin   Interface = "admin"   // /admin/v1 and /metrics, both with an admin key alone
	Console Interface = "console"
)

// places is which interface a path belongs to, by its first part behind /v1.
var places = map[string]Interface{
	"systemone": Decisions, "decisions": Decisions, "rerank": Decisions, "calibrations": Decisions,
	"responses": Responses, "chat": Chat, "completions": Chat, "embeddings": Embeddings,
	"conversations": Conversations, "files": Files, "models": Models,
	"healthz": Health, "readyz": Health, "openapi.json": OpenAPI, "admin": Admin, "metrics": Admin, "console": Console,
}

// interfaceOf returns the interface that a route belongs to, or nothing for one
// that nobody has put in the table.
func interfaceOf(path string) Interface {
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(path, "/v1"), "/"), "/")
	return places[first]
}

// serves reports whether a route is among those that the options ask for.
func (a *API) serves(path string) bool {
	return a.opts.Only == nil || slices.Contains(a.opts.Only, interfaceOf(path))
}
