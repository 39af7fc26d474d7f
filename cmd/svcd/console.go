package main

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/cmd/svcd/internal/cli"
	"github.com/seed-506d8e5d/svc/console"
	"github.com/seed-506d8e5d/svc/model/openai"
)

// consolePath is where the console is.
const consolePath = console.DefaultPrefix

// minSecret is how many characters the secret of the console's sessions must have.
const minSecret = 32

// withConsole puts the pages for people beside the interface, unless they are
// switched off. Where the first start made a key, link is the path of the page
// that signs in with it.
func (c config) withConsole(api http.Handler, service *svc.Service, key string, o console.Options) (h http.Handler, link string, err error) {
	if !c.console {
		return api, "", nil
	}
	c.showServers(&o)
	if c.secret != "" {
		sum := sha256.Sum256([]byte(c.secret))
		o.Secret = sum[:]
	} else if cli.IsDatabase(c.data) {
		o.Logger.Warn("console: sessions work on this server alone and end with it; set -console-secret (SVC_CONSOLE_SECRET) to the same text on every server of this database")
	}
	pages, err := console.New(service, o)
	if err != nil {
		return nil, "", err
	}
	if key != "" {
		link = pages.Link(key)
	}
	// A mux would redirect what the interface answers itself.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" && r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
			http.Redirect(w, r, consolePath, http.StatusFound) // a person with a browser
			return
		}
		if r.URL.Path == console.DefaultPrefix || strings.HasPrefix(r.URL.Path, console.DefaultPrefix+"/") {
			pages.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	}), link, nil
}

// servers tells the console how the model servers do. Without a backend the
// built-in model answers, and there are none.
func servers(backend *openai.Backend) func() []console.Server {
	if backend == nil {
		return nil
	}
	return func() []console.Server {
		var all []console.Server
		for _, s := range backend.Servers() {
			all = append(all, console.Server{
				Name: s.URL, Kind: s.Kind, Healthy: s.Well, Requests: s.Requests, Errors: s.Failures, FirstToken: s.FirstToken,
			})
		}
		slices.SortFunc(all, func(a, b console.Server) int { return strings.Compare(a.Name, b.Name) })
		return all
	}
}
