package openai

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/matryer/is"
	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// embedder returns a backend whose only server answers as it is told.
func embedder(t *testing.T, answer http.HandlerFunc) *Backend {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	b, err := New(Options{Models: []Model{{
		Info:    model.Info{ID: "e", Generates: true, Embeds: true},
		Targets: []Target{{Server: &Server{URL: s.URL + "/v1"}, Model: "nomic"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func TestEmbed(t *testing.T) {
	is := is.New(t)
	var asked []string
	b := embedder(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			return // it is probed
		}
		body := readAll(r)
		asked = append(asked, r.URL.Path+" "+body)
		if len(asked) == 1 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"data":[{"index":1,"embedding":[0.5,-1e-3]},{"index":0,"embedding":[1,2]}],"usage":{"prompt_tokens":9}}`)
	})
	got, err := b.Embed(t.Context(), &model.EmbedRequest{Model: "e", Texts: []string{"a", "b"}, Dimensions: 2})
	is.NoErr(err)
	is.Equal(got, &model.Embeddings{Vectors: [][]float32{{1, 2}, {0.5, -1e-3}}, InputTokens: 9})
	is.Equal(asked[1], `/v1/embeddings {"model":"nomic","input":["a","b"],"encoding_format":"float","dimensions":2}`)
	is.Equal(len(asked), 2) // it was asked again
}

func readAll(r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

func TestEmbedTellsWhatTheServerSays(t *testing.T) {
	is := is.New(t)
	b := embedder(t, func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, 400, "This model has 768 dimensions.")
	})
	_, err := b.Embed(t.Context(), &model.EmbedRequest{Model: "e", Texts: []string{"a"}, Dimensions: 9})
	e := fault.From(err)
	is.Equal(e.Kind, fault.Rejected)
	is.Equal(e.Message, "The model does not take this request: This model has 768 dimensions.")
}

func TestVectors(t *testing.T) {
	for text, want := range map[string][][]float32{
		`[{"embedding":[1]},{"embedding":[2]}]`:                          {{1}, {2}},
		`[{"index":1,"embedding":[1]},{"index":0,"embedding":[2]}]`:      {{2}, {1}},
		`[{"embedding":[1]}]`:                                            nil,
		`[{"embedding":[1]},{"embedding":[2]},{"embedding":[3]}]`:        nil,
		`[{"embedding":[1]},{"embedding":[2,3]}]`:                        nil,
		`[{"index":0,"embedding":[1]},{"index":0,"embedding":[2]}]`:      nil,
		`[{"index":-1,"embedding":[1]},{"index":0,"embedding":[2]}]`:     nil,
		`[{"embedding":[]},{"embedding":[]}]`:                            nil,
		`[{"embedding":[1]},{"embedding":["x"]}]`:                        nil,
		`[{"embedding":[1]},{"embedding":[1e99]}]`:                       nil,
		`[{"embedding":[1]},{"embedding":null}]`:                         nil,
		`[{"index":5,"embedding":[1]},{"index":4000000,"embedding":[]}]`: nil,
		`null`: nil,
	} {
		got, err := vectors(gjson.Parse(text), 2)
		if !reflect.DeepEqual(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
}
