package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/batches"
	"github.com/seed-506d8e5d/svc/client"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
)

var (
	batchLines = flag.Int("batch.lines", 2000, "lines of the batch of TestBatchSurvivesKills")
	batchKills = flag.Int("batch.kills", 4, "how often TestBatchSurvivesKills kills a server at most")
)

// TestBatchSurvivesKills kills servers in the middle of a batch: in the end every line
// is answered once, in order, and charged once.
func TestBatchSurvivesKills(t *testing.T) {
	t.Run("embedded", func(t *testing.T) { batchSurvivesKills(t, newCluster(t, 1, t.TempDir())) })
	t.Run("replicas", func(t *testing.T) { batchSurvivesKills(t, newCluster(t, 3, pgtest.Database(t))) })
}

func batchSurvivesKills(t *testing.T, c *cluster) {
	ctx := t.Context()
	here := func() *client.Client { return client.New(c.server(0).url, killKey) }
	file, err := here().UploadFile(ctx, client.Caller{}, files.Upload{
		Filename: "in.jsonl", MIMEType: "application/jsonl", Purpose: files.Batch, Content: strings.NewReader(linesOf(*batchLines)),
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := here().CreateBatch(ctx, client.Caller{}, batches.NewBatch{Endpoint: "/v1/responses", InputFile: file.ID})
	if err != nil {
		t.Fatal(err)
	}
	kills := 0
	for began := time.Now(); !b.Status.Ended(); {
		// The moment of the kill is what the test is about; it waits for nothing.
		<-time.After(time.Duration(rand.IntN(300)) * time.Millisecond)
		if kills < *batchKills {
			kills++
			c.replace(rand.IntN(len(c.servers)))
		}
		if b, err = here().Batch(ctx, client.Caller{}, b.ID); err != nil {
			t.Fatal(err)
		}
		if time.Since(began) > patience+time.Duration(*batchKills)*5*time.Second {
			t.Fatalf("the batch is %s with %d of %d lines", b.Status, b.Completed, b.Total)
		}
	}
	if b.Status != batches.Completed || b.Completed != *batchLines || b.Failed != 0 {
		t.Fatalf("got %+v", b)
	}
	checkOutput(t, here(), b)
	checkLedger(ctx, t, c.server(0).url, b)
	t.Logf("%d lines survived %d kills", b.Total, kills)
}

// linesOf returns requests that are stored.
func linesOf(n int) string {
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, `{"custom_id":"line %d","method":"POST","url":"/v1/responses","body":{"model":"svc-preview","input":"Say the number %d.","store":true}}`+"\n", i, i)
	}
	return lines.String()
}

// checkOutput holds the output file to one line for each request, in order, each with
// a response that is stored.
func checkOutput(t *testing.T, here *client.Client, b batches.Batch) {
	t.Helper()
	_, content, err := here.FileContent(t.Context(), client.Caller{}, b.OutputFile)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for lines := bufio.NewScanner(content); lines.Scan(); n++ {
		var line struct {
			CustomID string `json:"custom_id"`
			Response struct {
				StatusCode int `json:"status_code"`
				Body       struct{ ID, Status string }
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil || line.CustomID != fmt.Sprintf("line %d", n) || line.Response.Body.Status != "completed" {
			t.Fatalf("line %d: %v, got %s", n, err, lines.Bytes())
		}
		if n%50 == 0 {
			if _, err := here.Response(t.Context(), client.Caller{}, line.Response.Body.ID); err != nil {
				t.Fatalf("line %d: %v", n, err)
			}
		}
	}
	if n != b.Total {
		t.Fatalf("got %d lines, want %d", n, b.Total)
	}
}

// checkLedger holds the ledger to one charge for each line, and the tokens of the batch
// to theirs.
func checkLedger(ctx context.Context, t *testing.T, url string, b batches.Batch) {
	t.Helper()
	admin := client.New(url, testAdminKey)
	var cost accounts.Micros
	var input, output int
	var objects []string
	for p := (page.Params{Limit: 1000}); ; {
		list, err := admin.Usage(ctx, accounts.DefaultOrganization, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Items {
			cost += e.Cost()
			input += e.Use.InputTokens
			output += e.Use.OutputTokens
			objects = append(objects, e.Use.Object)
			p.After = e.ID
		}
		if !list.HasMore {
			break
		}
	}
	slices.Sort(objects)
	if n := len(slices.Compact(objects)); n != b.Total || len(objects) != b.Total {
		t.Errorf("got %d charges for %d responses, want %d", len(objects), n, b.Total)
	}
	<-time.After(time.Second) // after which a server knows what the others have charged
	organization, err := admin.Organization(ctx, accounts.DefaultOrganization)
	if err != nil {
		t.Fatal(err)
	}
	if organization.Credits != 1000*accounts.Dollar-cost || input != b.InputTokens || output != b.OutputTokens {
		t.Errorf("got credits of %v after %v, and %d and %d tokens, want %d and %d", organization.Credits, cost, input, output, b.InputTokens, b.OutputTokens)
	}
}
