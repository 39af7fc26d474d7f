// Package websearch asks search services for what models want to know. A
// [Client] answers one query and is what others implement; [SearXNG] is the client
// for SearXNG and services that speak like it. The service uses an [Engine] around
// a client.
package websearch

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-506d8e5d/svc/internal/background"
)

// Client searches the web. Its method may be called concurrently.
type Client interface {
	// Search returns what was found for a query, best first, possibly nothing.
	// It returns soon after ctx ends.
	Search(ctx context.Context, query string) ([]Result, error)
}

// Engine is a [Client] as the service uses it.
type Engine struct{ driver Client }

// Use returns the Engine of a client, nil for none.
func Use(c Client) *Engine {
	if c == nil {
		return nil
	}
	return &Engine{c}
}

// Search returns what the client finds. That the client panics is an error.
func (e *Engine) Search(ctx context.Context, query string) (results []Result, err error) {
	err = background.Recover(func() (err error) {
		results, err = e.driver.Search(ctx, query)
		return err
	})
	return results, err
}

// Unwrap returns the client; see package driver.
func (e *Engine) Unwrap() any { return e.driver }

// Result is one page that was found.
type Result struct {
	Title   string
	URL     string
	Snippet string // what the page says about the query
}

// MaxResults is how many results of a query [Format] shows a model.
const MaxResults = 8

// maxField is how many bytes of each field of a result a model is shown.
const maxField = 1000

// Format writes what was found for a query as a model reads it. Markup that a
// search service leaves in its snippets stays: a model reads it, and what looks
// like markup may be what the page is about.
func Format(query string, results []Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Results for %q:\n", query)
	if len(results) == 0 {
		b.WriteString("Nothing was found.\n")
	}
	for i, r := range results[:min(len(results), MaxResults)] {
		fmt.Fprintf(&b, "%d. %s\n%s\n%s\n", i+1, line(r.Title), line(r.URL), line(r.Snippet))
	}
	return b.String()
}

// Sources returns the addresses of the results that [Format] shows a model.
func Sources(results []Result) []string {
	addresses := make([]string, 0, MaxResults)
	for _, r := range results[:min(len(results), MaxResults)] {
		addresses = append(addresses, line(r.URL))
	}
	return addresses
}

// line puts a text in one line of bounded length.
func line(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if len(s) > maxField {
		s = strings.ToValidUTF8(s[:maxField], "") + "…"
	}
	return s
}
