package httpapi

import (
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"
	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/openai"
)

// decidingServer is a double of a model server that decides by itself, and of
// one that also generates.
type decidingServer struct {
	path    string                                // where it decides
	decide  func(body gjson.Result) (int, string) // to a request with questions
	chatter bool                                  // it generates, too, and likes every first label
	mu      sync.Mutex
	bodies  []string // of decisions with questions; guarded by mu
	calls   []string // all paths but those that tell the kind; guarded by mu
}

func (d *decidingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	body := gjson.ParseBytes(data)
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Method == http.MethodPost {
		d.calls = append(d.calls, r.URL.Path)
	}
	questions := body.Get("questions").Raw
	switch {
	case r.URL.Path == d.path && (questions == "{}" || questions == "[]"):
		w.WriteHeader(http.StatusUnprocessableEntity)
		io.WriteString(w, `{"error":{"message":"questions: must have 1 to 16 questions"}}`)
	case r.URL.Path == d.path:
		d.bodies = append(d.bodies, string(data))
		status, answer := d.decide(body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, answer)
	case r.URL.Path == "/v1/chat/completions" && d.chatter:
		prompt := body.Get("messages.1.content").String()
		label := "B"
		if strings.Contains(prompt, "\nYes") {
			label = "Yes"
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%q},"logprobs":{"content":[{"token":%q,"logprob":0,"top_logprobs":[{"token":%q,"logprob":0}]}]}}],"usage":{"prompt_tokens":50,"completion_tokens":1}}`, label, label, label)
	default:
		http.NotFound(w, r)
	}
}

// over serves the double and returns the interface over it.
func (d *decidingServer) over(t *testing.T, change ...func(*openai.Model)) *decisionAPI {
	t.Helper()
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	m := openai.Model{
		Info:    model.Info{ID: model.DefaultDecider, Decides: true},
		Targets: []openai.Target{{Server: &openai.Server{URL: server.URL + "/v1"}, Model: "judge"}},
	}
	for _, c := range change {
		c(&m)
	}
	b, err := openai.New(openai.Options{Models: []openai.Model{m}, Logger: slog.New(slog.DiscardHandler)})
	check(t, err)
	t.Cleanup(b.Close)
	return newDecisionAPIOver(t, b)
}

func (d *decidingServer) count(path string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(d.calls), func(call string) bool { return call != path }))
}

func answering(answer string) func(gjson.Result) (int, string) {
	return func(gjson.Result) (int, string) { return 200, answer }
}

const threeKinds = `{
	"model": "svc-snap-preview",
	"state": {"text": "x"},
	"questions": {
		"z":  {"type": "noul", "instructions": "Is it?", "criteria": {"true": "It is."}},
		"a.b":  {"type": "choice", "instructions": {"ask": "Which?"}, "criteria": {"z & y": null, "a": ["b"]}},
		"10": {"type": "score", "criteria": ["little", {"very": "much"}]}
	}%s
}`

const threeAnswers = `{"model":"svc-snap-preview","answers":{` +
	`"z":{"type":"noul","noul":0.25},` +
	`"a.b":{"type":"choice","choice":"a","probabilities":{"z & y":0.125,"a":0.875},"confidence":0.875},` +
	`"10":{"type":"score","score":0.75,"legend":{"0":"little","1":{"very":"much"}},"probabilities":{"0":0.25,"1":0.75},"confidence":0.75}},` +
	`"usage":{"input_tokens":77,"output_tokens":0}}`

func TestServersThatDecideBySystemOne(t *testing.T) {
	is := is.New(t)
	pixel := base64.StdEncoding.EncodeToString(onePixel(t))
	d := &decidingServer{path: "/v1/systemone", decide: answering(`{"model":"judge","answers":{` +
		`"10":{"type":"score","score":0.75,"probabilities":{"1":0.75,"0":0.25}},` +
		`"a.b":{"type":"choice","choice":"a","probabilities":{"a":0.875,"z & y":0.125}},` +
		`"z":{"type":"noul","noul":0.25}},"usage":{"input_tokens":77,"output_tokens":0}}`)}
	a := d.over(t)
	w := a.post(a.key, strings.NewReader(fmt.Sprintf(threeKinds, `,"images":[{"mediaType":"image/png","base64":"`+pixel+`"}]`)))
	is.Equal(w.Body.String(), threeAnswers)
	is.Equal(d.bodies, []string{`{"model":"judge","state":{"text":"x"},"images":[{"mediaType":"image/png","base64":"` + pixel + `"}],"questions":{` +
		`"z":{"type":"noul","instructions":"Is it?","criteria":{"true":"It is."}},` +
		`"a.b":{"type":"choice","instructions":"{\"ask\":\"Which?\"}","criteria":{"z & y":null,"a":["b"]}},` +
		`"10":{"type":"score","criteria":["little",{"very":"much"}]}}}`})
	is.Equal(d.calls, []string{"/v1/systemone", "/v1/systemone"}) // one to find out, one for all questions
	w = a.post(a.key, strings.NewReader(fmt.Sprintf(threeKinds, "")))
	is.Equal(w.Body.String(), threeAnswers)
	is.Equal(len(d.calls), 3)
}

func TestServersThatDecideByDecisions(t *testing.T) {
	is := is.New(t)
	d := &decidingServer{path: "/v1/decisions", decide: answering(`{"model":"judge","answers":[` +
		`{"type":"predicate","name":"z","probability":0.25},` +
		`{"type":"choice","name":"a.b","choice":"a","confidence":0.875,"probabilities":[{"value":"a","probability":0.875},{"value":"z & y","probability":0.125}]},` +
		`{"type":"score","name":"10","score":0.75,"confidence":0.75,"probabilities":[{"label":"little","value":0,"probability":0.25},{"label":"much","value":1,"probability":0.75}]}],` +
		`"usage":{"input_tokens":77,"output_tokens":0,"total_tokens":77}}`)}
	a := d.over(t, func(m *openai.Model) { m.Decides = openai.Decisions })
	w := a.post(a.key, strings.NewReader(fmt.Sprintf(threeKinds, "")))
	is.Equal(w.Body.String(), threeAnswers)
	is.Equal(d.bodies, []string{`{"model":"judge","input":[{"type":"message","role":"user","content":[{"type":"input_json","data":{"text":"x"}}]}],"questions":[` +
		`{"type":"predicate","name":"z","instructions":"Is it?\nYes: It is."},` +
		`{"type":"choice","name":"a.b","instructions":"{\"ask\":\"Which?\"}","choices":[{"value":"z & y"},{"value":"a","description":"[\"b\"]"}]},` +
		`{"type":"score","name":"10","instructions":"Which answer is right, or fits best?","levels":[{"label":"little"},{"label":"{\"very\":\"much\"}"}]}]}`})
	is.Equal(d.calls, []string{"/v1/decisions"}) // a configured server is not asked what it can
}

// TestServersThatDecideNot has one answer of two that cannot be used, or none:
// the labels of what is left are scored, and the whole decision answered.
func TestServersThatDecideNot(t *testing.T) {
	const questions = `{"a":{"type":"choice","instructions":"?","criteria":{"x":null,"y":null}},"b":{"type":"noul","instructions":"?"}}`
	answer := func(a string) func(gjson.Result) (int, string) {
		return answering(`{"answers":{"a":` + a + `,"b":{"type":"noul","noul":0.25}},"usage":{"input_tokens":30}}`)
	}
	for name, c := range map[string]struct {
		decide func(gjson.Result) (int, string)
		scored int
		b      string
	}{
		"no such option":   {answer(`{"type":"choice","probabilities":{"x":0.5,"z":0.5}}`), 1, "0.25"},
		"an option less":   {answer(`{"type":"choice","probabilities":{"x":1}}`), 1, "0.25"},
		"an option more":   {answer(`{"type":"choice","probabilities":{"x":0.5,"y":0.5,"z":0}}`), 1, "0.25"},
		"a sum of 0.9":     {answer(`{"type":"choice","probabilities":{"x":0.5,"y":0.4}}`), 1, "0.25"},
		"below 0":          {answer(`{"type":"choice","probabilities":{"x":1.2,"y":-0.2}}`), 1, "0.25"},
		"no number":        {answer(`{"type":"choice","probabilities":{"x":"1","y":0}}`), 1, "0.25"},
		"another type":     {answer(`{"type":"noul","noul":1}`), 1, "0.25"},
		"refused":          {answer(`{"type":"refusal"}`), 1, "0.25"},
		"no answers":       {answering(`{}`), 2, "0.9999999989999999"},
		"a refusal":        {func(gjson.Result) (int, string) { return 422, `{"error":"too many options"}` }, 2, "0.9999999989999999"},
		"a refusal by 400": {func(gjson.Result) (int, string) { return 400, `{"error":"no images"}` }, 2, "0.9999999989999999"},
		"gone":             {func(gjson.Result) (int, string) { return 404, `gone` }, 2, "0.9999999989999999"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			d := &decidingServer{path: "/v1/systemone", decide: c.decide, chatter: true}
			a := d.over(t)
			w := a.post(a.key, strings.NewReader(asked(questions)))
			is.Equal(w.Code, 200)
			body := gjson.Parse(w.Body.String())
			is.Equal(body.Get("answers.a.choice").Str, "x")
			is.Equal(body.Get("answers.b.noul").Raw, c.b)
			is.Equal(d.count("/v1/chat/completions"), c.scored)
		})
	}
}

func TestServersThatOnlyDecideSayWhatTheyRefuse(t *testing.T) {
	is := is.New(t)
	d := &decidingServer{path: "/v1/systemone", decide: func(gjson.Result) (int, string) {
		return 422, `{"error":{"message":"at most 16 options"}}`
	}}
	a := d.over(t, func(m *openai.Model) { m.Decides = openai.SystemOne })
	w := a.post(a.key, strings.NewReader(asked(oneQuestion)))
	is.Equal(w.Code, 400)
	is.True(strings.Contains(w.Body.String(), "at most 16 options"))
}

// TestServersThatDecideAreNotAskedForMore asks what their interface cannot say.
func TestServersThatDecideAreNotAskedForMore(t *testing.T) {
	for name, more := range map[string]string{
		"orders":   `,"debias":2`,
		"examples": `,"examples":[{"state":"y","answers":{"q":true}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			d := &decidingServer{path: "/v1/systemone", chatter: true}
			a := d.over(t)
			w := a.post(a.key, strings.NewReader(`{"model":"svc-snap-preview","state":"x","questions":`+oneQuestion+more+`}`))
			is.Equal(w.Code, 200)
			is.Equal(len(d.bodies), 0)
		})
	}
	is := is.New(t)
	d := &decidingServer{path: "/v1/systemone", chatter: true}
	a := d.over(t, func(m *openai.Model) { m.Decides = openai.ByLabels })
	is.Equal(a.post(a.key, strings.NewReader(asked(oneQuestion))).Code, 200)
	is.Equal(d.count("/v1/systemone"), 0) // nor found out
}

// TestSixteenQuestionsAreOneCall, and what is more as few as there can be.
func TestSixteenQuestionsAreOneCall(t *testing.T) {
	is := is.New(t)
	d := &decidingServer{path: "/v1/systemone", decide: func(body gjson.Result) (int, string) {
		var answers []string
		for name := range body.Get("questions").Map() {
			answers = append(answers, `"`+name+`":{"type":"noul","noul":0.5}`)
		}
		return 200, `{"answers":{` + strings.Join(answers, ",") + `}}`
	}}
	a := d.over(t)
	var questions, list []string
	for i := range 40 {
		questions = append(questions, fmt.Sprintf(`"q%d":{"type":"noul","instructions":"?"}`, i))
		list = append(list, fmt.Sprintf(`{"type":"predicate","name":"q%d","instructions":"?"}`, i))
	}
	is.Equal(a.post(a.key, strings.NewReader(asked(`{`+strings.Join(questions[:16], ",")+`}`))).Code, 200)
	is.Equal(len(d.bodies), 1)
	is.Equal(a.send("/v1/decisions", `{"model":"svc-snap-preview","input":"x","questions":[`+strings.Join(list, ",")+`]}`).Code, 200)
	is.Equal(len(d.bodies), 4) // of 16, 16 and 8
}
