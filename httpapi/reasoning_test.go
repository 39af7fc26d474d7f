package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// thinks is a call of the weather tool that a thought has led to.
func thinks(thought string) modeltest.Answer {
	return modeltest.Events(model.Reasoning{Text: thought}, model.TextDelta{Text: "Let me see."}, model.ToolCallStart{ID: "x", Name: "weather"},
		model.ToolCallDelta{Arguments: "{}"}, modeltest.DefaultUsage, model.Finish{Reason: model.ToolCalls})
}

// thoughtsSent are those of the n-th request to the model.
func (a *turns) thoughtsSent(n int) (list []string) {
	for _, m := range a.script.Requests()[n].Messages {
		if m.Reasoning != "" {
			list = append(list, m.Reasoning)
		}
	}
	return list
}

func foggy(callID string) string {
	return `{"type":"function_call_output","call_id":` + quote(callID) + `,"output":"Fog."}`
}

// TestThoughtsOfATask go back to the model with their calls, until the user says
// something new, and to nobody else.
func TestThoughtsOfATask(t *testing.T) {
	is := is.New(t)
	a := newTurns(t, thinks("Secret one."), thinks("Secret two."), modeltest.Text("Fog."), modeltest.Text("Bye."))
	var shown strings.Builder
	next := func(body string) response {
		t.Helper()
		answer := a.post(body)
		shown.WriteString(answer)
		var r response
		decode(t, answer, &r)
		return r
	}
	const tools = `"tools":[` + weatherTool + `]`
	first := next(plain(tools))
	second := next(`{"model":"svc-preview","input":[` + foggy(first.Output[1].CallID) + `],` + after(first.ID) + `,` + tools + `}`)
	third := next(`{"model":"svc-preview","input":[` + foggy(second.Output[1].CallID) + `],` + after(second.ID) + `,` + tools + `}`)
	next(say("Thanks", after(third.ID), tools))
	is.Equal(a.thoughtsSent(1), []string{"Secret one."})
	is.Equal(a.thoughtsSent(2), []string{"Secret one.", "Secret two."})
	is.Equal(len(a.thoughtsSent(3)), 0)
	shown.WriteString(a.want(200, "GET", "/v1/conversations/"+first.Conversation.ID+"/items", ""))
	shown.WriteString(a.want(200, "GET", "/v1/responses/"+first.ID, ""))
	is.True(!strings.Contains(shown.String(), "Secret") && !strings.Contains(shown.String(), `"reasoning_`+`content`) && !strings.Contains(shown.String(), `"type":"reasoning"`))
}

// TestSealedThoughts are returned where they are asked for, and opened again for
// the organization that they are of, whose client keeps the history.
func TestSealedThoughts(t *testing.T) {
	is := is.New(t)
	a := newTurns(t, thinks("Secret one."), modeltest.Text("Fog."), thinks("Secret two."))
	const asked = `"store":false,"include":["reasoning.encrypted_content"],"tools":[` + weatherTool + `]`
	transcript := a.post(plain(asked + `,"stream":true`))
	var r struct{ Output []json.RawMessage }
	must(t, json.Unmarshal(checkTranscript(t, transcript), &r))
	is.Equal(len(r.Output), 3)
	var item struct {
		ID, Type         string
		Summary          []string
		EncryptedContent string `json:"encrypted_content"`
		CallID           string `json:"call_id"`
	}
	must(t, json.Unmarshal(r.Output[2], &item))
	callID := item.CallID
	must(t, json.Unmarshal(r.Output[0], &item))
	is.Equal(item.Type, "reasoning")
	is.Equal(item.Summary, []string{})
	is.True(item.EncryptedContent != "" && !strings.Contains(transcript, "Secret"))
	is.Equal(strings.Count(transcript, `"item":{"id":"`+item.ID+`","type":"reasoning","summary":[],"encrypted_content":`), 2) // added and done

	history := func(items ...json.RawMessage) string {
		input := []string{`{"role":"user","content":"Hi"}`}
		for _, i := range items {
			input = append(input, string(i))
		}
		return `{"model":"svc-preview","input":[` + strings.Join(append(input, foggy(callID)), ",") + `],` + asked + `}`
	}
	a.post(history(r.Output...))
	is.Equal(a.thoughtsSent(1), []string{"Secret one."})
	var plainly any
	for _, m := range a.script.Requests()[1].Messages {
		if m.Reasoning != "" {
			plainly = m.ToolCalls[0].ID
		}
	}
	is.Equal(plainly, callID)

	const refused = "encrypted_content is not what this service has returned to the organization."
	a.as("other").wantInvalid("POST", "/v1/responses", history(r.Output...), "input", refused)
	a.wantInvalid("POST", "/v1/responses", history(append(r.Output, json.RawMessage(`{"type":"reasoning","summary":[],"encrypted_content":"x"}`))...), "input", refused)
	a.wantInvalid("POST", "/v1/responses", history(append(r.Output, json.RawMessage(`{"type":"compaction","encrypted_content":`+quote(item.EncryptedContent)+`}`))...), "input",
		"encrypted_content is not what this service has returned for an item of this type.")

	// Stored, it is part of the response, and no item of the conversation.
	var stored response
	decode(t, a.post(plain(`"include":["reasoning.encrypted_content"],"tools":[`+weatherTool+`]`)), &stored)
	is.Equal(stored.Output[0].Type, "reasoning")
	is.True(strings.Contains(a.want(200, "GET", "/v1/responses/"+stored.ID, ""), `"type":"reasoning"`))
	checkTranscript(t, a.want(200, "GET", "/v1/responses/"+stored.ID+"?stream=true", ""))
	is.True(!strings.Contains(a.want(200, "GET", "/v1/conversations/"+stored.Conversation.ID+"/items", ""), `"type":"reasoning"`))
	a.want(404, "GET", "/v1/conversations/"+stored.Conversation.ID+"/items/"+stored.Output[0].ID, "")
}
