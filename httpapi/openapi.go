package httpapi

import (
	_ "embed"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-506d8e5d/svc/reference"
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
	document, err := a.description(prefix)
	if err != nil {
		return err
	}
	writeBody(c.w, http.StatusOK, document)
	return nil
}

// description returns the document of what is served under a prefix.
func (a *API) description(prefix string) ([]byte, error) {
	if prefix == "" && a.opts.Only == nil && a.opts.Batches != nil && a.opts.Webhooks != nil && a.opts.VectorStores != nil {
		return openAPI, nil
	}
	var document, paths map[string]json.RawMessage
	if err := json.Unmarshal(openAPI, &document); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(document["paths"], &paths); err != nil {
		return nil, err
	}
	maps.DeleteFunc(paths, func(path string, _ json.RawMessage) bool { return !a.serves(path) })
	served, err := json.Marshal(paths)
	if err != nil {
		return nil, err
	}
	type server struct {
		URL string `json:"url"`
	}
	document["paths"] = served
	if document["servers"], err = json.Marshal([]server{{URL: prefix + "/"}}); err != nil {
		return nil, err
	}
	return encode(document)
}

// reference shows the description as a page for people.
func (a *API) reference(c *call) error {
	page, err := a.page()
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", reference.Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	writeWhole(c.w, http.StatusOK, page)
	return nil
}

// makePage returns the page of the reference.
func (a *API) makePage() ([]byte, error) {
	document, err := a.description("")
	if err != nil {
		return nil, err
	}
	return reference.Page(document)
}
