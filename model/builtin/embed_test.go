package builtin

import (
	"math"
	"testing"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

func TestEmbedPutsLikeTextsTogether(t *testing.T) {
	req := &model.EmbedRequest{Model: model.DefaultGenerator, Texts: []string{"Cats chase mice.", "A cat is chasing a mouse", "Interest rates rose", "the of and", "!"}}
	e, err := New().Embed(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	dot := func(a, b []float32) (sum float64) {
		for i := range a {
			sum += float64(a[i]) * float64(b[i])
		}
		return sum
	}
	for i, vector := range e.Vectors {
		if length := dot(vector, vector); len(vector) != 256 || math.Abs(length-1) > 1e-5 {
			t.Errorf("vector %d has %d numbers and the length %v", i, len(vector), length)
		}
	}
	near, far := dot(e.Vectors[0], e.Vectors[1]), dot(e.Vectors[0], e.Vectors[2])
	if near < 0.5 || far > 0.3 {
		t.Errorf("the like texts are %v near, the others %v", near, far)
	}
	req.Dimensions = 4097
	if _, err := New().Embed(t.Context(), req); fault.From(err).Kind != fault.Rejected {
		t.Errorf("got %v", err)
	}
}
