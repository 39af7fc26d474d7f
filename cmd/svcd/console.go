package main

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/console"
)

// withConsole puts the pages for people beside the interface, unless they are
// switched off. Where the first start made a key, link is the path of the page
// that signs in with it.
func (c config) withConsole(api http.Handler, service *svc.Service, key string, logger *slog.Logger) (h http.Handler, link string, err error) {
	if !c.console {
		return api, "", nil
	}
	pages, err := console.New(service, console.Options{AdminKey: c.adminKey, Logger: logger})
	if err != nil {
		return nil, "", err
	}
	if key != "" {
		link = pages.Link(key)
	}
	// A mux would redirect what the interface answers itself.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == console.DefaultPrefix || strings.HasPrefix(r.URL.Path, console.DefaultPrefix+"/") {
			pages.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	}), link, nil
}
