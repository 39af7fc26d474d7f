package compat

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRequestsOfAgents sends requests as agents have sent them, with nothing but
// long texts cut, and holds what the model is sent to the history in them: every
// call is there, and every output behind it. Either interface takes all of them.
func TestRequestsOfAgents(t *testing.T) {
	eachInterface(t, testRequestsOfAgents)
}

func testRequestsOfAgents(t *testing.T, open bool) {
	files, err := filepath.Glob("testdata/agents/*.json")
	check(t, err)
	if len(files) < 40 {
		t.Fatalf("there are only %d requests", len(files))
	}
	g := newGallery(t, open)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			check(t, err)
			path := "/responses"
			if strings.HasSuffix(file, ".chat.json") {
				path = "/chat/completions"
			}
			if strings.HasSuffix(file, ".messages.json") {
				path = "/messages?beta=true"
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+path, strings.NewReader(string(body)))
			check(t, err)
			req.Header.Set("Authorization", "Bearer "+g.key)
			res, err := http.DefaultClient.Do(req)
			check(t, err)
			defer res.Body.Close()
			answer, err := io.ReadAll(res.Body)
			check(t, err)
			if res.StatusCode != http.StatusOK || strings.Contains(string(answer), "event: error") || strings.Contains(string(answer), `"response.failed"`) || strings.Contains(string(answer), `"status":"failed"`) {
				t.Fatalf("got %d %s", res.StatusCode, answer)
			}
			sent := g.models.sent()
			calls, outputs := countCalls(t, body)
			gotCalls, gotOutputs := countCalls(t, []byte(sent[len(sent)-1]))
			equal(t, "calls that the model reads", gotCalls, calls)
			equal(t, "outputs that the model reads", gotOutputs, outputs)
		})
	}
}

// countCalls counts the calls and outputs in the history of a request, whichever
// interface it is for.
func countCalls(t *testing.T, body []byte) (calls, outputs int) {
	t.Helper()
	var r struct {
		Input    json.RawMessage
		Messages []struct {
			Role      string
			Content   json.RawMessage
			ToolCalls []any `json:"tool_calls"`
		}
	}
	check(t, json.Unmarshal(body, &r))
	for _, m := range r.Messages {
		calls += len(m.ToolCalls)
		if m.Role == "tool" {
			outputs++
		}
		var blocks []struct{ Type string }
		_ = json.Unmarshal(m.Content, &blocks) // a text has none
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				calls++
			case "tool_result":
				outputs++
			}
		}
	}
	var items []struct{ Type string }
	_ = json.Unmarshal(r.Input, &items) // a text has none
	for _, item := range items {
		switch item.Type {
		case "function_call", "custom_tool_call":
			calls++
		case "function_call_output", "custom_tool_call_output":
			outputs++
		}
	}
	return calls, outputs
}
