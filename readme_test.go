package svc_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
)

var updateReadme = flag.Bool("update-readme", false, "write the answers that TestReadmeExamples gets into README.md")

// example is a command of the README with the answer that is shown behind it.
var example = regexp.MustCompile("(?s)```sh\ncurl http://127\\.0\\.0\\.1:8080(\\S+) [^']*'([^']*)'\n```\n\n```json\n(.*?)\n```")

// TestReadmeExamples sends what the README says to send, one after another, and
// compares what comes back with what it shows. IDs and times differ each time.
func TestReadmeExamples(t *testing.T) {
	service, err := svc.New(t.Context(), svc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	key, err := service.Bootstrap(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(httpapi.New(service, httpapi.Options{}))
	defer server.Close()

	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := example.FindAllSubmatchIndex(readme, -1)
	if len(examples) < 5 {
		t.Fatalf("%d examples found", len(examples))
	}
	updated, last, written := []byte(nil), "", 0
	for _, at := range examples {
		path, body, shown := string(readme[at[2]:at[3]]), string(readme[at[4]:at[5]]), string(readme[at[6]:at[7]])
		answer := post(t, server.URL+path, key, strings.ReplaceAll(body, "resp_…", last))
		last = firstID(answer)
		if got, want := settled(indented(t, answer)), settled(shown); got != want {
			if !*updateReadme {
				t.Errorf("%s\ngot  %s\nwant %s", body, got, want)
			}
		}
		updated = append(append(updated, readme[written:at[6]]...), indented(t, answer)...)
		written = at[7]
	}
	if *updateReadme {
		if err := os.WriteFile("README.md", append(updated, readme[written:]...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func post(t *testing.T, url, key, body string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %v", resp.Status, answer, err)
	}
	return answer
}

// firstID is the ID of the object that an answer is.
func firstID(answer []byte) string {
	var object struct{ ID string }
	if json.Unmarshal(answer, &object) != nil {
		return ""
	}
	return object.ID
}

func indented(t *testing.T, answer []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, answer, "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var (
	ids   = regexp.MustCompile(`_[0-9a-z]{26}`)
	times = regexp.MustCompile(`_at": \d+|"created": \d+`)
)

// settled replaces what differs each time.
func settled(answer string) string {
	return times.ReplaceAllString(ids.ReplaceAllString(answer, "_…"), "at…")
}

// TestReadmeEmbeds holds the program in the README to the example that is built
// and run.
func TestReadmeEmbeds(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("examples/embed/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(program), "package main")
	if !strings.Contains(string(readme), "```go\npackage main"+code+"```") {
		t.Error("the program in README.md is not that of examples/embed")
	}
}
