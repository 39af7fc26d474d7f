package compat

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// scripted is a model server that does what the user's message says: behind
// "SCRIPT:" stands a JSON object with the steps of a task, each of which is the
// calls of one answer, and the text of the last answer. So any client can be sent
// through any loop of tools, whatever it puts around the message.
type scripted struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string // that it was sent, guarded by mu
}

type task struct {
	Steps [][]struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"steps"`
	Final string `json:"final"`
}

type scriptedRequest struct {
	Messages []struct {
		Role      string
		Content   any
		ToolCalls []any `json:"tool_calls"`
	}
	Tools []struct{ Function struct{ Name string } }
}

func newScripted(t testing.TB) *scripted {
	s := &scripted{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			http.NotFound(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		s.bodies = append(s.bodies, string(body))
		s.mu.Unlock()
		var req scriptedRequest
		if err := json.Unmarshal(body, &req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.answer(w, &req, len(body)/4)
	}))
	t.Cleanup(s.Close)
	return s
}

// answer sends the step that the conversation has come to. A server that counts far
// fewer tokens than the prompt has would be taken for one that cuts it.
func (s *scripted) answer(w http.ResponseWriter, req *scriptedRequest, tokens int) {
	var todo task
	found, done := false, 0
	for _, m := range req.Messages {
		if _, text, ok := strings.Cut(fmt.Sprint(m.Content), "SCRIPT:"); ok && m.Role == "user" {
			d := json.NewDecoder(strings.NewReader(text))
			todo = task{}
			if err := d.Decode(&todo); err != nil {
				http.Error(w, `{"error":{"message":"the script cannot be read: `+err.Error()+`"}}`, http.StatusBadRequest)
				return
			}
			found, done = true, 0
		}
		if len(m.ToolCalls) > 0 {
			done++
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(v string) { fmt.Fprintf(w, "data: %s\n\n", v) }
	if !found || done >= len(todo.Steps) {
		text := todo.Final
		if !found {
			text = "There is no script."
		}
		for _, word := range strings.SplitAfter(text, " ") {
			quoted, _ := json.Marshal(word)
			send(`{"choices":[{"index":0,"delta":{"content":` + string(quoted) + `}}]}`)
		}
		send(fmt.Sprintf(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":10}}`, tokens))
		io.WriteString(w, "data: [DONE]\n\n")
		return
	}
	for i, call := range todo.Steps[done] {
		args, _ := json.Marshal(string(call.Args))
		send(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c%d","type":"function","function":{"name":%q,"arguments":%s}}]}}]}`,
			i, i, call.Name, args))
	}
	send(fmt.Sprintf(`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":%d,"completion_tokens":10}}`, tokens))
	io.WriteString(w, "data: [DONE]\n\n")
}

// sent returns what the model server was sent.
func (s *scripted) sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}
