package httpapi

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// resource are the fields that the Open Responses schema requires of a response.
var resource = strings.Fields(`id object created_at completed_at status incomplete_details model previous_response_id instructions output error
	tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs temperature reasoning usage
	max_output_tokens max_tool_calls store background service_tier metadata safety_identifier prompt_cache_key`)

// complied is what the suite looks at in a response.
type complied struct {
	ID, Object, Status string
	Output             []struct{ Type, Phase string }
}

func (r *complied) has(phase string) bool {
	return slices.ContainsFunc(r.Output, func(o struct{ Type, Phase string }) bool { return o.Phase == phase })
}

// read checks a completed response of the schema.
func read(t *testing.T, data []byte) (r complied) {
	t.Helper()
	var fields map[string]json.RawMessage
	check(t, json.Unmarshal(data, &fields))
	for _, name := range resource {
		if fields[name] == nil {
			t.Errorf("the response has no %s", name)
		}
	}
	check(t, json.Unmarshal(data, &r))
	if r.Status != "completed" || len(r.Output) == 0 {
		t.Errorf("got %s", data)
	}
	return r
}

// readEvents checks the events of a stream, whose last one completes a response.
func readEvents(t *testing.T, events []string) complied {
	t.Helper()
	var last struct {
		Type     string
		Response json.RawMessage
	}
	for i, event := range events {
		var head struct {
			Type     string
			Sequence *int `json:"sequence_number"`
		}
		check(t, json.Unmarshal([]byte(event), &head))
		if !strings.HasPrefix(head.Type, "response.") || head.Sequence == nil || *head.Sequence != i {
			t.Errorf("event %d is %s", i, event)
		}
		check(t, json.Unmarshal([]byte(event), &last))
	}
	if last.Type != "response.completed" {
		t.Fatalf("the last event is %s", last.Type)
	}
	return read(t, last.Response)
}

func (c *client) send(t *testing.T, path, body string, status int) []byte {
	t.Helper()
	req, err := http.NewRequest("POST", c.URL+path, strings.NewReader(body))
	check(t, err)
	req.Header.Set("Authorization", "Bearer "+c.key)
	res, err := http.DefaultClient.Do(req)
	check(t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	check(t, err)
	if res.StatusCode != status {
		t.Fatalf("got %d: %s", res.StatusCode, data)
	}
	return data
}

// weatherCall says something and calls a function.
var weatherCall = modeltest.Events(model.TextDelta{Text: "Let me see."}, model.ToolCallStart{ID: "x", Name: "get_weather"},
	model.ToolCallDelta{Arguments: `{}`}, modeltest.DefaultUsage, model.Finish{Reason: model.ToolCalls})

const weatherTools = `,"tools":[{"type":"function","name":"get_weather","description":"Current weather","parameters":{"type":"object","properties":{"location":{"type":"string"}},"required":["location"]}}]`

// TestCompliance does what the 17 tests of the Open Responses compliance suite
// are described to do, under their names.
func TestCompliance(t *testing.T) {
	user := func(text string) string { return `{"type":"message","role":"user","content":"` + text + `"}` }
	body := func(items ...string) string {
		return `{"model":"svc-preview","input":[` + strings.Join(items, ",") + `]`
	}
	assistant := func(phase, text string) string {
		return `{"type":"message","role":"assistant",` + phase + `"content":"` + text + `"}`
	}
	for name, input := range map[string]string{
		"basic-response":  body(user("Say hello in 3 words.")),
		"assistant-phase": body(assistant(`"phase":"commentary",`, "I look it up."), assistant(`"phase":"final_answer",`, "It is four."), user("Repeat it.")),
		"system-prompt":   body(`{"type":"message","role":"system","content":"Speak like a pirate."}`, user("Say hello.")),
		"multi-turn":      body(user("I am Alice."), assistant("", "Hello Alice!"), user("Who am I?")),
		"image-input": body(`{"type":"message","role":"user","content":[{"type":"input_text","text":"What is this?"},` +
			`{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]}`),
	} {
		t.Run(name, func(t *testing.T) { read(t, newClient(t, counted()).send(t, "/v1/responses", input+"}", 200)) })
	}
	t.Run("response-output-phase-schema", func(t *testing.T) {
		c := newClient(t, modeltest.New(weatherCall, modeltest.Text("Fog.")))
		r := read(t, c.send(t, "/v1/responses", body(user("Weather?"))+weatherTools+"}", 200))
		last := read(t, c.send(t, "/v1/responses", body(user("Hi"))+"}", 200))
		if !r.has("commentary") || !last.has("final_answer") {
			t.Errorf("got %+v and %+v", r, last)
		}
	})
	t.Run("tool-calling", func(t *testing.T) {
		r := read(t, newClient(t, modeltest.New(weatherCall)).send(t, "/v1/responses", body(user("Weather?"))+weatherTools+"}", 200))
		is.New(t).Equal(r.Output[1].Type, "function_call")
	})
	t.Run("streaming-response", func(t *testing.T) {
		var events []string
		for line := range strings.Lines(string(newClient(t, counted()).send(t, "/v1/responses", body(user("Count."))+`,"stream":true}`, 200))) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				events = append(events, data)
			}
		}
		readEvents(t, events)
	})
	t.Run("compact-response", func(t *testing.T) {
		var r complied
		data := newClient(t, counted()).send(t, "/v1/responses/compact", body(user("Launch on Tuesday."), assistant("", "Understood."))+`,"prompt_cache_key":"k"}`, 200)
		check(t, json.Unmarshal(data, &r))
		is := is.New(t)
		is.Equal(r.Object, "response.compaction")
		is.Equal(r.Output[len(r.Output)-1].Type, "compaction")
	})
	t.Run("compact-missing-model", func(t *testing.T) {
		newClient(t, counted()).send(t, "/v1/responses/compact", `{"input":[`+user("Compact this.")+`]}`, 400)
	})
}

// TestComplianceOverAWebSocket are those of the tests that use one.
func TestComplianceOverAWebSocket(t *testing.T) {
	const unstored = `,"store":false`
	after := func(id string) string { return unstored + `,"previous_response_id":"` + id + `"` }
	missing := func(t *testing.T, refused said) {
		t.Helper()
		is.New(t).Equal(refused.Code, "previous_response_not_found")
	}
	t.Run("websocket-response", func(t *testing.T) {
		events, _ := ask(t, newClient(t, counted()).dial(t), create(`"input":[{"type":"message","role":"user","content":"Count."}]`))
		readEvents(t, events)
	})
	t.Run("websocket-sequential-responses", func(t *testing.T) {
		conn := newClient(t, counted()).dial(t)
		for range 2 {
			events, _ := ask(t, conn, create(`"input":"Reply."`+unstored))
			readEvents(t, events)
		}
	})
	t.Run("websocket-continuation", func(t *testing.T) {
		conn := newClient(t, counted()).dial(t)
		_, first := ask(t, conn, create(`"input":"Remember cobalt."`+unstored))
		events, _ := ask(t, conn, create(`"input":"What is the word?"`+after(first.Response.ID)))
		readEvents(t, events)
	})
	t.Run("websocket-reconnect-store-false-recovery", func(t *testing.T) {
		c := newClient(t, counted())
		_, first := ask(t, c.dial(t), create(`"input":"Remember copper."`+unstored))
		again := c.dial(t)
		_, refused := ask(t, again, create(`"input":"Go on."`+after(first.Response.ID)))
		missing(t, refused)
		events, _ := ask(t, again, create(`"input":"Start anew."`+unstored))
		readEvents(t, events)
	})
	t.Run("websocket-previous-response-not-found", func(t *testing.T) {
		_, refused := ask(t, newClient(t, counted()).dial(t), create(`"input":"Fail."`+after("resp_missing")))
		missing(t, refused)
	})
	t.Run("websocket-failed-continuation-evicts-cache", func(t *testing.T) {
		conn := newClient(t, counted()).dial(t)
		_, first := ask(t, conn, create(`"input":"Remember ember."`+unstored))
		_, failed := ask(t, conn, create(`"input":[{"type":"function_call_output","call_id":"call_missing","output":"None."}]`+after(first.Response.ID)))
		is.New(t).Equal(failed.Type, "error")
		_, refused := ask(t, conn, create(`"input":"Go on."`+after(first.Response.ID)))
		missing(t, refused)
	})
	t.Run("websocket-compact-new-chain", func(t *testing.T) {
		c := newClient(t, counted())
		var compacted struct{ Output []json.RawMessage }
		check(t, json.Unmarshal(c.send(t, "/v1/responses/compact", `{"model":"svc-preview","input":"Remember slate."}`, 200), &compacted))
		input, err := json.Marshal(append(compacted.Output, json.RawMessage(`{"type":"message","role":"user","content":"Go on."}`)))
		check(t, err)
		events, _ := ask(t, c.dial(t), create(`"input":`+string(input)+unstored+`,"tools":[]`))
		readEvents(t, events)
	})
}
