package main

import (
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

var decideRows = flag.Int("decide-rows", 500, "rows of TestDecideIsResumed")

// TestDecideIsResumed breaks off runs over many rows and goes on: each row is in
// the output once, in order.
func TestDecideIsResumed(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("id,state\n")
	for i := range *decideRows {
		fmt.Fprintf(&text, "%d,\"row, %d\nof many\"\n", i, i)
	}
	in, out, questions := filepath.Join(dir, "in.csv"), filepath.Join(dir, "out.csv"), filepath.Join(dir, "q.json")
	for name, content := range map[string]string{in: text.String(), questions: `{"c":{"type":"choice","criteria":{"a":null,"b":null}},"n":{"type":"noul"}}`} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var asked, stop atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), `"state":"row, `) || r.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("got %s", body)
		}
		if n := asked.Add(1); n > stop.Load() {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"detail":{"message":"Enough."}}`)
			return
		}
		fmt.Fprint(w, `{"answers":{"c":{"choice":"a","confidence":0.75,"probabilities":{"a":0.75,"b":0.25}},"n":{"noul":0.5}}}`)
	}))
	defer server.Close()
	run := func() error {
		env := environment{args: []string{"decide", "-url", server.URL, "-key", "k", "-questions", questions, "-out", out, "-resume", in},
			getenv: func(string) string { return "" }, stdout: io.Discard, stderr: io.Discard}
		return env.run(t.Context())
	}
	for i := 1; i <= 4; i++ {
		stop.Store(int64(*decideRows * i / 6))
		if err := run(); err == nil || !strings.Contains(err.Error(), "Enough.") {
			t.Fatalf("run %d: %v", i, err)
		}
		// What a kill leaves: a part of a row.
		file, err := os.OpenFile(out, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(file, []string{"", "7", "\"7,row", "7,\"row\nof"}[i-1])
		file.Close()
	}
	stop.Store(1 << 40)
	if err := run(); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil || len(records) != *decideRows+1 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	if got := strings.Join(records[0], "|"); got != "id|state|c|c.confidence|c.p.a|c.p.b|n|error" {
		t.Errorf("heading %s", got)
	}
	for i, record := range records[1:] {
		if want := fmt.Sprintf("%d|row, %d\nof many|a|0.75|0.75|0.25|0.5|", i, i); strings.Join(record, "|") != want {
			t.Fatalf("row %d: %q", i, record)
		}
	}
}
