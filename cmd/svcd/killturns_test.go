package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// hesitant is a model server whose answers take up to a second or so.
func hesitant(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for n := range 20 {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word %d \"}}]}\n\n", n)
			w.(http.Flusher).Flush()
			select {
			case <-time.After(time.Duration(rand.IntN(100)) * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		}
		io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":20}}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s
}

// seen is what clients know of turns: how those have ended, as far as they were
// told, and empty for one that only began.
type seen struct {
	mu    sync.Mutex
	turns map[string]string
}

func (s *seen) note(id, status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.turns[id]; known == "" {
		s.turns[id] = status
	}
}

// TestKillAtAnyMoment kills servers while turns begin, run, are cancelled and end,
// streamed and in the background. After the last restart each of them is in exactly
// one of the states that turns end in, for good, as its client was told if it was
// told, and each of its events has the same tail.
func TestKillAtAnyMoment(t *testing.T) {
	model, data := hesitant(t), t.TempDir()
	known := &seen{turns: map[string]string{}}
	for range *killRounds {
		server := startServer(t, data, "-upstream", model.URL+"/v1")
		ctx, cancel := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		for n := range killWriters {
			clients.Go(func() {
				for server.talk(ctx, n, known) {
				}
			})
		}
		// The moment of the kill is what the test is about; it waits for nothing.
		<-time.After(time.Duration(200+rand.IntN(2500)) * time.Millisecond)
		server.kill()
		cancel()
		clients.Wait()
	}
	server := startServer(t, data, "-upstream", model.URL+"/v1")
	defer server.kill()
	restarted := time.Now()
	counts := map[string]int{}
	for id, told := range known.turns {
		status := server.ended(t, id, restarted)
		if told != "" && told != status {
			t.Errorf("the client of %s was told that it is %s, and it is %s", id, told, status)
		}
		counts[status]++
		server.checkTails(t, id, status)
	}
	if len(known.turns) == 0 {
		t.Fatal("no turn had begun before a kill")
	}
	t.Logf("%d kills, turns by how they ended: %v", *killRounds, counts)
}

// talk makes one turn of a kind that depends on n, and reports whether the server
// still lives.
func (s *killable) talk(ctx context.Context, n int, known *seen) bool {
	fields := []string{`"stream":true`, `"background":true`, `"background":true,"stream":true`, `"stream":false`}[n%4]
	res, err := s.do(ctx, http.MethodPost, "/v1/responses", strings.NewReader(`{"model":"svc-preview","input":"Hi",`+fields+`}`))
	if err != nil {
		return false
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusTooManyRequests { // as many in the background as there may be
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
		return true
	}
	var turn struct{ ID, Status string }
	if !strings.Contains(fields, `"stream":true`) {
		if err := json.NewDecoder(res.Body).Decode(&turn); err != nil {
			return false
		}
		if turn.Status == "in_progress" {
			known.note(turn.ID, "")
		} else {
			known.note(turn.ID, turn.Status)
		}
		if rand.IntN(2) == 0 && turn.Status == "in_progress" {
			s.cancel(ctx, turn.ID, known)
		}
		return true
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for events := 0; lines.Scan(); events++ {
		payload, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var event struct {
			Type     string
			Response struct{ ID, Status string }
		}
		if json.Unmarshal([]byte(payload), &event) != nil {
			return false
		}
		switch event.Type {
		case "response.created":
			turn.ID = event.Response.ID
			known.note(turn.ID, "")
		case "response.completed", "response.failed":
			known.note(turn.ID, event.Response.Status)
		}
		if events > 20 && rand.IntN(60) == 0 {
			if rand.IntN(2) == 0 {
				return true // the client goes away
			}
			s.cancel(ctx, turn.ID, known)
		}
	}
	return lines.Err() == nil
}

func (s *killable) cancel(ctx context.Context, id string, known *seen) {
	res, err := s.do(ctx, http.MethodPost, "/v1/responses/"+id+"/cancel", nil)
	if err != nil {
		return
	}
	defer res.Body.Close()
	var turn struct{ ID, Status string }
	if json.NewDecoder(res.Body).Decode(&turn) == nil && turn.Status == "cancelled" {
		known.note(id, turn.Status)
	}
}

// ended waits until a turn has ended.
func (s *killable) ended(t *testing.T, id string, restarted time.Time) string {
	t.Helper()
	for {
		var r struct{ Status string }
		if err := json.Unmarshal(s.get(t, "/v1/responses/"+id), &r); err != nil {
			t.Fatal(err)
		}
		switch r.Status {
		case "completed", "failed", "cancelled":
			return r.Status
		}
		if r.Status != "in_progress" || time.Since(restarted) > patience {
			t.Fatalf("%v after the restart the status of %s is %q", time.Since(restarted), id, r.Status)
		}
		<-time.After(500 * time.Millisecond)
	}
}

// checkTails reads the events of a turn from each number on. Behind the last one
// there is nothing where its reader has certainly seen the end, and otherwise the
// last events once more: of a turn that ended with its process, which may have sent
// that number with another event, and of one that is replayed with fewer events than
// it had.
func (s *killable) checkTails(t *testing.T, id, status string) {
	t.Helper()
	path := "/v1/responses/" + id + "?stream=true"
	all := strings.SplitAfter(string(s.get(t, path)), "\n\n")
	all = all[:len(all)-1]
	last := map[string]string{"completed": "response.completed", "failed": "response.failed", "cancelled": "response.failed"}[status]
	if n := len(all); n < 3 || !strings.HasPrefix(all[0], "event: response.created\n") || !strings.HasPrefix(all[n-1], "event: "+last+"\n") {
		t.Fatalf("%s is %s, and its events are %q", id, status, all)
	}
	for n := range all {
		if !strings.Contains(all[n], fmt.Sprintf(`"sequence_number":%d,`, n)) {
			t.Fatalf("event %d of %s is %s", n, id, all[n])
		}
		got, want := string(s.get(t, fmt.Sprintf("%s&starting_after=%d", path, n))), strings.Join(all[n+1:], "")
		if n == len(all)-1 && got != "" {
			want = lastEvents(all, status)
		}
		if got != want {
			t.Fatalf("behind event %d of %s\ngot  %s\nwant %s", n, id, got, want)
		}
	}
}

// lastEvents returns the events that end a turn, with the numbers that they have
// behind all of them.
func lastEvents(all []string, status string) (events string) {
	first := len(all) - 1
	if status != "completed" {
		first-- // what went wrong, and that it failed
	}
	for n, event := range all[first:] {
		events += strings.Replace(event, fmt.Sprintf(`"sequence_number":%d,`, first+n), fmt.Sprintf(`"sequence_number":%d,`, len(all)+n), 1)
	}
	return events
}
