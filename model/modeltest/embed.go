package modeltest

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/seed-506d8e5d/svc/model"
)

// embedRules hold for an Embedder.
var embedRules = []rule{
	{name: "each text has a vector of the same length", check: func(t *testing.T, s subject) {
		e, err := s.Embed(t.Context(), s.embedRequest("one", "two words", "Ünïcode 東京"))
		checkVectors(t, e, err, 3)
	}},
	{name: "the same text has the same vector", reads: true, check: func(t *testing.T, s subject) {
		e, err := s.Embed(t.Context(), s.embedRequest("a cat", "a ship", "a cat"))
		checkVectors(t, e, err, 3)
		if !reflect.DeepEqual(e.Vectors[0], e.Vectors[2]) || reflect.DeepEqual(e.Vectors[0], e.Vectors[1]) {
			t.Errorf("got %v", e.Vectors)
		}
	}},
	{name: "the embedding request is not changed", check: func(t *testing.T, s subject) {
		req := s.embedRequest("b", "a")
		e, err := s.Embed(t.Context(), req)
		checkVectors(t, e, err, 2)
		if want := s.embedRequest("b", "a"); !reflect.DeepEqual(req, want) {
			t.Errorf("got %+v, want %+v", req, want)
		}
	}},
	{name: "embedding ends with its context", check: func(t *testing.T, s subject) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if e, err := s.Embed(ctx, s.embedRequest("a")); e != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("got %+v, %v", e, err)
		}
	}},
}

func (s subject) embedRequest(texts ...string) *model.EmbedRequest {
	return &model.EmbedRequest{Model: s.embedder, Texts: texts}
}

func checkVectors(t *testing.T, e *model.Embeddings, err error, texts int) {
	t.Helper()
	if err != nil {
		t.Fatalf("Embed: %v", err)
	}
	if len(e.Vectors) != texts || e.InputTokens < 1 {
		t.Fatalf("%d texts have %d vectors and %d tokens", texts, len(e.Vectors), e.InputTokens)
	}
	for i, vector := range e.Vectors {
		if len(vector) == 0 || len(vector) != len(e.Vectors[0]) {
			t.Errorf("vector %d has %d numbers, the first %d", i, len(vector), len(e.Vectors[0]))
		}
		for _, x := range vector {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				t.Errorf("vector %d has the number %v", i, x)
			}
		}
	}
}
