package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

const ownTools = `"tools":[{"type":"shell","environment":{"type":"local"}},{"type":"local_shell"},{"type":"apply_patch"}]`

// ownCalls are calls of the caller's own tools as a model makes them, the last with
// arguments that are none of the tool.
var ownCalls = modeltest.Calls(
	model.ToolCall{ID: "1", Name: "shell", Arguments: `{"commands":["ls","pwd"],"timeout_ms":1000}`},
	model.ToolCall{ID: "2", Name: "local_shell", Arguments: `{"command":["ls","-l"],"working_directory":"/tmp"}`},
	model.ToolCall{ID: "3", Name: "apply_patch", Arguments: `{"type":"update_file","path":"a.txt","diff":"@@\n-a\n+b"}`},
	model.ToolCall{ID: "4", Name: "shell", Arguments: `{"commands":"ls"`},
)

// TestToolsThatCallersRun offers shell, local_shell and apply_patch as functions, gives
// their calls back as items of their own, and takes the outputs.
func TestToolsThatCallersRun(t *testing.T) {
	is := is.New(t)
	script := modeltest.New(ownCalls, modeltest.Text("Done."), modeltest.Text("Done."))
	a := newBareAPI(t, svc.Options{Backend: script}, Options{})
	_, key := newLimited(t, a, 0, 0)
	w := send(a, key, "POST", "/v1/responses", `{"model":"svc-preview","input":"Hi","tool_choice":"required",`+ownTools+`}`)
	is.Equal(w.Code, 200)
	var offered []string
	for _, tool := range script.Requests()[0].Tools {
		offered = append(offered, tool.Name)
	}
	is.Equal(offered, []string{"shell", "local_shell", "apply_patch"})
	want := `"output":[{"id":"sh_0001","type":"shell_call","status":"completed","call_id":"call_0001","action":{"commands":["ls","pwd"],"timeout_ms":1000,"max_output_length":null}},` +
		`{"id":"lsh_0001","type":"local_shell_call","status":"completed","call_id":"call_0002","action":{"type":"exec","command":["ls","-l"],"env":{},"working_directory":"/tmp"}},` +
		`{"id":"apc_0001","type":"apply_patch_call","status":"completed","call_id":"call_0003","operation":{"type":"update_file","path":"a.txt","diff":"@@\n-a\n+b"}},` +
		`{"id":"sh_0002","type":"shell_call","status":"completed","call_id":"call_0004","action":{"commands":[],"timeout_ms":null,"max_output_length":null}}]`
	if !strings.Contains(w.Body.String(), want) {
		t.Errorf("got  %s\nwant %s", w.Body, want)
	}
	is.True(strings.Contains(w.Body.String(), `"tools":[{"type":"shell","environment":{"type":"local"}},{"type":"local_shell"},{"type":"apply_patch"}]`))

	outputs := `{"type":"shell_call_output","call_id":"call_0001","max_output_length":100,"output":[{"stdout":"a.txt","stderr":"","outcome":{"type":"exit","exit_code":0}}]},` +
		`{"type":"local_shell_call_output","id":"call_0002","output":"{\"stdout\":\"x\"}"},` +
		`{"type":"apply_patch_call_output","call_id":"call_0003","status":"failed","output":"no such file"},` +
		`{"type":"shell_call_output","call_id":"call_0004","output":[]}`
	read := []string{`[{"stdout":"a.txt","stderr":"","outcome":{"type":"exit","exit_code":0}}]`, `{"stdout":"x"}`, "failed: no such file", "[]"}
	var answer struct{ Output []json.RawMessage }
	is.NoErr(json.Unmarshal(w.Body.Bytes(), &answer))
	history := ""
	for _, item := range answer.Output {
		history += string(item) + ","
	}
	for i, body := range []string{
		`{"model":"svc-preview","previous_response_id":"resp_0001","input":[` + outputs + `],` + ownTools + `}`,
		`{"model":"svc-preview","store":false,"input":[{"role":"user","content":"Hi"},` + history + outputs + `],` + ownTools + `}`,
	} {
		w = send(a, key, "POST", "/v1/responses", body)
		if w.Code != 200 {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
		messages := script.Requests()[i+1].Messages
		is.Equal(len(messages), 6) // the question, the calls, and an answer to each
		is.Equal(messages[1].ToolCalls[0].Name, "shell")
		is.True(strings.HasPrefix(messages[1].ToolCalls[0].Arguments, `{"commands":["ls","pwd"],"timeout_ms":1000`))
		for k, text := range read {
			is.Equal(messages[2+k].Parts, []model.Part{model.Text(text)})
		}
	}
}

// TestStreamOfOwnCalls has a call come in one piece: it is shown when it is whole.
func TestStreamOfOwnCalls(t *testing.T) {
	script := modeltest.New(modeltest.Calls(model.ToolCall{ID: "3", Name: "apply_patch", Arguments: `{"type":"delete_file","path":"a.txt"}`}))
	a := newBareAPI(t, svc.Options{Backend: script}, Options{})
	_, key := newLimited(t, a, 0, 0)
	got := send(a, key, "POST", "/v1/responses", `{"model":"svc-preview","stream":true,"input":"Hi","tool_choice":{"type":"apply_patch"},`+ownTools+`}`).Body.String()
	_, got, _ = strings.Cut(got, `"sequence_number":1`)
	_, got, _ = strings.Cut(got, "\n\n")
	got, _, _ = strings.Cut(got, "event: response.completed")
	const item = `{"id":"apc_0001","type":"apply_patch_call","status":"%","call_id":"call_0001","operation":{"type":"delete_file","path":"a.txt"}}`
	want := "event: response.output_item.added\n" + `data: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":` + strings.Replace(item, "%", "in_progress", 1) + "}\n\n" +
		"event: response.output_item.done\n" + `data: {"type":"response.output_item.done","sequence_number":3,"output_index":0,"item":` + strings.Replace(item, "%", "completed", 1) + "}\n\n"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if choice := script.Requests()[0].ToolChoice; choice.Name != "apply_patch" {
		t.Errorf("the model is asked to call %+v", choice)
	}
}

// TestOwnToolsThatAreNotOffered has a shell in a container of the service, a function of
// the same name, and a call from a history without its output, which is read as text.
func TestOwnToolsThatAreNotOffered(t *testing.T) {
	is := is.New(t)
	script := modeltest.New(modeltest.Text("Hi"), modeltest.Text("Hi"))
	a := newBareAPI(t, svc.Options{Backend: script}, Options{})
	_, key := newLimited(t, a, 0, 0)
	w := send(a, key, "POST", "/v1/responses", `{"model":"svc-preview","input":[{"role":"user","content":"Hi"},{"type":"shell_call","call_id":"c","action":{"commands":["ls"]}}],
		"tools":[{"type":"shell","environment":{"type":"container_auto"}},{"type":"function","name":"apply_patch","description":"mine"},{"type":"apply_patch"}]}`)
	is.Equal(w.Code, 200)
	req := script.Requests()[0]
	is.Equal(len(req.Tools), 1)
	is.Equal(req.Tools[0].Description, "mine")
	is.True(strings.HasPrefix(string(req.Messages[1].Parts[0].(model.Text)), "[shell_call] "))
}
