package httpapi_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// TestUnknownFieldsAreNamed sends mistyped fields to OpenAI's routes: the answer
// names them, and refuses them where the request says so.
func TestUnknownFieldsAreNamed(t *testing.T) {
	yes := modeltest.Text("Yes.")
	a := newTurns(t, yes, yes, yes, yes, yes)
	send := func(path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+a.key)
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		return w
	}
	for _, c := range []struct{ path, body, ignored string }{
		{"/v1/responses", `{"model":"svc-preview","input":"Hi","temprature":1,"reasoning":{"efort":"low"}}`, "temprature, reasoning.efort"},
		{"/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":"Hi","rôle":1}],"user":"u"}`, `"messages[0].r\u00f4le"`},
		{"/v1/completions", `{"model":"svc-preview","prompt":"Hi","logit_bais":{}}`, "logit_bais"},
		{"/v1/conversations", `{"metdata":{}}`, "metdata"},
		{"/v1/responses", `{"model":"svc-preview","input":"Hi","unknown_fields":"ignore"}`, ""},
		{"/v1/responses", `{"model":"svc-preview","input":[{"type":"message","id":"m","status":"completed","role":"user","content":[{"type":"input_text","text":"Hi"}]}]}`, ""},
	} {
		t.Run(c.ignored, func(t *testing.T) {
			is := is.New(t)
			w := send(c.path, c.body)
			is.Equal(w.Code, 200)
			is.Equal(w.Header().Get("Svc-Ignored-Fields"), c.ignored)
		})
	}
	is := is.New(t)
	w := send("/v1/responses", `{"model":"svc-preview","input":"Hi","temprature":1,"unknown_fields":"refuse"}`)
	is.Equal(w.Code, 400)
	is.True(strings.Contains(w.Body.String(), `"message":"temprature is not a field; did you mean temperature?","type":"invalid_request_error","param":"temprature"`))
}

// TestBlockingModerationIsRefused until it is done: a request that wants its input
// blocked must not run as if it had been looked at.
func TestBlockingModerationIsRefused(t *testing.T) {
	a := newTurns(t, modeltest.Text("Yes."))
	for _, c := range []struct{ path, body string }{
		{"/v1/responses", plain(`"moderation":{"policy":{"input":{"mode":"block"}}}`)},
		{"/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}],"moderation":{"policy":{"input":{"mode":"block"}}}}`},
	} {
		a.wantInvalid("POST", c.path, c.body, "moderation.policy.input.mode",
			`moderation.policy.input.mode must not be "block": nothing is moderated here, and nothing would be blocked.`)
	}
	a.post(plain(`"moderation":{"policy":{"input":{"mode":"flag"}}}`))
}

// TestCustomInputIsWhole has models write the input of a custom tool with what JSON
// does not allow in a string, in pieces: nothing of it is lost.
func TestCustomInputIsWhole(t *testing.T) {
	for _, c := range []struct{ name, arguments, input string }{
		{"strict", `{"input":"a \n\"b\" é"}`, "a \n\"b\" é"},
		{"a line feed", "{\"input\":\"a\nb\\tc\"}", "a\nb\tc"},
		{"an unknown escape", `{"input":"\d+\n"}`, "\\d+\n"},
		{"quotes without backslashes", `{"input":"say "hello" twice"}`, `say "hello" twice`},
		{"another member", `{"input":"a","b":"c"}`, "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := []model.Event{model.ToolCallStart{ID: "x", Name: "apply_patch"}}
			for _, b := range []byte(strings.ReplaceAll(c.arguments, "é", `\u00e9`)) {
				events = append(events, model.ToolCallDelta{Arguments: string(b)})
			}
			a := newTurns(t, modeltest.Events(append(events, modeltest.DefaultUsage, model.Finish{Reason: model.ToolCalls})...))
			var r struct{ Output []struct{ Input string } }
			decode(t, a.post(plain(agentTools)), &r)
			is.New(t).Equal(r.Output[0].Input, c.input)
		})
	}
}
