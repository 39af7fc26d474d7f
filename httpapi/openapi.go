package httpapi

import (
	_ "embed"
	"encoding/json"
	"maps"
	"net/url"
	"strings"
)

// openAPI describes every route, field, error and event. The tests hold the
// answers of the server to it.
//
//go:embed openapi.json
var openAPI []byte

// describe answers with the description of what is served here: under the prefix
// that the handler is mounted at, and of the interfaces that the options ask for.
func (a *API) describe(c *call) error {
	prefix := ""
	if asked, err := url.ParseRequestURI(c.r.RequestURI); err == nil { // which has what a mux took off
		if mounted, ok := strings.CutSuffix(asked.EscapedPath(), c.r.URL.EscapedPath()); ok {
			prefix = mounted
		}
	}
	if prefix == "" && a.opts.Only == nil && a.opts.Batches != nil && a.opts.Webhooks != nil && a.opts.VectorStores != nil {
		writeBody(c.w, 200, openAPI)
		return nil
	}
	var document, paths map[string]json.RawMessage
	if err := json.Unmarshal(openAPI, &document); err != nil {
		return err
	}
	if err := json.Unmarshal(document["paths"], &paths); err != nil {
		return err
	}
	maps.DeleteFunc(paths, func(path string, _ json.RawMessage) bool { return !a.serves(path) })
	served, err := json.Marshal(paths)
	if err != nil {
		return err
	}
	type server struct {
		URL string `json:"url"`
	}
	document["paths"] = served
	if document["servers"], err = json.Marshal([]server{{URL: prefix + "/"}}); err != nil {
		return err
	}
	return c.json(document)
}
