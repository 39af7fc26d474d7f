package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
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
	"sync"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/cmd/svcd/internal/cli"
	"github.com/seed-506d8e5d/svc/model/llamaserver"
)

var killRounds = flag.Int("kill.rounds", 3, "how often TestKill kills a server")

const (
	killWriters = 16
	killKey     = "sk-kill-test"
	killChild   = "SVC_KILL_TEST_CHILD" // set in the process that is the server
)

// patience is how long tests of processes wait for what comes in seconds on a
// machine that has nothing else to do. How long it may take is tested where the
// clock is a bubble's.
const patience = 2 * time.Minute

// TestMain is svcd itself in the processes that TestKill starts and in those that
// read documents, and the clients in those of the benchmarks.
func TestMain(m *testing.M) {
	if os.Getenv(killChild) != "" || len(os.Args) > 1 && os.Args[1] == cli.ReaderCommand {
		main()
		return
	}
	if filepath.Base(os.Args[0]) == llamaserver.Program {
		fakeLlamaServer()
		return
	}
	if os.Getenv(peerChild) != "" {
		if err := servePeer(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestKill kills servers in the middle of turns: what a client was told to be
// stored is there after a restart, whole, and nothing is there in part.
func TestKill(t *testing.T) {
	data := t.TempDir()
	acked := map[string]json.RawMessage{} // responses by ID
	for range *killRounds {
		server := startServer(t, data)
		for id, response := range server.writeUntilKilled(t) {
			acked[id] = response
		}
	}
	if len(acked) == 0 {
		t.Fatal("no turn was acknowledged before a kill")
	}
	server := startServer(t, data)
	defer server.kill()
	conversations := map[string]bool{}
	for id, want := range acked {
		got := server.get(t, "/v1/responses/"+id)
		if !bytes.Equal(got, want) {
			t.Fatalf("response %s\ngot  %s\nwant %s", id, got, want)
		}
		conversations[conversationOf(t, got)] = true
	}
	for id := range conversations {
		server.checkWhole(t, id)
	}
	t.Logf("%d turns in %d conversations survived %d kills", len(acked), len(conversations), *killRounds)
}

// TestKillEndsTurns kills a server that makes turns for a model that never ends.
// After a restart each of them ends as failed, once, with its input.
func TestKillEndsTurns(t *testing.T) {
	data := t.TempDir()
	server := startServer(t, data, "-upstream", endlessModel(t))
	var ids []string
	for _, body := range []string{`"background":true`, `"background":true,"stream":true`, `"stream":true`} {
		ids = append(ids, server.begin(t, `{"model":"svc-preview","input":"Hi",`+body+`}`))
	}
	server.kill()
	server = startServer(t, data)
	defer server.kill()
	restarted := time.Now()
	for _, id := range ids {
		for {
			var r struct {
				Status string
				Error  struct{ Code string }
			}
			if err := json.Unmarshal(server.get(t, "/v1/responses/"+id), &r); err != nil {
				t.Fatal(err)
			}
			if r.Status == "failed" && r.Error.Code == "response_interrupted" {
				break
			}
			if r.Status != "in_progress" || time.Since(restarted) > patience {
				t.Fatalf("%v after the restart the response is %+v", time.Since(restarted), r)
			}
			<-time.After(time.Second)
		}
		if input := server.get(t, "/v1/responses/"+id+"/input_items"); !bytes.Contains(input, []byte(`"text":"Hi"`)) {
			t.Errorf("the input is %s", input)
		}
	}
	t.Logf("all turns had ended %v after the restart", time.Since(restarted))
}

// endlessModel returns the URL of a model server whose answers never end.
func endlessModel(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Ha\"}}]}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// begin posts a turn and returns the ID of its response, which goes on.
func (s *killable) begin(t *testing.T, body string) string {
	t.Helper()
	resp, err := s.do(t.Context(), http.MethodPost, "/v1/responses", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	buffer := make([]byte, 4096)
	n, err := io.ReadAtLeast(resp.Body, buffer, 200)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(buffer[:n]), `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// killable is a server in a process of its own.
type killable struct {
	url     string
	process *exec.Cmd
	said    lines // its log
}

func startServer(t *testing.T, data string, flags ...string) *killable {
	t.Helper()
	return startCommand(t, exec.Command(os.Args[0], serverFlags(data, flags...)...))
}

func serverFlags(data string, more ...string) []string {
	return append([]string{"-addr", "127.0.0.1:0", "-data", data, "-api-key", killKey}, more...)
}

// startCommand starts a command that becomes a server with the flags of serverFlags.
func startCommand(t *testing.T, command *exec.Cmd) *killable {
	t.Helper()
	s := &killable{process: command}
	s.process.Env = append(os.Environ(), killChild+"=1")
	s.process.Stderr = &s.said
	out, err := s.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "svcd listens on ")
	if err != nil || !ok {
		s.kill()
		t.Fatalf("the server said %q: %v", line, err)
	}
	s.url = url
	return s
}

func (s *killable) kill() {
	s.process.Process.Kill()
	s.process.Wait() // its error is that it was killed
}

// writeUntilKilled chains turns from many writers, kills the server at a random
// moment, and returns the responses that writers had received by then.
func (s *killable) writeUntilKilled(t *testing.T) map[string]json.RawMessage {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	acked := map[string]json.RawMessage{}
	first := make(chan struct{})
	var once sync.Once
	var writers sync.WaitGroup
	for w := range killWriters {
		writers.Go(func() {
			previous := ""
			for n := 0; ; n++ {
				response, err := s.turn(ctx, previous, fmt.Sprintf("writer %d says %d", w, n), w%2 == 0)
				if err != nil {
					return // killed
				}
				var id struct{ ID string }
				if err := json.Unmarshal(response, &id); err != nil {
					t.Errorf("%v: %s", err, response)
					return
				}
				previous = id.ID
				mu.Lock()
				acked[id.ID] = response
				mu.Unlock()
				once.Do(func() { close(first) })
			}
		})
	}
	<-first
	// The moment of the kill is what the test is about; it waits for nothing.
	<-time.After(time.Duration(rand.IntN(400)) * time.Millisecond)
	s.kill()
	cancel()
	writers.Wait()
	return acked
}

// turn makes a turn and returns its response once the client knows it is stored.
func (s *killable) turn(ctx context.Context, previous, text string, stream bool) (json.RawMessage, error) {
	body := map[string]any{"model": "svc-preview", "input": text, "stream": stream}
	if previous != "" {
		body["previous_response_id"] = previous
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	resp, err := s.do(ctx, http.MethodPost, "/v1/responses", bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if !stream {
		answer, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", resp.Status, answer)
		}
		if err == nil {
			err = failureOf(answer)
		}
		return answer, err
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Type     string          `json:"type"`
			Response json.RawMessage `json:"response"`
		}
		payload, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if err := json.Unmarshal([]byte(payload), &event); err != nil {
			return nil, err
		}
		if event.Type == "response.completed" {
			return event.Response, nil
		}
	}
	return nil, fmt.Errorf("the stream ended early: %w", lines.Err())
}

func (s *killable) do(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+killKey)
	return http.DefaultClient.Do(req)
}

func (s *killable) get(t *testing.T, path string) []byte {
	t.Helper()
	resp, err := s.do(t.Context(), http.MethodGet, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s: %v", path, resp.Status, data, err)
	}
	return data
}

func conversationOf(t *testing.T, response []byte) string {
	t.Helper()
	var r struct{ Conversation struct{ ID string } }
	if err := json.Unmarshal(response, &r); err != nil {
		t.Fatal(err)
	}
	return r.Conversation.ID
}

// checkWhole walks a conversation: what the user said and what was answered take
// turns, so no turn is there in part.
func (s *killable) checkWhole(t *testing.T, conversation string) {
	t.Helper()
	want, after := "user", ""
	for {
		var page struct {
			Data    []struct{ Role string }
			LastID  string `json:"last_id"`
			HasMore bool   `json:"has_more"`
		}
		data := s.get(t, "/v1/conversations/"+conversation+"/items?order=asc&limit=100&after="+after)
		if err := json.Unmarshal(data, &page); err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Data {
			if item.Role != want {
				t.Fatalf("conversation %s has an item of %s where one of %s must be", conversation, item.Role, want)
			}
			want = map[string]string{"user": "assistant", "assistant": "user"}[want]
		}
		if after = page.LastID; !page.HasMore {
			break
		}
	}
	if want != "user" {
		t.Fatalf("the last turn of conversation %s is there in part", conversation)
	}
}
