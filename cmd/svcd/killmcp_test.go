package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// noting is a model server that calls the tool note with the user's last message, and
// answers when it has the output.
func noting(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []struct {
				Role    string
				Content any
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&body) // what is no request gets an answer, too
		said, done := "", false
		for _, m := range body.Messages {
			switch m.Role {
			case "user":
				said, done = fmt.Sprint(m.Content), false
			case "tool":
				done = true
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		delta, reason := `{"content":"Noted."}`, "stop"
		if !done {
			arguments, _ := json.Marshal(`{"text":"` + said + `"}`)
			delta, reason = `{"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"s__note","arguments":`+string(arguments)+`}}]}`, "tool_calls"
		}
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n", delta, reason)
	}))
	t.Cleanup(s.Close)
	return s
}

// notes is an MCP server whose tool note takes a moment, and counts its calls by text.
type notes struct {
	mu    sync.Mutex
	calls map[string]int
}

func (n *notes) serve(t *testing.T) string {
	server := mcp.NewServer(&mcp.Implementation{Name: "notes"}, nil)
	server.AddTool(&mcp.Tool{Name: "note", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var note struct{ Text string }
		if err := json.Unmarshal(r.Params.Arguments, &note); err != nil {
			return nil, err
		}
		n.mu.Lock()
		n.calls[note.Text]++
		n.mu.Unlock()
		<-time.After(time.Duration(rand.IntN(150)) * time.Millisecond)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, nil
	})
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(s.Close)
	return s.URL
}

// approval is a request for approval that a client knows of.
type approval struct{ note, response, id string }

// approvals are those that have not been answered as far as clients were told, and the
// turns that began.
type approvals struct {
	mu    sync.Mutex
	open  map[approval]bool
	turns map[string]bool
	next  atomic.Int64
}

// TestKillWhileToolsRun kills servers while they make calls that were approved. After the
// last restart each approval is answered again, as clients do that were told nothing:
// no call is made twice, and every conversation goes on.
func TestKillWhileToolsRun(t *testing.T) {
	n, data := &notes{calls: map[string]int{}}, t.TempDir()
	file := filepath.Join(t.TempDir(), "svc.json")
	config := fmt.Sprintf(`{"servers":{"m":{"url":"%s/v1"}},"models":[{"id":"svc-preview","generates":true,"targets":[{"server":"m"}]}],"mcp_servers":{"s":{"url":"%s"}}}`, noting(t).URL, n.serve(t))
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &approvals{open: map[approval]bool{}, turns: map[string]bool{}}
	for range *killRounds {
		server := startServer(t, data, "-config", file)
		ctx, cancel := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		for range killWriters {
			clients.Go(func() {
				for a.ask(ctx, server) {
				}
			})
		}
		// The moment of the kill is what the test is about; it waits for nothing.
		<-time.After(time.Duration(300+rand.IntN(1500)) * time.Millisecond)
		server.kill()
		cancel()
		clients.Wait()
	}
	server := startServer(t, data, "-config", file)
	defer server.kill()
	restarted, again := time.Now(), len(a.open)
	for one := range a.open {
		a.settle(t, server, one, restarted)
	}
	for id := range a.turns {
		server.ended(t, id, restarted)
	}
	made := 0
	for note, times := range n.calls {
		made += times
		if times > 1 {
			t.Errorf("%s was called %d times", note, times)
		}
	}
	if made == 0 || again == 0 {
		t.Fatalf("%d calls were made, and %d approvals were open", made, again)
	}
	t.Logf("%d kills, %d calls, %d approvals answered again", *killRounds, made, again)
}

const noteTools = `"tools":[{"type":"mcp","server_label":"s"}]`

// ask has the model ask for approval and approves. It reports whether the server lives.
func (a *approvals) ask(ctx context.Context, s *killable) bool {
	note := fmt.Sprintf("note %d", a.next.Add(1))
	res, err := s.do(ctx, http.MethodPost, "/v1/responses", strings.NewReader(`{"model":"svc-preview","input":"`+note+`",`+noteTools+`}`))
	if err != nil {
		return false
	}
	defer res.Body.Close()
	var turn struct {
		ID     string
		Output []struct{ ID, Type string }
	}
	if json.NewDecoder(res.Body).Decode(&turn) != nil {
		return false
	}
	for _, item := range turn.Output {
		if item.Type != "mcp_approval_request" {
			continue
		}
		one := approval{note, turn.ID, item.ID}
		a.mu.Lock()
		a.open[one] = true
		a.mu.Unlock()
		status, body, err := a.approve(ctx, s, one)
		if err != nil {
			return false
		}
		if status == http.StatusOK && strings.Contains(body, "event: response.completed") {
			a.mu.Lock()
			delete(a.open, one)
			a.mu.Unlock()
		}
	}
	return true
}

// approve answers a request for approval, and returns the whole answer.
func (a *approvals) approve(ctx context.Context, s *killable, one approval) (int, string, error) {
	res, err := s.do(ctx, http.MethodPost, "/v1/responses", strings.NewReader(`{"model":"svc-preview","stream":true,"previous_response_id":"`+one.response+
		`","input":[{"type":"mcp_approval_response","approval_request_id":"`+one.id+`","approve":true}],`+noteTools+`}`))
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	var all bytes.Buffer
	body := bufio.NewReader(io.TeeReader(res.Body, &all))
	for {
		line, err := body.ReadString('\n')
		if found := responseID.FindString(line); found != "" && strings.Contains(line, `"response.created"`) {
			a.mu.Lock()
			a.turns[found] = true
			a.mu.Unlock()
		}
		if err == io.EOF {
			return res.StatusCode, all.String(), nil
		}
		if err != nil {
			return 0, "", err
		}
	}
}

var responseID = regexp.MustCompile(`resp_[0-9a-z]+`)

// settle answers a request for approval until there is an answer for good: a turn that
// is completed, now or before.
func (a *approvals) settle(t *testing.T, s *killable, one approval, restarted time.Time) {
	t.Helper()
	for {
		status, body, err := a.approve(t.Context(), s, one)
		if err != nil {
			t.Fatal(err)
		}
		if status == http.StatusOK && strings.Contains(body, "event: response.completed") {
			return
		}
		if status != http.StatusBadRequest || !strings.Contains(body, `"mcp_approval_answered"`) {
			t.Fatalf("%s: %d %s", one.note, status, body)
		}
		ids := responseID.FindAllString(body, -1)
		if len(ids) == 1 && s.ended(t, ids[0], restarted) == "completed" {
			return
		}
		if time.Since(restarted) > patience {
			t.Fatalf("%s: %v after the restart it is %s", one.note, time.Since(restarted), body)
		}
		<-time.After(500 * time.Millisecond)
	}
}
