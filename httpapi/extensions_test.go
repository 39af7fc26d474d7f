package httpapi

import (
	"context"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

func TestDecisionExtensions(t *testing.T) {
	is := is.New(t)
	a := newDecisionAPI(t, &modeltest.Script{Scores: quarter})
	w := a.send("/v1/systemone", `{"model":"svc-snap-preview","state":"x","debias":2,
		"examples":[{"state":"y","answers":{"n":true,"c":"b"}}],
		"questions":{"n":{"type":"noul","instructions":"Is it?"},"c":{"type":"choice","criteria":{"a":null,"b":"bee"}},
			"l":{"type":"labels","instructions":"Which hold?","criteria":{"p":null,"q":"cue"}}}}`)
	is.Equal(w.Body.String(), `{"model":"svc-snap-preview","answers":{"n":{"type":"noul","noul":0.5,"order_variation":0.5},`+
		`"c":{"type":"choice","choice":"a","probabilities":{"a":0.5,"b":0.5},"confidence":0.5,"order_variation":0.5},`+
		`"l":{"type":"labels","labels":["p","q"],"probabilities":{"p":0.5,"q":0.5},"order_variation":0.5}},"usage":{"input_tokens":180,"output_tokens":0}}`)
	is.Equal(w.Code, 200)
	calls := a.script.ScoreCalls()
	is.Equal(len(calls), 8)
	text := string(calls[0].Request.State[0].(model.Text))
	is.True(strings.HasPrefix(text, "An example:\n\"\"\"\ny\n\"\"\"\nIs it?\nRight: Yes\nRight: b: bee\n\n\"\"\"\nx"))
	asked := ""
	for _, call := range calls {
		asked += call.Request.Question
	}
	is.True(strings.Contains(asked, "Which hold?\nDoes this hold? q: cue\n"))

	for body, want := range map[string]string{
		`"debias":0`:   "debias: must be 1 to 255",
		`"debias":256`: "debias: must be 1 to 255",
		`"examples":[{"state":"y","answers":{"z":true}}]`: "examples/0/answers/z: is not a question of the request",
		`"examples":[{"state":"y","answers":{"q":"x"}}]`:  "examples/0/answers/q: must be true or false",
		`"examples":[{"state":1}]`:                        "examples/0/state: must be a string, an object or an array",
	} {
		// The contract of requests is broken on purpose.
		w := a.send("/v1/systemone", `{"model":"svc-snap-preview","state":"x","questions":`+oneQuestion+`,`+body+`}`)
		if w.Code != 422 || w.Body.String() != `{"detail":{"error_type":"validation_error","message":"`+want+`"}}` {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}

func TestRerank(t *testing.T) {
	is := is.New(t)
	a := newDecisionAPI(t, &modeltest.Script{Scores: func(_ context.Context, req *model.ScoreRequest) (*model.Scores, error) {
		yes := 0.1
		if strings.Contains(req.Question, "rain") {
			yes = 0.8
		}
		return &model.Scores{Probabilities: []float64{yes, 1 - yes}, StateTokens: 10, QuestionTokens: 5}, nil
	}})
	w := a.send("/v1/rerank", `{"model":"svc-snap-preview","query":"weather","documents":["sun",{"text":"rain","id":7},{"body":"rain"}],"top_n":2,"return_documents":true}`)
	is.Equal(w.Body.String(), `{"model":"svc-snap-preview","results":[{"index":1,"relevance_score":0.8,"document":{"text":"rain","id":7}},`+
		`{"index":2,"relevance_score":0.8,"document":{"body":"rain"}}],"usage":{"input_tokens":25,"output_tokens":0,"total_tokens":25}}`)
	is.Equal(w.Code, 200)
	for body, param := range map[string]string{
		`{"query":"x","documents":["y"]}`:                                      "model",
		`{"model":"svc-snap-preview","documents":["y"]}`:                       "query",
		`{"model":"svc-snap-preview","query":"x","documents":[]}`:              "documents",
		`{"model":"svc-snap-preview","query":"x","documents":[1]}`:             "documents[0]",
		`{"model":"svc-snap-preview","query":"x","documents":["y"],"top_n":0}`: "top_n",
	} {
		if w := a.send("/v1/rerank", body); w.Code != 400 || !strings.Contains(w.Body.String(), `"param":"`+param+`"`) {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}
