package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

var (
	decideRows  = flag.Int("decide.rows", 500, "rows of TestDecideIsResumed and TestDecideSurvivesKills")
	decideKills = flag.Int("decide.kills", 4, "how often TestDecideSurvivesKills kills")
)

// rowsToDecide writes a file of as many rows as there are to be, and one of two
// questions, and names a file for the answers.
func rowsToDecide(t *testing.T) (in, out, questions string) {
	t.Helper()
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("id,state\n")
	for i := range *decideRows {
		fmt.Fprintf(&text, "%d,\"row, %d\nof many\"\n", i, i)
	}
	in, out, questions = filepath.Join(dir, "in.csv"), filepath.Join(dir, "out.csv"), filepath.Join(dir, "q.json")
	for name, content := range map[string]string{in: text.String(), questions: `{"c":{"type":"choice","criteria":{"a":null,"b":null}},"n":{"type":"noul"}}`} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return in, out, questions
}

// TestDecideIsResumed breaks off runs over many rows and goes on: each row is in
// the output once, in order.
func TestDecideIsResumed(t *testing.T) {
	in, out, questions := rowsToDecide(t)
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
	if err := os.WriteFile(out, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	again := environment{args: []string{"decide", "-url", server.URL, "-key", "k", "-questions", questions, "-out", out, in},
		getenv: func(string) string { return "" }, stdout: io.Discard, stderr: io.Discard}
	if err := again.run(t.Context()); err == nil || !strings.Contains(err.Error(), "exists already: go on behind its rows with -resume") {
		t.Fatalf("a file that is there: %v", err)
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
	checkDecided(t, out)
	if err := os.WriteFile(questions, []byte(`{"other":{"type":"noul"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(); err == nil || !strings.Contains(err.Error(), "those of other questions or rows") {
		t.Errorf("other questions: %v", err)
	}
}

// checkDecided checks that a file has each row once, in order, with its answers.
func checkDecided(t *testing.T, out string) {
	t.Helper()
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

// TestDecideSurvivesKills kills svcd decide at random moments and starts it again:
// each row is in the output once, in order, and asked about again only where its
// answer was under way.
//
//	go test ./cmd/svcd -run DecideSurvivesKills -decide.rows 10000 -decide.kills 25
func TestDecideSurvivesKills(t *testing.T) {
	in, out, questions := rowsToDecide(t)
	var asked, killAt atomic.Int64
	kill := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == killAt.Load() {
			kill <- struct{}{}
		}
		fmt.Fprint(w, `{"answers":{"c":{"choice":"a","confidence":0.75,"probabilities":{"a":0.75,"b":0.25}},"n":{"noul":0.5}}}`)
	}))
	defer server.Close()
	random := rand.New(rand.NewPCG(11, 12))
	each := int64(*decideRows / (*decideKills + 1))
	for round := 0; ; round++ {
		killAt.Store(-1)
		if round < *decideKills {
			killAt.Store(asked.Load() + 1 + random.Int64N(2*each))
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "decide", "-url", server.URL, "-key", "k", "-questions", questions, "-out", out, "-resume", in)
		cmd.Env = append(os.Environ(), killChild+"=1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-kill:
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			<-ended
		case err := <-ended:
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			checkDecided(t, out)
			if again := asked.Load() - int64(*decideRows); again > int64(*decideKills*2*64) {
				t.Errorf("%d rows were asked about again", again)
			} else {
				t.Logf("%d rows, killed %d times, %d asked about again", *decideRows, round, again)
			}
			return
		}
	}
}

// TestDecideFolder decides about documents, of which one cannot be read.
func TestDecideFolder(t *testing.T) {
	dir := t.TempDir()
	folder, questions := filepath.Join(dir, "docs"), filepath.Join(dir, "q.json")
	for name, content := range map[string]string{
		filepath.Join(folder, "b.txt"): "good", filepath.Join(folder, "a", "x.md"): "fine", filepath.Join(folder, "c.exe"): "\x00",
		filepath.Join(folder, ".hidden"): "x", questions: `{"n":{"type":"noul"}}`,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct{ State string }
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, `{"answers":{"n":{"noul":0.%d}}}`, len(req.State))
	}))
	defer server.Close()
	stdout, _, err := run(t.Context(), "decide", "-url", server.URL, "-key", "k", "-questions", questions, folder)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(stdout, "\n")
	if len(lines) != 5 || lines[0] != "file,n,error" || lines[1] != filepath.Join("a", "x.md")+",0.4," || lines[2] != "b.txt,0.4," || !strings.HasPrefix(lines[3], "c.exe,,") || len(lines[3]) < 12 {
		t.Errorf("got %q", lines)
	}
	out := filepath.Join(dir, "out.jsonl")
	if _, _, err := run(t.Context(), "decide", "-url", server.URL, "-key", "k", "-questions", questions, "-out", out, folder); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if first, _, _ := strings.Cut(string(data), "\n"); err != nil || first != `{"file":"`+filepath.Join("a", "x.md")+`","answers":{"n":{"noul":0.4}}}` {
		t.Errorf("got %s, %v", data, err)
	}
}
