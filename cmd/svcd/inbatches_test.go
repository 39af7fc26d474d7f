package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-506d8e5d/svc/client"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/page"
)

// watched is a server behind a proxy that counts batches and cancels a run.
type watched struct {
	*client.Client
	url     string
	batches atomic.Int64                       // that were made
	cancel  atomic.Pointer[context.CancelFunc] // called where a batch is asked about, or its output
	when    atomic.Pointer[string]             // how the path of that request begins
}

func startWatched(t *testing.T) *watched {
	s := startServer(t, t.TempDir())
	t.Cleanup(s.kill)
	w := &watched{Client: client.New(s.url, killKey)}
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" && r.URL.Path == "/v1/batches" {
			w.batches.Add(1)
		}
		if when := w.when.Load(); when != nil && strings.HasPrefix(r.Method+" "+r.URL.Path, *when) {
			(*w.cancel.Load())()
			return
		}
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(front.Close)
	w.url = front.URL
	return w
}

// run runs a command, and cancels it at the first request that begins so.
func (w *watched) run(t *testing.T, when string, args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.cancel.Store(&cancel)
	w.when.Store(nil)
	if when != "" {
		w.when.Store(&when)
	}
	return run(ctx, append([]string{args[0], "-url", w.url, "-key", killKey}, args[1:]...)...)
}

// left returns how many files of batches the server has.
func (w *watched) left(t *testing.T) int {
	t.Helper()
	list, err := w.Files(t.Context(), client.Caller{}, "", page.Params{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range list.Items {
		if f.Purpose == files.Batch || f.Purpose == files.BatchOutput {
			n++
		}
	}
	return n
}

// TestDecideInBatches holds a run in batches to the output of one that asks row by row,
// wherever it is interrupted, with one batch for all of its runs.
func TestDecideInBatches(t *testing.T) {
	w := startWatched(t)
	dir := t.TempDir()
	in, questions, want, got := filepath.Join(dir, "in.csv"), filepath.Join(dir, "q.json"), filepath.Join(dir, "want.csv"), filepath.Join(dir, "got.csv")
	var rows strings.Builder
	rows.WriteString("id,state\n")
	for i := range 60 {
		fmt.Fprintf(&rows, "%d,\"row, %d about a refund\"\n", i, i%7)
	}
	rows.WriteString("60,\"" + strings.Repeat("far too long ", 60_000) + "\"\n")
	writeFiles(t, map[string]string{in: rows.String(), questions: `{"c":{"type":"choice","criteria":{"billing":"Charges and refunds","other":null}},"n":{"type":"noul","instructions":"Is it about money?"}}`})
	if _, stderr, err := w.run(t, "", "decide", "-questions", questions, "-out", want, in); err != nil {
		t.Fatal(err, stderr)
	}
	args := []string{"decide", "-batch", "-questions", questions, "-out", got, "-resume", in}
	for _, when := range []string{"GET /v1/batches/", "GET /v1/files/"} {
		if _, _, err := w.run(t, when, args...); err == nil {
			t.Fatalf("the run that was cancelled at %s succeeded", when)
		}
	}
	// What a kill leaves: some rows, and a piece of one.
	first, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, map[string]string{got: string(first[:len(first)/1000*2])})
	if _, stderr, err := w.run(t, "", args...); err != nil || !strings.Contains(stderr, "61 of 61 rows") {
		t.Fatal(err, stderr)
	}
	if second, err := os.ReadFile(got); err != nil || string(second) != string(first) {
		t.Errorf("%v, got\n%s\nwant\n%s", err, second, first)
	}
	if n := w.batches.Load(); n != 1 {
		t.Errorf("%d batches were made", n)
	}
	if n := w.left(t); n != 0 {
		t.Errorf("%d files are left", n)
	}
	// The same command over the same rows is a new question.
	if err := os.Remove(got); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.run(t, "", args...); err != nil || w.batches.Load() != 2 {
		t.Errorf("%v, %d batches were made", err, w.batches.Load())
	}
	writeFiles(t, map[string]string{questions: `{"n":{"type":"none"}}`})
	if _, _, err := w.run(t, "", "decide", "-batch", "-questions", questions, in); err == nil || !strings.HasPrefix(err.Error(), "request 1: ") {
		t.Errorf("a question that there is not: %v", err)
	}
	writeFiles(t, map[string]string{questions: `{"n":{"type":"noul"}}`})
	if _, _, err := w.run(t, "", "decide", "-batch", "-model", "none", "-questions", questions, in); err == nil || !strings.Contains(err.Error(), " failed: request 1: ") {
		t.Errorf("a model that there is not: %v", err)
	}
}

func writeFiles(t *testing.T, contents map[string]string) {
	t.Helper()
	for name, content := range contents {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEvalInBatches holds a report of batches to one that was asked row by row, but for
// the latency.
func TestEvalInBatches(t *testing.T) {
	w := startWatched(t)
	dir := t.TempDir()
	in, questions, kept := filepath.Join(dir, "in.csv"), filepath.Join(dir, "q.json"), filepath.Join(dir, "kept.jsonl")
	var rows strings.Builder
	rows.WriteString("text,c.label\n")
	for i := range 40 {
		fmt.Fprintf(&rows, "row %d about %s,%s\n", i, []string{"a refund", "a parcel"}[i%2], []string{"refund", "parcel"}[i%2])
	}
	writeFiles(t, map[string]string{in: rows.String(), questions: `{"c":{"type":"choice","criteria":{"refund":"Money back","parcel":"Where it is"}}}`})
	args := []string{"eval", "-questions", questions, "-out", filepath.Join(dir, "page.html")}
	want, _, err := w.run(t, "", append(args, in)...)
	if err != nil {
		t.Fatal(err)
	}
	args = append(args, "-batch", "-answers", kept, in)
	if _, _, err := w.run(t, "GET /v1/batches/", args...); err == nil {
		t.Fatal("the run that was cancelled succeeded")
	}
	got, stderr, err := w.run(t, "", args...)
	if err != nil || withoutLatency(got) != withoutLatency(want) || !strings.Contains(stderr, "80 of 80 answers by svc-snap-preview") {
		t.Errorf("%v, got\n%s\nwant\n%s\n%s", err, got, want, stderr)
	}
	if n := w.batches.Load(); n != 1 || w.left(t) != 0 {
		t.Errorf("%d batches were made, and %d files are left", n, w.left(t))
	}
	// A run that broke off after some of the answers were kept takes only the others.
	data, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, map[string]string{kept: string(data[:len(data)/2])})
	if again, _, err := w.run(t, "", args...); err != nil || again != got || w.batches.Load() != 2 {
		t.Errorf("%v, %d batches, got\n%s\nwant\n%s", err, w.batches.Load(), again, got)
	}
	if n := strings.Count(got, "–"); !strings.Contains(got, "latency") || n == 0 {
		t.Errorf("a latency that nobody measured is shown in\n%s", got)
	}
}

func withoutLatency(report string) string {
	var b strings.Builder
	for line := range strings.Lines(report) {
		if !strings.HasPrefix(line, "latency") {
			b.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
		}
	}
	return b.String()
}

// TestLabels stores decisions about labelled rows, gives them their labels, and takes
// them out again.
func TestLabels(t *testing.T) {
	url := newServer(t)
	stdout, _, err := svcd(t, url, "org create T -credits 1 -json")
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ ID, Key string }
	if err := json.Unmarshal([]byte(stdout), &made); err != nil {
		t.Fatal(err)
	}
	if stdout, _, err = svcd(t, url, "key create -json -org "+made.ID); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(stdout), &made); err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) (stdout, stderr string, err error) {
		return run(t.Context(), append(args, "-url", url, "-key", made.Key)...)
	}
	dir := t.TempDir()
	in, questions, out := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "q.json"), filepath.Join(dir, "out.jsonl")
	writeFiles(t, map[string]string{
		in:        `{"state":"a <b>","n.label":true}` + "\n" + `{"state":{"b":1},"c.label":"x"}` + "\n" + `{"state":"c"}` + "\n",
		questions: `{"c":{"type":"choice","criteria":{"x":null,"y":null}},"n":{"type":"noul"}}`,
	})
	if _, _, err := command("decide", "-store", "-questions", questions, "-out", out, in); err != nil {
		t.Fatal(err)
	}
	if _, stderr, err := command("labels", "import", out); err != nil || stderr != out+": 2 decisions are labelled.\n" {
		t.Fatalf("%v: %s", err, stderr)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for line := range strings.Lines(string(data)) {
		var row struct{ Decision string }
		if err := json.Unmarshal([]byte(line), &row); err != nil || !strings.HasPrefix(row.Decision, "dec_") {
			t.Fatalf("%v: %s", err, line)
		}
		ids = append(ids, row.Decision)
	}
	lines := []string{
		`{"decision":"` + ids[0] + `","model":"svc-snap-preview","state":"a <b>","n.label":true}` + "\n",
		`{"decision":"` + ids[1] + `","model":"svc-snap-preview","state":{"b":1},"c.label":"x"}` + "\n",
		`{"decision":"` + ids[2] + `","model":"svc-snap-preview","state":"c"}` + "\n",
	}
	labelled, all := slices.Sorted(slices.Values(lines[:2])), slices.Sorted(slices.Values(lines)) // by their IDs
	for args, want := range map[string]string{
		"":                             strings.Join(labelled, ""),
		"-all":                         strings.Join(all, ""),
		"-question none":               "",
		"-question c -model none":      "",
		"-model svc-snap-preview -all": strings.Join(all, ""),
	} {
		if stdout, _, err := command(append([]string{"labels", "export"}, strings.Fields(args)...)...); err != nil || stdout != want {
			t.Errorf("export %s: %v, got\n%s\nwant\n%s", args, err, stdout, want)
		}
	}
	bad := filepath.Join(dir, "bad.jsonl")
	writeFiles(t, map[string]string{bad: `{"decision":"` + ids[0] + `","n.label":null}` + "\n\n{\n" + `{"n.label":true}` + "\n" + `{"decision":"dec_00","n.label":true}` + "\n" + `{"decision":"` + ids[2] + `","c.label":"z"}` + "\n"})
	_, stderr, err := command("labels", "import", bad)
	if want := bad + ": 4 lines were not taken"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for _, want := range []string{": line 3: ", `: line 4: it has no member "decision"`, ": line 5: No decision", ": line 6: ", ": 1 decisions are labelled.\n"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q is not in\n%s", want, stderr)
		}
	}
	if stdout, _, err := command("labels", "export"); err != nil || stdout != lines[1] {
		t.Errorf("%v, got\n%s\nwant\n%s", err, stdout, lines[1])
	}
	csv := filepath.Join(dir, "out.csv")
	writeFiles(t, map[string]string{filepath.Join(dir, "in.csv"): "state\na\n"})
	if _, _, err := command("decide", "-store", "-questions", questions, "-out", csv, filepath.Join(dir, "in.csv")); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(csv); err != nil || !strings.HasPrefix(string(data), "state,c,c.confidence,c.p.x,c.p.y,n,error,decision\n") || !strings.Contains(string(data), ",,dec_") {
		t.Errorf("%v, got %s", err, data)
	}
}
