package openai_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/openai"
)

func TestHealth(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	defer server.Close()
	backend, err := openai.New(openai.Options{Models: []openai.Model{{
		Info:    model.Info{ID: "m", Generates: true},
		Targets: []openai.Target{{Server: &openai.Server{URL: server.URL}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	if got := backend.Health(); !maps.Equal(got, map[string]bool{server.URL: true}) {
		t.Errorf("before the first request: got %v", got)
	}
	for range 20 {
		for _, err := range backend.Generate(t.Context(), &model.Request{Model: "m", Messages: []model.Message{model.TextMessage(model.User, "Hi")}}) {
			if err == nil {
				t.Error("a server that fails answers")
			}
		}
		if !backend.Health()[server.URL] {
			return
		}
	}
	t.Error("a server that always fails is healthy")
}
