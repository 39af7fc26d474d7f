package svc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
)

var updateReadme = flag.Bool("update-readme", false, "write the answers that TestReadmeExamples gets into the README and the guides")

// example is a command of the README with the answer that is shown behind it,
// in full or as the text of its message. The command sends JSON, or a file whose
// content is in the line before.
var example = regexp.MustCompile("(?s)```sh\n(?:export [^\n]*\n)?(?:echo \"([^\"]*)\" > \\S+\n)?curl http://127\\.0\\.0\\.1:8080(\\S+) ([^`]*)\n```\n\n" +
	"(?:```json\n(.*?)\n?```|Its answer is \"([^\"]*)\")")

var (
	jsonBody = regexp.MustCompile(`(?s)-d '([^']*)'`)
	fileForm = regexp.MustCompile(`-F purpose=(\S+) -F "file=@(\S+);type=(\S+)"`)
	anyID    = regexp.MustCompile(`[a-z]+_…`)
)

// guides have examples, and how many at least.
var guides = map[string]int{"README.md": 1, "docs/documents.md": 5, "docs/agents.md": 1}

// TestReadmeExamples sends what the README and the guides say to send, one after
// another, and compares what comes back with what they show. IDs and times differ each
// time.
func TestReadmeExamples(t *testing.T) {
	for file, least := range guides {
		t.Run(file, func(t *testing.T) { runExamples(t, file, least) })
	}
}

func runExamples(t *testing.T, file string, least int) {
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

	readme, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	examples := example.FindAllSubmatchIndex(readme, -1)
	if len(examples) < least {
		t.Fatalf("%d examples found", len(examples))
	}
	updated, last, written := []byte(nil), "", 0
	for _, at := range examples {
		group := func(n int) string { return string(readme[max(at[2*n], 0):max(at[2*n+1], 0)]) }
		command, shown := group(3), 4
		answer := post(t, server.URL+group(2), key, group(1), anyID.ReplaceAllString(command, last))
		last = firstID(answer)
		got := indented(t, answer)
		if at[2*shown] < 0 {
			got, shown = message(t, answer), 5
		}
		if want := group(shown); shows(settled(want), settled(got)) {
			got = want // as short as it is
		} else if !*updateReadme {
			t.Errorf("%s\ngot  %s\nwant %s", command, settled(got), settled(want))
		}
		updated = append(append(updated, readme[written:at[2*shown]]...), got...)
		written = at[2*shown+1]
	}
	if *updateReadme {
		if err := os.WriteFile(file, append(updated, readme[written:]...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// post does what a curl command with a JSON body or with a file does.
func post(t *testing.T, url, key, content, command string) []byte {
	t.Helper()
	var body bytes.Buffer
	contentType := "application/json"
	if form := fileForm.FindStringSubmatch(command); form != nil {
		contentType = writeForm(t, &body, form[1:], content)
	} else {
		body.WriteString(jsonBody.FindStringSubmatch(command)[1])
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", contentType)
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

// writeForm writes an upload: form has its purpose, filename and type. It
// returns the Content-Type.
func writeForm(t *testing.T, body io.Writer, form []string, content string) string {
	t.Helper()
	w := multipart.NewWriter(body)
	part, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition("file", form[1])},
		"Content-Type":        {form[2]},
	})
	if err == nil {
		_, err = io.WriteString(part, content+"\n")
	}
	if err := errors.Join(err, w.WriteField("purpose", form[0]), w.Close()); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType()
}

// message is the text of a response's last item.
func message(t *testing.T, answer []byte) string {
	t.Helper()
	var response struct {
		Output []struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal(answer, &response); err != nil || len(response.Output) == 0 {
		t.Fatalf("%s: %v", answer, err)
	}
	return response.Output[len(response.Output)-1].Content[0].Text
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

// elision is a line that stands for any lines, with those around it.
var elision = regexp.MustCompile(`(?m)^ *…$\n?`)

// shows reports whether a text is an answer, but for the lines that it leaves out.
func shows(text, answer string) bool {
	parts := elision.Split(text, -1)
	if !strings.HasPrefix(answer, parts[0]) || !strings.HasSuffix(answer, parts[len(parts)-1]) || len(parts) == 1 && text != answer {
		return false
	}
	for _, part := range parts {
		_, rest, found := strings.Cut(answer, part)
		if !found {
			return false
		}
		answer = rest
	}
	return true
}

// settled replaces what differs each time.
func settled(answer string) string {
	return times.ReplaceAllString(ids.ReplaceAllString(answer, "_…"), "at…")
}

// TestReadmeEmbeds holds the program in the guide to the example that is built
// and run.
func TestReadmeEmbeds(t *testing.T) {
	readme, err := os.ReadFile("docs/embedding.md")
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
