package client_test

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/batches"
	"github.com/seed-506d8e5d/svc/client"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/httpapi"
)

// TestBatches makes, reads, lists and cancels a batch from afar.
func TestBatches(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	quiet := slog.New(slog.DiscardHandler)
	service, err := svc.New(ctx, svc.Options{Logger: quiet})
	is.NoErr(err)
	defer service.Close()
	key, err := service.Bootstrap(ctx, "")
	is.NoErr(err)
	p := service.Parts()
	kept := batches.New(batches.Options{Store: p.Store, Cluster: p.Cluster, Accounts: p.Accounts, Files: p.Files, Now: p.Now, NewID: p.NewID, Log: quiet})
	server := httptest.NewServer(httpapi.New(service, httpapi.Options{Logger: quiet, Batches: kept}))
	defer server.Close()
	c := client.New(server.URL, key)
	file, err := c.UploadFile(ctx, client.Caller{}, files.Upload{Filename: "in.jsonl", MIMEType: "application/jsonl", Purpose: files.Batch, Content: strings.NewReader("{}\n")})
	is.NoErr(err)
	made, err := c.CreateBatch(ctx, client.Caller{}, batches.NewBatch{Endpoint: "/v1/decisions", InputFile: file.ID, Metadata: map[string]string{"a": "b"}, OutputsKept: 3600})
	is.NoErr(err)
	caller, err := service.Authenticate(ctx, key)
	is.NoErr(err)
	want, err := kept.Get(ctx, caller, made.ID)
	is.NoErr(err)
	want.Key, want.OutputsKept = "", 0 // the server's
	is.Equal(made, want)
	got, err := c.Batch(ctx, client.Caller{}, made.ID)
	is.NoErr(err)
	is.Equal(got, want)
	list, err := c.Batches(ctx, client.Caller{}, client.Page{})
	is.NoErr(err)
	is.Equal(list.Items, []batches.Batch{want})
	cancelled, err := c.CancelBatch(ctx, client.Caller{}, made.ID)
	is.NoErr(err)
	is.Equal(cancelled.Status, batches.Cancelling)
}
