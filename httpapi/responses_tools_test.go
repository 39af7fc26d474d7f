package httpapi_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// agentTools are tools as coding agents offer them.
const agentTools = `"tools":[` + weatherTool + `,
	{"type":"namespace","name":"mcp__files","description":"d","tools":[{"type":"function","name":"read","parameters":{"type":"object"}},{"type":"custom","name":"edit"}]},
	{"type":"custom","name":"apply_patch","description":"Patch.","format":{"type":"grammar","syntax":"lark","definition":"start: X"}},
	{"type":"web_search","external_web_access":false},{"type":"image_generation"},{"type":"tool_search"},{"type":"local_shell"},{"type":"computer_use_preview","display_width":1}]`

func init() {
	streamed = append(streamed, []struct {
		name    string
		body    string
		answers []modeltest.Answer
	}{
		{"namespace", `"input":"Hi",` + agentTools + `}`, []modeltest.Answer{modeltest.Events(
			model.ToolCallStart{ID: "x", Name: "mcp__files__read"}, model.ToolCallDelta{Arguments: `{"a":`}, model.ToolCallDelta{Arguments: `1}`},
			modeltest.DefaultUsage, model.Finish{Reason: model.ToolCalls})}},
		{"custom", `"input":"Hi",` + agentTools + `}`, []modeltest.Answer{modeltest.Events(
			model.TextDelta{Text: "Let me."},
			model.ToolCallStart{ID: "x", Name: "apply_patch"},
			model.ToolCallDelta{Arguments: `{"inp`}, model.ToolCallDelta{Arguments: `ut": "*** Begin\`}, model.ToolCallDelta{Arguments: `n\ud83d`},
			model.ToolCallDelta{Arguments: `\ude00 \"q\"`}, model.ToolCallDelta{Arguments: `"}`},
			model.ToolCallStart{ID: "y", Name: "mcp__files__edit"}, model.ToolCallDelta{Arguments: `{"text":"other name"}`},
			modeltest.DefaultUsage, model.Finish{Reason: model.ToolCalls})}},
		{"custom-cut", `"input":"Hi",` + agentTools + `}`, []modeltest.Answer{call("apply_patch", `{"input":"*** Beg`).WithFinish(model.Length)}},
	}...)
}

// TestToolsOfAgents compares what the model is offered for tools of every type,
// and what it reads when their calls come back.
func TestToolsOfAgents(t *testing.T) {
	a := newTurns(t,
		modeltest.Calls(
			model.ToolCall{ID: "1", Name: "mcp__files__read", Arguments: `{"path":"a"}`},
			model.ToolCall{ID: "2", Name: "apply_patch", Arguments: `{"input":"*** a"}`}),
		modeltest.Text("Done."), modeltest.Text("Done."))
	first := a.turn(plain(agentTools))
	is := is.New(t)
	var offered []string
	for _, tool := range a.script.Requests()[0].Tools {
		offered = append(offered, tool.Name)
	}
	is.Equal(offered, []string{"weather", "mcp__files__read", "mcp__files__edit", "apply_patch", "web_search", "local_shell"})
	patch := a.script.Requests()[0].Tools[3]
	is.Equal(patch.Description, "Patch.\n\nThe input must follow this lark grammar:\nstart: X")
	is.True(json.Valid(patch.Parameters))

	outputs := `{"type":"function_call_output","call_id":"` + first.Output[0].CallID + `","output":"text of a"},
		{"type":"custom_tool_call_output","call_id":"` + first.Output[1].CallID + `","output":[{"type":"input_text","text":"one"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"},{"type":"input_text","text":"two"}]}`
	want := []string{
		`user "Hi"`,
		`assistant ` + first.Output[0].CallID + `=mcp__files__read({"path":"a"}) ` + first.Output[1].CallID + `=apply_patch({"input":"*** a"})`,
		`tool ` + first.Output[0].CallID + ` "text of a"`,
		`tool ` + first.Output[1].CallID + ` "one\n[An image was left out here: images are not read.]\ntwo"`,
	}
	a.post(`{"model":"svc-preview","previous_response_id":"` + first.ID + `","input":[` + outputs + `]}`)
	a.wantSent(1, want...)

	// The history that a client keeps reads the same.
	a.post(`{"model":"svc-preview","store":false,"input":[{"role":"user","content":"Hi"},
		{"type":"function_call","call_id":"` + first.Output[0].CallID + `","namespace":"mcp__files","name":"read","arguments":"{\"path\":\"a\"}"},
		{"type":"custom_tool_call","call_id":"` + first.Output[1].CallID + `","name":"apply_patch","input":"*** a"},` + outputs + `]}`)
	a.wantSent(2, want...)

	items := a.want(200, "GET", "/v1/conversations/"+first.Conversation.ID+"/items?order=asc", "")
	is.True(strings.Contains(items, `"namespace":"mcp__files","name":"read","arguments"`))
	is.True(strings.Contains(items, `"type":"custom_tool_call","status":"completed"`))
}

func TestFilesInOutputs(t *testing.T) {
	a := newTurns(t, call("weather", `{}`), modeltest.Text("Done."))
	file := a.upload("a.txt", "the text")
	first := a.turn(plain(`"tools":[` + weatherTool + `]`))
	r := a.turn(`{"model":"svc-preview","previous_response_id":"` + first.ID + `","input":[{"type":"function_call_output","call_id":"` +
		first.Output[0].CallID + `","output":[{"type":"input_text","text":"Here:"},{"type":"input_file","file_id":"` + file + `"}]}]}`)
	sent := a.sent(1)
	is := is.New(t)
	is.True(strings.HasPrefix(sent[2], `tool `+first.Output[0].CallID+` "Here:" {"a.txt" "the text"`))
	input := a.want(200, "GET", "/v1/responses/"+r.ID+"/input_items", "")
	is.True(strings.Contains(input, `"output":[{"type":"input_text","text":"Here:"},{"type":"input_file","file_id":"`+file+`"}]`))
}

// upload uploads a text file and returns its ID.
func (a *turns) upload(name, text string) string {
	a.t.Helper()
	body := "--b\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nassistants\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\nContent-Type: text/plain\r\n\r\n" + text + "\r\n--b--\r\n"
	r := httptest.NewRequestWithContext(a.t.Context(), "POST", "/v1/files", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+a.key)
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	var file struct{ ID string }
	decode(a.t, w.Body.String(), &file)
	return file.ID
}

func TestAllowedTools(t *testing.T) {
	a := newTurns(t, modeltest.Text("Yes."), modeltest.Text("Yes."))
	choice := `{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"read"},{"type":"shell"}]}`
	r := a.post(plain(agentTools + `,"tool_choice":` + choice))
	is := is.New(t)
	is.Equal(len(a.script.Requests()[0].Tools), 1)
	is.Equal(a.script.Requests()[0].Tools[0].Name, "mcp__files__read")
	is.True(strings.Contains(r, `"tool_choice":`+choice))

	a.post(plain(agentTools + `,"tool_choice":{"type":"custom","name":"apply_patch"}`))
	is.Equal(a.script.Requests()[1].ToolChoice, model.ToolChoice{Mode: model.ToolNamed, Name: "apply_patch"})
}

// TestTheSameOutputAgain is what clients do that continue a conversation with
// all of the task so far.
func TestTheSameOutputAgain(t *testing.T) {
	a := newTurns(t, call("weather", `{"n":1}`), call("weather", `{"n":2}`), modeltest.Text("Done."))
	first := a.turn(plain(`"tools":[` + weatherTool + `]`))
	in := `"conversation":"` + first.Conversation.ID + `"`
	output := func(r response, text string) string {
		return `{"type":"function_call_output","call_id":"` + r.Output[0].CallID + `","output":"` + text + `"}`
	}
	turn := func(items string) string {
		return `{"model":"svc-preview",` + in + `,"tools":[` + weatherTool + `],"input":[` + items + `]}`
	}
	second := a.turn(turn(output(first, "sun")))
	a.wantInvalid("POST", "/v1/responses", turn(output(first, "rain")+","+output(second, "snow")), "input",
		`No function call is waiting for an output with the call_id "`+first.Output[0].CallID+`": it is not one of the response that is continued from, or it has been answered.`)
	a.wantInvalid("POST", "/v1/responses", strings.Replace(turn(output(first, "sun")+","+output(second, "snow")), in, `"previous_response_id":"`+second.ID+`"`, 1), "input",
		`No function call is waiting for an output with the call_id "`+first.Output[0].CallID+`": it is not one of the response that is continued from, or it has been answered.`)
	a.turn(turn(`{"type":"function_call","call_id":"` + first.Output[0].CallID + `","name":"weather","arguments":"{\"n\":1}"},` + output(first, "sun") + "," + output(second, "snow")))
	a.wantSent(2, `user "Hi"`,
		`assistant `+first.Output[0].CallID+`=weather({"n":1})`, `tool `+first.Output[0].CallID+` "sun"`,
		`assistant `+second.Output[0].CallID+`=weather({"n":2})`, `tool `+second.Output[0].CallID+` "snow"`)
}

// TestAnyItems keeps a history in a conversation as the Agents SDK's session does.
func TestAnyItems(t *testing.T) {
	a := newTurnsOver(t, modeltest.New(modeltest.Text("Done.")), options{anyItems: true})
	const task = `{"role":"user","content":"Weather?"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Let me see."}]},` +
		`{"type":"function_call","call_id":"c1","name":"weather","arguments":"{}","id":"fc_theirs"},{"type":"reasoning","summary":[]},` +
		`{"type":"custom_tool_call","call_id":"c2","name":"patch","input":"x"},{"type":"function_call_output","call_id":"c1","output":"sun"}`
	var c struct{ ID string }
	decode(t, a.want(200, "POST", "/v1/conversations", `{"items":[`+task+`]}`), &c)
	items := "/v1/conversations/" + c.ID + "/items"
	a.want(200, "POST", items, `{"items":[{"type":"custom_tool_call_output","call_id":"c2","output":"ok"},{"role":"assistant","content":"It is sunny."}]}`)
	a.wantInvalid("POST", items, `{"items":[{"type":"function_call_output","call_id":"c3","output":"x"}]}`, "items[0].call_id",
		`items[0].call_id is "c3", which is no function call of the conversation.`)
	a.wantInvalid("POST", items, `{"items":[{"type":"item_reference","id":"msg_1"}]}`, "items[0].type", `items[0].type must be "message".`)

	var list struct{ Data []struct{ ID, Type string } }
	decode(t, a.want(200, "GET", items+"?order=asc", ""), &list)
	var types []string
	for _, item := range list.Data {
		types = append(types, item.Type)
		a.want(200, "GET", items+"/"+item.ID, "")
	}
	is := is.New(t)
	is.Equal(types, []string{"message", "message", "function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output", "message"})

	a.post(say("Thanks.", `"conversation":"`+c.ID+`"`))
	a.wantSent(0, `user "Weather?"`, `assistant "Let me see."`, `assistant c1=weather({}) c2=patch({"input":"x"})`, `tool c1 "sun"`, `tool c2 "ok"`, `assistant "It is sunny."`, `user "Thanks."`)
}

// TestTheSameQuestionAgain is what the AI SDK sends with a conversation: the
// question of the task comes with every round's outputs.
func TestTheSameQuestionAgain(t *testing.T) {
	a := newTurns(t, call("weather", `{}`), call("weather", `{}`), modeltest.Text("Done."))
	first := a.turn(plain(`"tools":[` + weatherTool + `]`))
	const asked = `{"role":"user","content":[{"type":"input_text","text":"Hi"}]}`
	outputs := ""
	last := first
	for range 2 {
		outputs += `,{"type":"function_call_output","call_id":"` + last.Output[0].CallID + `","output":"sun"}`
		last = a.turn(`{"model":"svc-preview","conversation":"` + first.Conversation.ID + `","tools":[` + weatherTool + `],"input":[` + asked + outputs + `]}`)
	}
	sent := a.sent(2)
	is := is.New(t)
	is.Equal(len(sent), 5)
	is.Equal(sent[0], `user "Hi"`)
	is.Equal(sent[4], `tool `+strings.Fields(sent[4])[1]+` "sun"`)
}
