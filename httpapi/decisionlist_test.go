package httpapi

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"
	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// quarter gives the first option a quarter, and the last one the rest.
func quarter(_ context.Context, req *model.ScoreRequest) (*model.Scores, error) {
	p := make([]float64, len(req.Options))
	p[0], p[len(p)-1] = 0.25, 0.75
	return &model.Scores{Probabilities: p, StateTokens: 100, QuestionTokens: 10}, nil
}

func (a *decisionAPI) send(path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+a.key)
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

func TestDecisionList(t *testing.T) {
	is := is.New(t)
	a := newDecisionAPI(t, &modeltest.Script{Scores: quarter})
	pixel := base64.StdEncoding.EncodeToString(onePixel(t))
	w := a.send("/v1/decisions", `{
		"model": "svc-snap-preview",
		"input": [
			{"role": "developer", "content": "Be fair."},
			{"type": "message", "role": "user", "content": [
				{"type": "input_text", "text": "Hi", "prompt_cache_breakpoint": {"mode": "explicit"}},
				{"type": "input_json", "data": {"a" : 1}},
				{"type": "input_image", "image_url": "data:image/png;base64,`+pixel+`"}]},
			{"role": "assistant", "content": [{"type": "output_text", "text": "Yes"}, {"type": "refusal", "refusal": "No"}]},
			{"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
			{"type": "function_call_output", "call_id": "c1", "output": "done"},
			{"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": "x"},
			{"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "y"}]}
		],
		"questions": [
			{"type": "predicate", "instructions": "Is it?"},
			{"type": "choice", "name": "c", "instructions": [{"type": "input_text", "text": "Which"}, {"type": "input_json", "data": [{"b": 2}]},
				{"type": "input_image", "image_url": "data:image/png;base64,`+pixel+`"}],
				"choices": [{"value": true, "description": "yes"}, {"value": "true"}, {"value": "a"}]},
			{"type": "score", "name": "c", "instructions": "How much?", "levels": [{"label": "low"}, {"label": "high", "description": "very"}]}
		],
		"prompt_cache_key": "k", "prompt_cache_options": {"mode": "implicit"}, "safety_identifier": "s"
	}`)
	is.Equal(w.Body.String(), `{"model":"svc-snap-preview","answers":[`+
		`{"type":"predicate","name":null,"probability":0.25},`+
		`{"type":"choice","name":"c","choice":"a","confidence":0.75,"probabilities":[{"value":true,"probability":0.25},{"value":"true","probability":0},{"value":"a","probability":0.75}]},`+
		`{"type":"score","name":"c","score":0.75,"confidence":0.75,"probabilities":[{"label":"low","value":0,"probability":0.25},{"label":"high","value":1,"probability":0.75}]}],`+
		`"usage":{"input_tokens":130,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":0,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":130}}`)
	is.Equal(w.Code, 200)
	is.Equal(w.Header().Get("X-Typesafe-Request-Id"), w.Header().Get("X-Request-Id"))
	calls := a.script.ScoreCalls()
	is.Equal(calls[0].Request.State[0], model.Text("\"\"\"\n"+`[{"role":"developer","content":"Be fair."},{"role":"user","content":["Hi",{"a":1},"[image 1]"]},`+
		`{"role":"assistant","content":["Yes","No"]},{"type":"function_call","name":"f","arguments":"{}"},{"type":"function_call_output","output":"done"},`+
		`{"type":"custom_tool_call","name":"g","input":"x"},{"type":"custom_tool_call_output","output":["y"]}]`+"\n\"\"\"\n\n"))
	is.Equal(len(calls[0].Request.State), 2) // and the image
	for _, call := range calls {
		is.Equal(len(call.Request.Images) == 1, len(call.Request.Options) == 3) // the one with an image of its own
		if len(call.Request.Options) == 3 {
			is.Equal(call.Request.Question, "Reply with the label only.\n\nWhich\n[{\"b\":2}]\n\nB: true: yes\nC: \"true\"\nD: a")
		}
	}
}

func TestDecisionListTakes400Questions(t *testing.T) {
	is := is.New(t)
	a := newDecisionAPI(t, &modeltest.Script{Scores: quarter})
	question := `{"type":"predicate","instructions":"?"},`
	body := func(n int) string {
		return `{"model":"svc-snap-preview","input":"x","questions":[` + strings.TrimSuffix(strings.Repeat(question, n), ",") + `]}`
	}
	w := a.send("/v1/decisions", body(400))
	is.Equal(w.Code, 200)
	is.Equal(strings.Count(w.Body.String(), `"predicate"`), 400)
	is.Equal(a.send("/v1/decisions", body(401)).Body.String(),
		`{"error":{"message":"questions must have 1 to 400 questions.","type":"invalid_request_error","param":"questions","code":"validation_error"}}`)
}

func TestDecisionListInvalid(t *testing.T) {
	a := newDecisionAPI(t, &modeltest.Script{})
	const predicate = `[{"type":"predicate","instructions":"?"}]`
	input := func(items string) string {
		return `{"model":"svc-snap-preview","input":` + items + `,"questions":` + predicate + `}`
	}
	asks := func(question string) string {
		return `{"model":"svc-snap-preview","input":"x","questions":[` + question + `]}`
	}
	for _, c := range []struct{ name, body, param, message string }{
		{"no model", `{"input":"x","questions":` + predicate + `}`, "model", "model is required."},
		{"generation model", `{"model":"svc-preview","input":"x","questions":` + predicate + `}`, "model", `model: \"svc-preview\" is not a decision model`},
		{"no input", `{"model":"svc-snap-preview","questions":` + predicate + `}`, "input", "input is required."},
		{"empty input", input(`[]`), "input", "input must not be empty."},
		{"role", input(`[{"role":"tool","content":"x"}]`), "input[0].role", "input[0].role must be one of user, developer, system, assistant."},
		{"an output without its call", input(`[{"type":"function_call_output","call_id":"c","output":"x"}]`), "input[0].call_id", "input[0].call_id must be that of a call before it."},
		{"an output of another kind", input(`[{"type":"custom_tool_call","call_id":"c","name":"f","input":""},{"type":"function_call_output","call_id":"c","output":"x"}]`),
			"input[1].call_id", "input[1].call_id must be that of a call before it."},
		{"an image to fetch", input(`[{"role":"user","content":[{"type":"input_image","image_url":"https://example.com/a.png"}]}]`),
			"input[0].content[0].image_url", "input[0].content[0].image_url must be a data URL: this service does not fetch images."},
		{"a bad image", input(`[{"role":"user","content":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"data:image/png;base64,*"}]}]`),
			"input[0].content[1].image_url", "input[0].content[1].image_url: base64 cannot be decoded."},
		{"a file", input(`[{"role":"user","content":[{"type":"input_file","file_id":"x"}]}]`),
			"input[0].content[0].type", "input[0].content[0].type must be one of input_text, input_image, input_json."},
		{"data", input(`[{"role":"user","content":[{"type":"input_json","data":"x"}]}]`),
			"input[0].content[0].data", "input[0].content[0].data must be an object or an array of objects."},
		{"no questions", `{"model":"svc-snap-preview","input":"x","questions":[]}`, "questions", "questions must have 1 to 400 questions."},
		{"type", asks(`{"type":"noul","instructions":"?"}`), "questions[0].type", "questions[0].type must be one of predicate, choice, score."},
		{"no instructions", asks(`{"type":"predicate"}`), "questions[0].instructions", "questions[0].instructions is required."},
		{"one choice", asks(`{"type":"choice","instructions":"?","choices":[{"value":"a"}]}`), "questions[0].choices", "questions[0].choices must have 2 to 255 choices."},
		{"the same choice", asks(`{"type":"choice","instructions":"?","choices":[{"value":"a"},{"value":"a"}]}`), "questions[0].choices[1].value", "questions[0].choices[1].value is used twice."},
		{"value a number", asks(`{"type":"choice","instructions":"?","choices":[{"value":"a"},{"value":1}]}`), "questions[0].choices[1].value", "questions[0].choices[1].value must be a boolean."},
		{"one level", asks(`{"type":"score","instructions":"?","levels":[{"label":"a"}]}`), "questions[0].levels", "questions[0].levels must have 2 to 10 levels."},
		{"a bad image of a question", asks(`{"type":"predicate","instructions":[{"type":"input_image","image_url":"data:image/gif;base64,AA=="}]}`),
			"questions[0].instructions[0].image_url", "questions[0].instructions[0].image_url: mediaType must be one of image/png, image/jpeg, image/webp."},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := a.send("/v1/decisions", c.body)
			want := `{"error":{"message":"` + c.message + `","type":"invalid_request_error","param":"` + c.param + `","code":"validation_error"}}`
			if w.Code != 400 || w.Body.String() != want {
				t.Errorf("got  %d %s\nwant 400 %s", w.Code, w.Body, want)
			}
		})
	}
	w := a.send("/v1/decisions", `{"model":"other","input":"x","questions":`+predicate+`}`)
	if want := `{"error":{"message":"No model found with id \"other\".","type":"invalid_request_error","param":"model","code":"model_not_found"}}`; w.Code != 404 || w.Body.String() != want {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestDecisionsAreLenient(t *testing.T) {
	a := newDecisionAPI(t, &modeltest.Script{Scores: quarter})
	for question, want := range map[string]string{
		`{"type":"noul"}`: "Is the state true?\n\nYes\nNo",
		`{"type":"noul","instructions":null,"criteria":{"true":"It rains."}}`:     "\nYes: It rains.\nNo",
		`{"type":"noul","instructions":{"ask" : ["Is it?"]}}`:                     "{\"ask\":[\"Is it?\"]}\n\nYes\nNo",
		`{"type":"choice","instructions":"","criteria":{"a":null,"b":{"x" : 1}}}`: "\nB: a\nC: b: {\"x\":1}",
		`{"type":"score","criteria":["low",null]}`:                                "The answers are levels of a scale, from the first to the last.\n\n0: low\n1: 1",
	} {
		before := len(a.script.ScoreCalls())
		w := a.send("/v1/systemone", asked(`{"q":`+question+`}`))
		if w.Code != 200 || w.Header().Get("X-Typesafe-Request-Id") == "" {
			t.Errorf("%s: %d %s", question, w.Code, w.Body)
			continue
		}
		if got := a.script.ScoreCalls()[before].Request.Question; got != "Reply with the label only.\n\n"+want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestDecisionAboutWhatIsStored(t *testing.T) {
	is := is.New(t)
	script := &modeltest.Script{Scores: quarter, Answers: []modeltest.Answer{modeltest.Text("ok")}}
	service, err := svc.New(t.Context(), svc.Options{Backend: script, Aliases: map[string]string{"jev-latest": "svc-snap-preview"}})
	is.NoErr(err)
	defer service.Close()
	key, err := service.Bootstrap(t.Context(), "")
	is.NoErr(err)
	caller, err := service.Authenticate(t.Context(), key)
	is.NoErr(err)
	file, err := service.UploadFile(t.Context(), caller, files.Upload{Filename: "a.txt", MIMEType: "text/plain", Purpose: "assistants", Content: strings.NewReader("It rains.")})
	is.NoErr(err)
	conversation, err := service.CreateConversation(t.Context(), caller, nil, []conversations.Item{
		&conversations.Message{Role: model.User, Content: []conversations.Part{{Type: conversations.InputText, Text: "Hi"}}}})
	is.NoErr(err)
	a := &decisionAPI{API: Contract(t, New(service, Options{})), script: script, key: key}
	is.Equal(a.send("/v1/responses", `{"model":"svc-preview","conversation":"`+conversation.ID+`","input":[{"type":"input_file","file_id":"`+file.ID+`"}]}`).Code, 200)
	for state, want := range map[string]string{
		`{"file_id":"` + file.ID + `"}`:              "It rains.",
		`{"conversation":"` + conversation.ID + `"}`: `[{"role":"user","content":["Hi"]},{"role":"user","content":[{"file":"a.txt","text":"It rains."}]},{"role":"assistant","content":["ok"]}]`,
		`{"file_id":"` + file.ID + `","x":1}`:        `{"file_id":"` + file.ID + `","x":1}`,
		`{"file_id":"17"}`:                           `{"file_id":"17"}`,
	} {
		before := len(script.ScoreCalls())
		w := a.send("/v1/systemone", `{"model":"jev-latest","state":`+state+`,"questions":`+oneQuestion+`}`)
		is.Equal(w.Code, 200)
		is.True(strings.HasPrefix(w.Body.String(), `{"model":"svc-snap-preview",`))
		is.Equal(script.ScoreCalls()[before].Request.State[0], model.Text("\"\"\"\n"+want+"\n\"\"\"\n\n"))
	}
	w := a.send("/v1/systemone", `{"model":"jev-latest","state":{"file_id":"file_gone"},"questions":`+oneQuestion+`}`)
	is.Equal(w.Body.String(), `{"detail":{"error_type":"file_not_found","message":"No file found with id \"file_gone\"."}}`)
	is.Equal(w.Code, 404)
	w = send(a.API, key, "GET", "/v1/models/jev-latest", "")
	created := gjson.Get(w.Body.String(), "created").Int()
	is.True(created > 0) // when the service began to use it
	is.Equal(w.Body.String(), fmt.Sprintf(`{"id":"svc-snap-preview","object":"model","created":%d,"owned_by":""}`, created))
}
