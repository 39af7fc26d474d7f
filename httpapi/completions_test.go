package httpapi_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

const textPath = "/v1/completions"

func promptBody(fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return `{"model":"svc-preview","prompt":"Once upon"` + fields + `}`
}

// textEvents are the events of a stream, of which "…" stands for what all begin with.
func textEvents(data ...string) string {
	all := ""
	for _, d := range data {
		all += "data: " + strings.Replace(d, "…", `{"id":"cmpl_01","object":"text_completion","created":1700000000,"model":"svc-preview","choices":`, 1) + "\n\n"
	}
	return all
}

func TestCompletions(t *testing.T) {
	is := is.New(t)
	s := newChatServer(t, modeltest.Text(" a", " time"), modeltest.Text("x").WithFinish(model.Length))
	s.want("POST", textPath, promptBody(`"max_tokens":5,"temperature":0.5,"top_p":0.25,"stop":["."],"seed":7,"presence_penalty":1,`+
		`"frequency_penalty":-1,"logit_bias":{"42":-100},"user":"me","n":1,"best_of":1,"echo":false,"logprobs":null,"suffix":null,"stream":false`), 200,
		`{"id":"cmpl_01","object":"text_completion","created":1700000000,"model":"svc-preview",`+
			`"choices":[{"text":" a time","index":0,"logprobs":null,"finish_reason":"stop"}],"usage":`+plainUsage+`}`)
	s.want("POST", textPath, `{"model":"svc-preview","prompt":["Once upon"]}`, 200,
		`{"id":"cmpl_02","object":"text_completion","created":1700000000,"model":"svc-preview",`+
			`"choices":[{"text":"x","index":0,"logprobs":null,"finish_reason":"length"}],"usage":`+plainUsage+`}`)
	requests := s.script.Requests()
	is.Equal(len(requests), 2)
	tenant := requests[0].Tenant
	is.True(tenant != "")
	messages := []model.Message{model.TextMessage(model.User, "Once upon")}
	is.Equal(requests[0], &model.Request{
		Model: "svc-preview", Messages: messages, Continue: true, Whole: true, Tenant: tenant, MaxTokens: 5,
		Temperature: new(0.5), TopP: new(0.25), Stop: []string{"."},
		Sampling: model.Sampling{Seed: new(7), PresencePenalty: new(1.0), FrequencyPenalty: new(-1.0), LogitBias: []byte(`{"42":-100}`)},
	})
	is.Equal(requests[1], &model.Request{Model: "svc-preview", Messages: messages, Continue: true, Whole: true, Tenant: tenant, MaxTokens: 16})
	_, stored, _, err := s.do("GET", chatPath, "")
	is.NoErr(err)
	is.True(strings.Contains(stored, `"data":[]`)) // nothing is kept
}

func TestCompletionsStream(t *testing.T) {
	for _, c := range []struct {
		rule   string
		answer modeltest.Answer
		fields string
		want   string
	}{
		{"text", modeltest.Text(" a", "\n"), `"stream":true`, textEvents(
			`…[{"text":" a","index":0,"logprobs":null,"finish_reason":null}]}`,
			`…[{"text":"\n","index":0,"logprobs":null,"finish_reason":null}]}`,
			`…[{"text":"","index":0,"logprobs":null,"finish_reason":"stop"}]}`,
			`[DONE]`)},
		{"usage where it is asked for", modeltest.Text("a").WithFinish(model.Length), `"stream":true,"stream_options":{"include_usage":true}`, textEvents(
			`…[{"text":"a","index":0,"logprobs":null,"finish_reason":null}],"usage":null}`,
			`…[{"text":"","index":0,"logprobs":null,"finish_reason":"length"}],"usage":null}`,
			`…[],"usage":`+plainUsage+`}`,
			`[DONE]`)},
		{"a failure is the last event", modeltest.Answer{Events: []model.Event{model.TextDelta{Text: "a"}}, Err: fault.Upstreamf(nil, "The model broke.")},
			`"stream":true`, textEvents(
				`…[{"text":"a","index":0,"logprobs":null,"finish_reason":null}]}`,
				`{"error":{"message":"The model broke.","type":"server_error","param":null,"code":"model_error"}}`)},
	} {
		t.Run(c.rule, func(t *testing.T) {
			newChatServer(t, c.answer).want("POST", textPath, promptBody(c.fields), 200, c.want)
		})
	}
}

func TestCompletionsAreRefused(t *testing.T) {
	const oneText = "must be one string: send a request for each text, and text instead of tokens, which mean something to one model alone."
	s := newChatServer(t)
	for _, c := range []struct{ body, param, message string }{
		{`{"prompt":"x"}`, "model", "model is required."},
		{`{"model":"svc-preview"}`, "prompt", "prompt is required."},
		{`{"model":"svc-preview","prompt":""}`, "prompt", "prompt must not be empty."},
		{`{"model":"svc-preview","prompt":[""]}`, "prompt", "prompt must not be empty."},
		{`{"model":"svc-preview","prompt":[]}`, "prompt", "prompt " + oneText},
		{`{"model":"svc-preview","prompt":["a","b"]}`, "prompt", "prompt " + oneText},
		{`{"model":"svc-preview","prompt":[1,2]}`, "prompt", "prompt " + oneText},
		{`{"model":"svc-preview","prompt":[1]}`, "prompt", "prompt " + oneText},
		{`{"model":"svc-preview","prompt":[[1]]}`, "prompt", "prompt " + oneText},
		{`{"model":"svc-preview","prompt":{}}`, "prompt", "prompt " + oneText},
		{promptBody(`"echo":true`), "echo", "echo must not be true: put the prompt in front of the answer instead."},
		{promptBody(`"suffix":"x"`), "suffix", "suffix is not supported: few models fill gaps, and each in its own form; put it into the prompt as the model wants it."},
		{promptBody(`"n":2`), "n", "n must be 1."},
		{promptBody(`"best_of":2`), "best_of", "best_of must be 1."},
		{promptBody(`"logprobs":1`), "logprobs", "logprobs is not supported: POST /v1/chat/completions has log-probabilities."},
		{promptBody(`"chat_template_kwargs":{}`), "chat_template_kwargs", "chat_template_kwargs is not supported: there is no template around a prompt."},
		{promptBody(`"max_tokens":0`), "max_tokens", "max_tokens must be at least 1."},
		{promptBody(`"temperature":3`), "temperature", "temperature must be between 0 and 2."},
		{promptBody(`"top_p":2`), "top_p", "top_p must be between 0 and 1."},
		{promptBody(`"stop":[""]`), "stop", "A stop sequence must not be empty."},
		{promptBody(`"stream_options":{"include_usage":true}`), "stream_options", "stream_options may only be sent with stream."},
	} {
		s.want("POST", textPath, c.body, 400,
			`{"error":{"message":"`+c.message+`","type":"invalid_request_error","param":"`+c.param+`","code":"validation_error"}}`)
	}
	for body, want := range map[string]struct {
		status int
		code   string
	}{
		`{"model":"svc-snap-preview","prompt":"x"}`: {404, "model_not_found"},
		`{"model":"none","prompt":"x"}`:             {404, "model_not_found"},
	} {
		if status, answer, _, err := s.do("POST", textPath, body); err != nil || status != want.status || !strings.Contains(answer, want.code) {
			t.Errorf("%s: %d %s %v", body, status, answer, err)
		}
	}
	if n := len(s.script.Requests()); n > 0 {
		t.Errorf("the model was asked %d times", n)
	}
}
