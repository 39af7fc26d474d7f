package vectorstores_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
)

// subjects embeds texts by what they are about: whales or engines.
func subjects(_ context.Context, _ accounts.Caller, _ string, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = []float32{0.01, 0.01, 0.1}
		for _, word := range []string{"whale", "ocean", "blubber"} {
			vectors[i][0] += float32(strings.Count(text, word))
		}
		for _, word := range []string{"engine", "motor", "piston"} {
			vectors[i][1] += float32(strings.Count(text, word))
		}
	}
	return vectors, nil
}

// TestSearchByVectors finds what no word of the query is in.
func TestSearchByVectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEmbeddingEnv(t, subjects)
		files := e.filled("A whale swims.", "An engine runs.", "A motor turns.", "Nothing of either.")
		if got := e.do(200, "POST", "/v1/vector_stores/vs_1/search", `{"query":"piston","max_num_results":2}`); !strings.Contains(got, `"ranker":"hybrid"`) {
			t.Errorf("got %s", got)
		}
		got := e.found("piston")
		slices.Sort(got[:2])
		if !slices.Equal(got[:2], []string{"2.md", "3.md"}) {
			t.Errorf("got %q", got)
		}
		if got := e.found("piston of a whale"); got[0] != "1.md" {
			t.Errorf("words and vectors: got %q", got)
		}
		if got := e.search(`{"query":"swims ocean motor engine","ranking_options":{"hybrid_search":{"embedding_weight":0,"text_weight":1}}}`); got[0] != "1.md" && got[0] != "2.md" && got[0] != "3.md" {
			t.Errorf("words alone: got %q", got)
		}
		e.do(400, "POST", "/v1/vector_stores/vs_1/search", `{"query":"a","ranking_options":{"hybrid_search":{"embedding_weight":-1,"text_weight":1}}}`)
		e.do(200, "DELETE", "/v1/files/"+files[1], "")
		if got := e.found("piston"); got[0] != "3.md" || slices.Contains(got, "2.md") {
			t.Errorf("after the deletion: got %q", got)
		}
		e.stop()
		e.start(&ids{made: map[string]int{"vsd": 10}})
		if got := e.found("piston"); got[0] != "3.md" {
			t.Errorf("after the start: got %q", got)
		}
	})
}

// TestEmbeddingsThatFail has an embedding server that gives what is of no use.
func TestEmbeddingsThatFail(t *testing.T) {
	good := func(n int) [][]float32 { return slices.Repeat([][]float32{{1, 2, 3}}, n) }
	for name, test := range map[string]struct {
		answer  func(call, texts int) ([][]float32, error)
		message string
	}{
		"NaN": {func(_, n int) ([][]float32, error) {
			return append(good(n-1), []float32{1, float32(math.NaN()), 3}), nil
		}, `The embedding model \"embedder\" gave a vector with what is no number.`},
		"other dimensions": {func(call, n int) ([][]float32, error) {
			if call > 1 {
				return slices.Repeat([][]float32{{1, 2}}, n), nil
			}
			return good(n), nil
		}, `The embedding model \"embedder\" gave a vector of 2 numbers; those of the vector store have 3.`},
		"too few": {func(_, n int) ([][]float32, error) { return good(n - 1), nil }, "The embedding model gave 63 vectors for 64 texts."},
		"dies": {func(call, n int) ([][]float32, error) {
			if call > 1 {
				return nil, fault.Upstreamf(errors.New("connection refused"), "The model server cannot be reached.")
			}
			return good(n), nil
		}, "The chunks could not be embedded. The model server cannot be reached."},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				e := newEmbeddingEnv(t, func(_ context.Context, _ accounts.Caller, _ string, texts []string) ([][]float32, error) {
					calls++
					return test.answer(calls, len(texts))
				})
				e.filled(strings.Repeat("A sentence of some words and a number of others. ", 6000))
				time.Sleep(time.Minute)
				synctest.Wait()
				want := `"status":"failed","last_error":{"code":"server_error","message":"` + test.message + `"}`
				if got := e.do(200, "GET", "/v1/vector_stores/vs_1/files", ""); !strings.Contains(got, want) {
					t.Errorf("got %s, want %s", got, want)
				}
				if got := e.found("sentence"); len(got) > 0 {
					t.Errorf("found %q", got)
				}
				for _, key := range e.keys() {
					if strings.HasPrefix(key, "s/c/") || strings.HasPrefix(key, "s/p/") || strings.HasPrefix(key, "s/u/") || strings.HasPrefix(key, "s/q/") {
						t.Errorf("left: %q", key)
					}
				}
			})
		})
	}
}
