package httpapi_test

import (
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
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
		{"/v1/systemone", `{"model":"svc-snap-preview","state":"x","questions":{"q":{"type":"noul","instruction":"?"}},"debais":2}`, "questions/q/instruction, debais"},
		{"/v1/decisions", `{"model":"svc-snap-preview","input":[{"role":"user","content":"x","contents":1}],"questions":[{"type":"predicate","instructions":"?"}]}`, "input[0].contents"},
		{"/v1/rerank", `{"model":"svc-snap-preview","query":"x","documents":["y"],"top":1}`, "top"},
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

// TestUnknownFieldsAreRefused where the organization or the key says so, unless the
// request says otherwise.
func TestUnknownFieldsAreRefused(t *testing.T) {
	is := is.New(t)
	quiet := slog.New(slog.DiscardHandler)
	service, err := svc.New(t.Context(), svc.Options{Logger: quiet})
	is.NoErr(err)
	t.Cleanup(func() { must(t, service.Close()) })
	a := httpapi.Contract(t, httpapi.New(service, httpapi.Options{Logger: quiet, AdminKey: "admin"}))
	post := func(key, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		return w
	}
	admin := func(path, body string) string {
		w := post("admin", "/admin/v1/"+path, body)
		is.Equal(w.Code, 200)
		return w.Body.String()
	}
	var o, k struct{ ID, Key string }
	is.NoErr(json.Unmarshal([]byte(admin("organizations", `{"name":"A","credits":1,"unknown_fields":"refuse"}`)), &o))
	is.NoErr(json.Unmarshal([]byte(admin("api_keys", `{"organization_id":"`+o.ID+`"}`)), &k))
	status := func(more string) int {
		return post(k.Key, "/v1/responses", `{"model":"svc-preview","input":"Hi","temprature":1`+more+`}`).Code
	}
	is.Equal(status(""), 400)
	is.Equal(status(`,"unknown_fields":"ignore"`), 200)

	is.True(!strings.Contains(admin("organizations/"+o.ID, `{"unknown_fields":"ignore"}`), "unknown_fields"))
	is.Equal(status(""), 200)
	is.True(strings.Contains(admin("api_keys/"+k.ID, `{"unknown_fields":"refuse"}`), `"unknown_fields":"refuse"`))
	is.Equal(status(""), 400)
	is.Equal(post("admin", "/admin/v1/api_keys/"+k.ID, `{"unknown_fields":"drop"}`).Code, 400)
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
