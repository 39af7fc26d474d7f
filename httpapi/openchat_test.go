package httpapi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// openChat is a server with the open interface.
func openChat(t *testing.T, answers ...modeltest.Answer) *chatServer {
	t.Helper()
	return newChatServerOf(t, modeltest.New(answers...), true)
}

// chunkLine is an event of a chat stream with a choice.
func chunkLine(index int, delta, finish string) string {
	return fmt.Sprintf(`data: {"id":"chatcmpl_01","object":"chat.completion.chunk","created":1700000000,"model":"svc-preview","choices":[{"index":%d,"delta":%s,"finish_reason":%s}],"usage":null}`,
		index, delta, finish) + "\n\n"
}

// usageLine is the event with the usage, and the end.
func usageLine(usage string) string {
	return `data: {"id":"chatcmpl_01","object":"chat.completion.chunk","created":1700000000,"model":"svc-preview","choices":[],"usage":` + usage + "}\n\ndata: [DONE]\n\n"
}

const withUsage = `"stream":true,"stream_options":{"include_usage":true}`

// thrice is the usage of three answers: the prompt counts once.
const thrice = `{"prompt_tokens":11,"completion_tokens":21,"total_tokens":32,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}`

// TestSeveralChoices asks for three answers, whole and streamed: the prompt is counted
// once, each has a seed of its own, and all are stored.
func TestSeveralChoices(t *testing.T) {
	answers := []modeltest.Answer{modeltest.Text("A"), modeltest.Text("B", "C"), modeltest.Calls(weatherCall)}
	s := openChat(t, append(answers, answers...)...)
	choice := func(index int, message, finish string) string {
		return fmt.Sprintf(`{"index":%d,"message":%s,"logprobs":null,"finish_reason":"%s"}`, index, message, finish)
	}
	want := `{"id":"chatcmpl_01","object":"chat.completion","created":1700000000,"model":"svc-preview","choices":[` +
		choice(0, `{"role":"assistant","content":"A","refusal":null}`, "stop") + "," +
		choice(1, `{"role":"assistant","content":"BC","refusal":null}`, "stop") + "," +
		choice(2, `{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"call_a","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Zürich\"}"}}]}`, "tool_calls") +
		`],"usage":` + thrice + `,"metadata":{}}`
	tools := `"tools":[{"type":"function","function":{"name":"weather"}}]`
	s.want("POST", chatPath, chatBody(`"n":3,"seed":5,`+tools), 200, want)
	s.want("GET", chatPath+"/chatcmpl_01", "", 200, want)
	for i, req := range s.script.Requests() {
		if *req.Sampling.Seed != 5+i {
			t.Errorf("request %d has the seed %d", i, *req.Sampling.Seed)
		}
	}
	s.want("POST", chatPath, chatBody(`"n":3,"store":false,`+tools+","+withUsage), 200, strings.ReplaceAll(
		chunkLine(0, `{"role":"assistant","content":"A"}`, "null")+
			chunkLine(0, `{}`, `"stop"`)+
			chunkLine(1, `{"role":"assistant","content":"B"}`, "null")+
			chunkLine(1, `{"content":"C"}`, "null")+
			chunkLine(1, `{}`, `"stop"`)+
			chunkLine(2, `{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"weather","arguments":""}}]}`, "null")+
			chunkLine(2, `{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":\""}}]}`, "null")+
			chunkLine(2, `{"tool_calls":[{"index":0,"function":{"arguments":"Zürich\"}"}}]}`, "null")+
			chunkLine(2, `{}`, `"tool_calls"`)+
			usageLine(thrice), "chatcmpl_01", "chatcmpl_02"))
}

// TestAChoiceThatFails has the second of two answers fail: the stream ends with the
// error, and what was generated is charged.
func TestAChoiceThatFails(t *testing.T) {
	s := openChat(t, modeltest.Text("A"), modeltest.Fail(errors.New("gone")))
	status, body, _, err := s.do("POST", chatPath, chatBody(`"n":2,"store":false,"stream":true`))
	if err != nil || status != 200 || !strings.Contains(body, `"index":0,"delta":{},"finish_reason":"stop"`) || !strings.Contains(body, `data: {"error":`) || strings.Contains(body, "[DONE]") {
		t.Errorf("got %d %s, %v", status, body, err)
	}
}

// TestLegacyFunctions calls a function in the form before there were tools, whole, read
// back and streamed, and answers the call.
func TestLegacyFunctions(t *testing.T) {
	call := modeltest.Calls(weatherCall)
	s := openChat(t, call, call, modeltest.Text("Sun"))
	functions := `"functions":[{"name":"weather","description":"d","parameters":{"type":"object"}}],"function_call":{"name":"weather"}`
	want := completionJSON(1, `{"role":"assistant","content":null,"refusal":null,"function_call":{"name":"weather","arguments":"{\"city\":\"Zürich\"}"}}`, "function_call", plainUsage, "{}")
	s.want("POST", chatPath, chatBody(functions), 200, want)
	s.want("GET", chatPath+"/chatcmpl_01", "", 200, want)
	req := s.script.Requests()[0]
	if req.ToolChoice != (model.ToolChoice{Mode: model.ToolNamed, Name: "weather"}) || !req.SingleToolCall || req.Tools[0].Description != "d" {
		t.Errorf("the model is asked %+v", req)
	}
	s.want("POST", chatPath, chatBody(`"store":false,`+functions+","+withUsage), 200, strings.ReplaceAll(
		chunkLine(0, `{"role":"assistant","content":null,"function_call":{"name":"weather","arguments":""}}`, "null")+
			chunkLine(0, `{"function_call":{"arguments":"{\"city\":\""}}`, "null")+
			chunkLine(0, `{"function_call":{"arguments":"Zürich\"}"}}`, "null")+
			chunkLine(0, `{}`, `"function_call"`)+usageLine(plainUsage), "chatcmpl_01", "chatcmpl_02"))
	s.want("POST", chatPath, `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":null,"function_call":{"name":"weather","arguments":"{}"}},
		{"role":"function","name":"weather","content":"sunny"}],"function_call":"auto","functions":[{"name":"weather"}]}`, 200,
		completionJSON(3, `{"role":"assistant","content":"Sun","refusal":null}`, "stop", plainUsage, "{}"))
	sent := s.script.Requests()[2].Messages
	if sent[1].ToolCalls[0].ID != sent[2].ToolCallID || sent[2].Role != model.ToolRole {
		t.Errorf("the model reads %+v", sent)
	}
}

// patchCall is a call of a custom tool as the model makes it, in pieces.
var patchCall = modeltest.Events(model.ToolCallStart{ID: "call_p", Name: "patch"},
	model.ToolCallDelta{Arguments: `{"input":"say `}, model.ToolCallDelta{Arguments: `"hi" to\n`}, model.ToolCallDelta{Arguments: `them"}`},
	model.ToolCallStart{ID: "call_a", Name: "weather"}, model.ToolCallDelta{Arguments: `{}`},
	modeltest.DefaultUsage, model.Finish{Reason: model.ToolCalls})

// TestCustomTools calls a custom tool beside a function: its input is text, also where the
// model leaves quotes without a backslash, and comes back in the next request.
func TestCustomTools(t *testing.T) {
	s := openChat(t, patchCall, patchCall, modeltest.Text("Done"))
	tools := `"tools":[{"type":"custom","custom":{"name":"patch","description":"Edits.","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"start: X"}}}},{"type":"function","function":{"name":"weather"}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"custom","custom":{"name":"patch"}},{"type":"function","function":{"name":"weather"}}]}}`
	const call = `{"id":"call_p","type":"custom","custom":{"name":"patch","input":"say \"hi\" to\nthem"}}`
	want := completionJSON(1, `{"role":"assistant","content":null,"refusal":null,"tool_calls":[`+call+`,{"id":"call_a","type":"function","function":{"name":"weather","arguments":"{}"}}]}`, "tool_calls", plainUsage, "{}")
	s.want("POST", chatPath, chatBody(tools), 200, want)
	s.want("GET", chatPath+"/chatcmpl_01", "", 200, want)
	if got := s.script.Requests()[0].Tools[0].Description; got != "Edits.\n\nThe input must follow this lark grammar:\nstart: X" {
		t.Errorf("the model reads %q", got)
	}
	s.want("POST", chatPath, chatBody(`"store":false,`+tools+","+withUsage), 200, strings.ReplaceAll(
		chunkLine(0, `{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_p","type":"custom","custom":{"name":"patch","input":""}}]}`, "null")+
			chunkLine(0, `{"tool_calls":[{"index":0,"custom":{"input":"say "}}]}`, "null")+
			chunkLine(0, `{"tool_calls":[{"index":0,"custom":{"input":"\"hi\" to\nthem"}}]}`, "null")+
			chunkLine(0, `{"tool_calls":[{"index":1,"id":"call_a","type":"function","function":{"name":"weather","arguments":""}}]}`, "null")+
			chunkLine(0, `{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}`, "null")+
			chunkLine(0, `{}`, `"tool_calls"`)+usageLine(plainUsage), "chatcmpl_01", "chatcmpl_02"))
	s.want("POST", chatPath, `{"model":"svc-preview","store":false,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[`+call+`]},{"role":"tool","tool_call_id":"call_p","content":"ok"}],`+tools+`}`, 200,
		completionJSON(3, `{"role":"assistant","content":"Done","refusal":null}`, "stop", plainUsage, "{}"))
	if got := s.script.Requests()[2].Messages[1].ToolCalls[0].Arguments; got != `{"input":"say \"hi\" to\nthem"}` {
		t.Errorf("the model reads the call %s", got)
	}
}

// thinksFirst is an answer with a thought before it.
var thinksFirst = modeltest.Events(model.Reasoning{Text: "Hm, "}, model.Reasoning{Text: "4."}, model.TextDelta{Text: "Four"}, modeltest.DefaultUsage, model.Finish{Reason: model.Stop})

// TestReasoningContent shows what the model thinksFirst, and reads it back with a call.
func TestReasoningContent(t *testing.T) {
	s := openChat(t, thinksFirst, thinksFirst, modeltest.Text("Sun"))
	want := completionJSON(1, `{"role":"assistant","content":"Four","reasoning_content":"Hm, 4.","refusal":null}`, "stop", plainUsage, "{}")
	s.want("POST", chatPath, chatBody(""), 200, want)
	s.want("GET", chatPath+"/chatcmpl_01", "", 200, want)
	s.want("POST", chatPath, chatBody(`"store":false,`+withUsage), 200, strings.ReplaceAll(
		chunkLine(0, `{"role":"assistant","content":"","reasoning_content":"Hm, "}`, "null")+
			chunkLine(0, `{"reasoning_content":"4."}`, "null")+
			chunkLine(0, `{"content":"Four"}`, "null")+
			chunkLine(0, `{}`, `"stop"`)+usageLine(plainUsage), "chatcmpl_01", "chatcmpl_02"))
	s.want("POST", chatPath, `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"},{"role":"assistant","reasoning_content":"Ask.","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"sunny"}]}`, 200,
		completionJSON(3, `{"role":"assistant","content":"Sun","refusal":null}`, "stop", plainUsage, "{}"))
	if got := s.script.Requests()[2].Messages[1].Reasoning; got != "Ask." {
		t.Errorf("the model reads the thought %q", got)
	}
}

// TestWhatTheStrictChatRefuses sends each of these to the strict interface.
func TestWhatTheStrictChatRefuses(t *testing.T) {
	s := newChatServer(t, thinksFirst)
	for fields, param := range map[string]string{
		`"n":2`:                      "n",
		`"functions":[{"name":"f"}]`: "functions",
		`"function_call":"none"`:     "function_call",
		`"tools":[{"type":"custom","custom":{"name":"f"}}]`:                                                           "tools[0].type",
		`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"custom","custom":{"name":"f"}}`: "tool_choice.type",
	} {
		status, body, _, _ := s.do("POST", chatPath, chatBody(fields))
		if status != 400 || !strings.Contains(body, `"param":"`+param+`"`) {
			t.Errorf("%s: got %d %s", fields, status, body)
		}
	}
	s.want("POST", chatPath, chatBody(""), 200, completionJSON(1, `{"role":"assistant","content":"Four","refusal":null}`, "stop", plainUsage, "{}"))
}

// TestWhatTheOpenChatRefuses has requests that make no sense in any interface.
func TestWhatTheOpenChatRefuses(t *testing.T) {
	s := openChat(t)
	for fields, param := range map[string]string{
		`"n":9`: "n",
		`"n":0`: "n",
		`"functions":[{"name":"f"}],"tools":[{"type":"function","function":{"name":"f"}}]`: "functions",
		`"functions":[{"name":"f"}],"function_call":"any"`:                                 "function_call",
		`"functions":[{"name":"f"}],"function_call":{"name":"g"}`:                          "tool_choice",
		`"function_call":"auto","tool_choice":"auto"`:                                      "function_call",
		`"tools":[{"type":"retrieval"}]`:                                                   "tools[0].type",
		`"tools":[{"type":"custom"}]`:                                                      "tools[0].custom.name",
		`"tools":[{"type":"custom","custom":{"name":"f","format":{"type":"x"}}}]`:          "tools[0].custom.format.type",
	} {
		status, body, _, _ := s.do("POST", chatPath, chatBody(fields))
		if status != 400 || !strings.Contains(body, `"param":"`+param+`"`) {
			t.Errorf("%s: got %d %s", fields, status, body)
		}
	}
}
