package vectorstores

import (
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/vectorstores/internal/index"
	"github.com/seed-506d8e5d/svc/vectorstores/internal/sets"
)

// trigrams is the double of an embedding model: it knows which groups of three letters
// the words of a text have, and how rare the words are, and nothing of their order.
func trigrams(rarity map[string]float64, text string) []float32 {
	const dimensions = 384
	v := make([]float32, dimensions)
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !(r >= 'a' && r <= 'z') }) {
		worth := float32(rarity[word])
		word = "^" + word + "$"
		for i := 0; i+3 <= len(word); i++ {
			h := fnv.New32a()
			h.Write([]byte(word[i : i+3]))
			sum := h.Sum32()
			v[sum%dimensions] += worth * (float32(sum>>31)*2 - 1)
		}
	}
	return v
}

// rarities returns how rare the words of a set are.
func rarities(s *sets.Set) map[string]float64 {
	rarity := map[string]float64{}
	for _, text := range append(slices.Clone(s.Passages), s.Questions...) {
		seen := map[string]bool{}
		for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !(r >= 'a' && r <= 'z') }) {
			if !seen[word] {
				seen[word] = true
				rarity[word]++
			}
		}
	}
	for word, n := range rarity {
		rarity[word] = math.Log(float64(2*len(s.Passages)) / n)
	}
	return rarity
}

// searches returns searches of a set by words, by vectors and by both.
func searches(t *testing.T, s *sets.Set) (words, vectors, fused func(question string) []int) {
	a, x, v := index.NewAnalyzer(), index.New(), &index.Vectors{}
	b := index.NewBuilder(a)
	var all [][]float32
	rarity := rarities(s)
	for _, text := range s.Passages {
		b.Add(index.English, text)
		all = append(all, trigrams(rarity, text))
	}
	check(t, x.Add(b.Bytes()))
	_, err := v.Add(index.EncodeVectors(all))
	check(t, err)
	c := &cache{index: x, vectors: v, entries: []entry{{entryRecord: entryRecord{Chunks: len(s.Passages)}}}}
	find := func(question string, q Query, embed bool) (found []int) {
		q.Texts, q.Limit = []string{question}, 10
		check(t, q.check())
		service := &Service{searches: make(chan struct{}, 1)}
		var asked [][]float32
		if embed {
			asked = [][]float32{trigrams(rarity, question)}
		}
		places, err := service.find(t.Context(), c, &q, asked)
		check(t, err)
		for _, p := range places[:min(10, len(places))] {
			found = append(found, p.chunk)
		}
		return found
	}
	return func(q string) []int { return find(q, Query{}, false) },
		func(q string) []int { return find(q, Query{EmbeddingWeight: 1}, true) },
		func(q string) []int { return find(q, Query{}, true) }
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestQuality holds searches by words to a plain BM25, and those by words and vectors to
// those by words, over two sets. It prints what all reach with -v.
func TestQuality(t *testing.T) {
	godoc, err := sets.Godoc()
	check(t, err)
	for _, s := range []sets.Set{godoc, sets.Catalogue()} {
		words, vectors, fused := searches(t, &s)
		least, w, v, f := s.Measure(s.Simple()), s.Measure(words), s.Measure(vectors), s.Measure(fused)
		t.Logf("%s: %d passages, %d questions\nplain   %v\nwords   %v\nvectors %v\nfused   %v", s.Name, len(s.Passages), len(s.Questions), least, w, v, f)
		if under(w, least) {
			t.Errorf("%s: words reach less than a plain BM25", s.Name)
		}
		if under(f, w) {
			t.Errorf("%s: words and vectors reach less than words", s.Name)
		}
	}
}

func under(m, least sets.Measured) bool {
	return m.Recall1 < least.Recall1 || m.Recall5 < least.Recall5 || m.NDCG10 < least.NDCG10
}
