package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"
	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// countsFresh answers like a server that counts the tokens of a prompt that are not in
// its cache: what its prompt before did not begin with.
func countsFresh() func(http.ResponseWriter, *doubleRequest) bool {
	before := ""
	return func(w http.ResponseWriter, r *doubleRequest) bool {
		prompt := promptOf(r.body)
		same := 0
		for same < min(len(prompt), len(before)) && prompt[same] == before[same] {
			same++
		}
		before = prompt
		count := max(300, (len(prompt)-same)/5)
		return events(delta(`{"content":"B"}`), finish("stop"), fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`, count), "[DONE]")(w, r)
	}
}

// TestAPromptThatWasNotCut has a server count what was not in its cache: the turns of
// a conversation, a prompt that is sent again, and another question about a document.
func TestAPromptThatWasNotCut(t *testing.T) {
	document := strings.Repeat("It rains in the city today. ", 2000)
	turn := func(texts ...string) *model.Request {
		req := ask("")
		req.Messages = nil
		for i, text := range texts {
			req.Messages = append(req.Messages, model.TextMessage([]model.Role{model.User, model.Assistant}[i%2], text))
		}
		return req
	}
	for rule, requests := range map[string][]*model.Request{
		"a conversation":       {turn(document), turn(document, "B", "And tomorrow?"), turn(document, "B", "And tomorrow?", "B", "And then?")},
		"the same again":       {turn(document), turn(document)},
		"another question":     {turn(document + "Where?"), turn(document + "When does it rain, and for how long?")},
		"a document and twice": {turn(document), turn(document + document)},
	} {
		t.Run(rule, func(t *testing.T) {
			is := is.New(t)
			b := (&double{intercept: countsFresh()}).serve(t).backend(t)
			for _, req := range requests {
				is.NoErr(fold(t.Context(), b, req).err)
			}
			info, _ := b.Model(model.DefaultGenerator)
			is.Equal(info.ContextWindow, 0)
		})
	}
	// What is new in the second prompt has far more tokens than were counted.
	is := is.New(t)
	cuts := (&double{intercept: func(w http.ResponseWriter, r *doubleRequest) bool {
		return events(delta(`{"content":"B"}`), finish("stop"), fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`, 100+9000/r.number), "[DONE]")(w, r)
	}}).serve(t).backend(t)
	is.NoErr(fold(t.Context(), cuts, turn(document)).err)
	longer := fold(t.Context(), cuts, turn(document, "B", strings.Repeat("The sun shines on the hills. ", 9000)))
	checkFault(t, longer.err, fault.Rejected, fault.CodeContextLength)
}

// TestAServerThatCutsCountsAll has an Ollama cut a prompt whose beginning it knows.
func TestAServerThatCutsCountsAll(t *testing.T) {
	is := is.New(t)
	b := (&double{intercept: func(w http.ResponseWriter, r *doubleRequest) bool {
		return events(delta(`{"content":"B"}`), finish("stop"), `{"choices":[],"usage":{"prompt_tokens":4000,"completion_tokens":1}}`, "[DONE]")(w, r)
	}}).serve(t).backend(t)
	b.servers[0].known.Store(&about{kind: ollama, until: time.Now().Add(time.Hour)})
	text := strings.Repeat("It rains in the city today. ", 600)
	is.NoErr(fold(t.Context(), b, ask(text)).err)
	checkFault(t, fold(t.Context(), b, ask(text+strings.Repeat("The sun shines on the hills. ", 4000))).err, fault.Rejected, fault.CodeContextLength)
}

// TestWholeAnswersAreAskedForWhereTheServerStops has servers of each kind.
func TestWholeAnswersAreAskedForWhereTheServerStops(t *testing.T) {
	is := is.New(t)
	for kind, whole := range map[kind]bool{unknown: false, other: false, llamaCPP: false, ollama: false, vLLM: true, sgLang: true} {
		d := (&double{}).serve(t)
		b := d.backend(t)
		if kind != unknown {
			b.servers[0].known.Store(&about{kind: kind, until: time.Now().Add(time.Hour)})
		}
		req := ask("Hello")
		req.Whole = true
		is.NoErr(fold(t.Context(), b, req).err)
		is.Equal(d.seen()[0].Get("stream").Bool(), !whole)
	}
}

// forced is a request that has to call the tool f.
func forced(most int) *model.Request {
	req := ask("Hi")
	req.Tools = []model.Tool{{Name: "f", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`)}}
	req.ToolChoice, req.MaxTokens = model.ToolChoice{Mode: model.ToolRequired}, most
	return req
}

// TestForcedCallsAreNoProse has servers that answer with more prose than the limit
// allows, or than anybody wants.
func TestForcedCallsAreNoProse(t *testing.T) {
	prose := func(req gjson.Result) string {
		if req.Get("response_format").Exists() {
			return `{"a":"b"}`
		}
		return strings.Repeat("I would rather talk about it. ", 200)
	}
	for _, c := range []struct {
		rule  string
		kind  kind
		most  int
		calls int // of the server, for the first answer
	}{
		{"the limit cuts the prose", other, 20, 1},
		{"the prose has no end", other, 0, 2},
		{"the prose is cut before the limit", other, 2000, 2},
		{"a kind that does not force", llamaCPP, 60, 1},
		{"another kind that does not force", ollama, 0, 1},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			d := (&double{say: prose}).serve(t)
			b := d.backend(t)
			b.servers[0].known.Store(&about{kind: c.kind, until: time.Now().Add(time.Hour)})
			got := fold(t.Context(), b, forced(c.most))
			is.NoErr(got.err)
			is.Equal(got.text, "")
			is.Equal(len(d.seen()), c.calls)
			if c.rule == "the limit cuts the prose" { // nothing is left for the arguments
				is.Equal(got.reason, model.Length)
				is.Equal(len(got.calls), 0)
			} else {
				is.Equal(got.calls, []string{`f{"a":"b"}`})
			}
			again := fold(t.Context(), b, forced(100)) // it has been learned
			is.NoErr(again.err)
			is.Equal(again.calls, []string{`f{"a":"b"}`})
			is.Equal(len(d.seen()), c.calls+1)
		})
	}
}

// TestServersAreProbedEveryHour counts.
func TestServersAreProbedEveryHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth("server", slog.New(slog.DiscardHandler), nil)
		probes := 0
		h.every(knownFor, func(context.Context) { probes++ })
		time.Sleep(3*knownFor + time.Second) // of the bubble's clock
		synctest.Wait()
		h.close()
		if probes != 3 {
			t.Errorf("%d probes", probes)
		}
	})
}

// TestTheStartSaysWhatIsWrong looks at the lines of Probe.
func TestTheStartSaysWhatIsWrong(t *testing.T) {
	is := is.New(t)
	d := (&double{}).serve(t)
	for url, want := range map[string]string{
		strings.TrimSuffix(d.url, "/v1"): "the URL lacks the version of the protocol; write " + d.url,
		d.url:                            "tokenizer=false",
	} {
		var lines bytes.Buffer
		b := d.backend(t, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&lines, nil)) }, withServer(func(s *Server) { s.URL = url }))
		b.Probe(t.Context())
		b.servers[0].health.close()
		is.True(strings.Contains(lines.String(), want))
	}
}

// TestARefusalIsRemembered has a model that does not answer with labels.
func TestARefusalIsRemembered(t *testing.T) {
	is := is.New(t)
	d := (&double{dist: func(string, int) []token { return []token{{"Well", 0.9}, {"B", 0.05}, {"C", 0.05}} }}).serve(t)
	b := d.backend(t)
	_, first := b.Score(t.Context(), question("B", "C"))
	_, ok := errors.AsType[*model.Cut](first)
	is.True(ok) // the model has worked on it
	calls := len(d.seen())
	_, again := b.Score(t.Context(), question("B", "C"))
	is.Equal(len(d.seen()), calls)
	_, ok = errors.AsType[*model.Cut](again)
	is.True(!ok)
	is.Equal(fault.From(again).Kind, fault.From(first).Kind)
	other := question("B", "C")
	other.Tenant = "another"
	b.Score(t.Context(), other)
	is.True(len(d.seen()) > calls)
}

// TestEmbeddingsHaveTheLengthThatIsAskedFor has a server that does not know dimensions.
func TestEmbeddingsHaveTheLengthThatIsAskedFor(t *testing.T) {
	is := is.New(t)
	b := embedder(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"data":[{"embedding":[3,4,12]}]}`)
	})
	for dimensions, want := range map[int][]float32{0: {3, 4, 12}, 3: {3, 4, 12}, 2: {0.6, 0.8}, 4: nil} {
		e, err := b.Embed(t.Context(), &model.EmbedRequest{Model: "e", Texts: []string{"a"}, Dimensions: dimensions})
		if want == nil {
			checkFault(t, err, fault.Rejected, "request_rejected")
			is.Equal(fault.From(err).Param, "dimensions")
			continue
		}
		is.NoErr(err)
		is.True(slices.EqualFunc(e.Vectors[0], want, func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-6 }))
	}
}

// TestAServerWithoutEmbeddingsSaysSo has servers refuse them in their words.
func TestAServerWithoutEmbeddingsSaysSo(t *testing.T) {
	is := is.New(t)
	const none, route, missing = "The model makes no embeddings.", "The model server has no route for embeddings (/v1/embeddings).", `The model server has no model "nomic".`
	for body, c := range map[string]struct {
		status int
		want   string
	}{
		`{"error":{"code":501,"message":"This server does not support embeddings. Start it with --embeddings","type":"not_supported_error"}}`: {501, none},
		`{"object":"error","message":"The model does not support Embeddings API","type":"BadRequestError","code":400}`:                        {400, none},
		`{"error":{"message":"this model does not support embeddings"}}`:                                                                      {500, none},
		"404 page not found": {404, route},
		`{"error":{"message":"model \"e\" not found, try pulling it first"}}`:                               {404, missing},
		`{"error":{"message":"The model ` + "`e`" + ` does not exist.","type":"NotFoundError","code":404}}`: {404, missing},
	} {
		status := c.status
		b := embedder(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		})
		_, err := b.Embed(t.Context(), &model.EmbedRequest{Model: "e", Texts: []string{"a"}})
		if kind := fault.From(err).Kind; kind != fault.Rejected && (c.want != missing || kind != fault.Upstream) {
			t.Errorf("%s: %v", body, err)
		}
		is.Equal(fault.From(err).Message, c.want)
		is.True(b.Health()[b.servers[0].URL])
	}
}

// TestJSONThatIsWhiteSpaceEnds has a model that writes nothing else.
func TestJSONThatIsWhiteSpaceEnds(t *testing.T) {
	is := is.New(t)
	for _, begin := range []string{"", `{"a":`} {
		b := (&double{intercept: func(w http.ResponseWriter, r *doubleRequest) bool {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: "+delta(`{"content":`+strconv.Quote(begin)+`}`)+"\n\n")
			for r.Context().Err() == nil { // until the connection is closed
				if _, err := io.WriteString(w, "data: "+delta(`{"content":" \n \n \n"}`)+"\n\n"); err != nil {
					break
				}
			}
			return true
		}}).serve(t).backend(t)
		req := ask("x")
		req.Format.Type = model.FormatObject
		is.True(fold(t.Context(), b, req).err != nil)
	}
}
