// Package compat drives a server built from httpapi with OpenAI's own Go client,
// through every operation that the client has for the interfaces of the service,
// with nothing but its base URL and key changed.
package compat

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/responses/websearch"
)

const modelID = "svc-preview"

// connect serves the backend and returns a client of the server.
func connect(t *testing.T, backend model.Backend) openai.Client {
	t.Helper()
	return connectWith(t, svc.Options{Backend: backend})
}

func connectWith(t *testing.T, o svc.Options) openai.Client {
	t.Helper()
	service, err := svc.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	key, err := service.Bootstrap(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(httpapi.New(service, httpapi.Options{}))
	t.Cleanup(func() {
		server.Close()
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	return openai.NewClient(option.WithBaseURL(server.URL+"/v1"), option.WithAPIKey(key),
		option.WithHTTPClient(http.DefaultClient), option.WithMaxRetries(0))
}

// weather is a function call as a model makes it.
var weather = model.ToolCall{ID: "server-1", Name: "get_weather", Arguments: `{"city":"Paris"}`}

func script(answers ...modeltest.Answer) model.Backend { return modeltest.New(answers...) }

// pages is a search service that knows one page.
type pages struct{}

func (pages) Search(context.Context, string) ([]websearch.Result, error) {
	return []websearch.Result{{Title: "Tower", URL: "https://example.com", Snippet: "The tower is 330 metres high."}}, nil
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
