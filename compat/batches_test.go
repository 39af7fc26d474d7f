package compat

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/seed-506d8e5d/svc"
)

// TestBatchesAndWebhooks runs a batch with the official client for Go, which unwraps
// the event that is posted at its end.
func TestBatchesAndWebhooks(t *testing.T) {
	g := &gallery{}
	g.serve(t, svc.Options{})
	ctx := t.Context()
	events := make(chan *http.Request, 1)
	bodies := make(chan []byte, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		check(t, err)
		bodies <- body
		events <- r
	}))
	defer receiver.Close()
	c := openai.NewClient(option.WithBaseURL(g.url), option.WithAPIKey(g.key))
	var endpoint struct {
		Secret string `json:"signing_secret"`
	}
	check(t, c.Post(ctx, "webhook_endpoints", map[string]any{"name": "Mine", "url": receiver.URL, "event_types": []string{"batch.completed"}}, &endpoint))

	file, err := c.Files.New(ctx, openai.FileNewParams{
		File:    openai.File(strings.NewReader(`{"custom_id":"a","method":"POST","url":"/v1/embeddings","body":{"model":"svc-preview","input":"x"}}`), "in.jsonl", "application/jsonl"),
		Purpose: openai.FilePurposeBatch,
	})
	check(t, err)
	batch, err := c.Batches.New(ctx, openai.BatchNewParams{
		InputFileID: file.ID, Endpoint: openai.BatchNewParamsEndpointV1Embeddings, CompletionWindow: openai.BatchNewParamsCompletionWindow24h,
	})
	check(t, err)
	var body []byte
	select {
	case body = <-bodies:
	case <-time.After(nodeTimeout):
		t.Fatal("no event was posted")
	}
	r := <-events
	event, err := c.Webhooks.Unwrap(body, r.Header, option.WithWebhookSecret(endpoint.Secret))
	check(t, err)
	if event.Type != "batch.completed" || event.AsBatchCompleted().Data.ID != batch.ID {
		t.Errorf("got %s", body)
	}
	done, err := c.Batches.Get(ctx, batch.ID)
	check(t, err)
	if done.Status != openai.BatchStatusCompleted || done.RequestCounts.Completed+done.RequestCounts.Failed != 1 {
		t.Fatalf("got %s", done.RawJSON())
	}
	content, err := c.Files.Content(ctx, done.OutputFileID+done.ErrorFileID)
	check(t, err)
	defer content.Body.Close()
	var line struct {
		CustomID string `json:"custom_id"`
	}
	check(t, json.NewDecoder(content.Body).Decode(&line))
	if line.CustomID != "a" {
		t.Errorf("got the line %+v", line)
	}
}
