package index

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// randomVectors returns vectors around some centers, as those of texts about some
// subjects are.
func randomVectors(random *rand.Rand, n, dimensions, centers int) [][]float32 {
	middle := make([][]float32, centers)
	for i := range middle {
		middle[i] = make([]float32, dimensions)
		for j := range middle[i] {
			middle[i][j] = float32(random.NormFloat64()) * 0.5
		}
	}
	all := make([][]float32, n)
	for i := range all {
		all[i] = make([]float32, dimensions)
		for j := range all[i] {
			all[i][j] = middle[i%centers][j] + float32(random.NormFloat64())
		}
	}
	return all
}

// nearest returns the vectors with the largest cosines.
func nearest(all [][]float32, query []float32, limit int) []int {
	best := newTop(limit)
	best.least = -2
	for i, v := range all {
		var product, length float64
		for j := range v {
			product += float64(v[j]) * float64(query[j])
			length += float64(v[j]) * float64(v[j])
		}
		if h := (Hit{i, float32(product / math.Sqrt(length))}); h.Score > best.least {
			best.offer(h)
		}
	}
	return chunks(best.sorted())
}

func vectorsOf(t testing.TB, all [][]float32) *Vectors {
	v := &Vectors{}
	for part := range slices.Chunk(all, 100) {
		if n, err := v.Add(EncodeVectors(part)); err != nil || n != len(part) {
			t.Fatal(n, err)
		}
	}
	return v
}

// TestNearest compares what is found with what exact numbers find.
func TestNearest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1000, 20_000} {
		all := randomVectors(random, n, 128, 20)
		v := vectorsOf(t, all)
		found, queries := 0, 20
		for range queries {
			query := randomVectors(random, 1, 128, 1)[0]
			want := nearest(all, query, 10)
			for _, h := range v.Search(query, 10, nil) {
				if slices.Contains(want, h.Chunk) {
					found++
				}
			}
		}
		if recall := float64(found) / float64(10*queries); recall < 0.96 {
			t.Errorf("%d vectors: recall@10 is %.3f", n, recall)
		}
	}
}

// TestVectors has chunks without vectors, filters, and what is not taken.
func TestVectors(t *testing.T) {
	v := &Vectors{}
	v.Skip(2)
	if hits := v.Search([]float32{1, 0, 0}, 5, nil); hits != nil {
		t.Errorf("without vectors: got %v", hits)
	}
	if _, err := v.Add(EncodeVectors([][]float32{{1, 0, 0}, {0, 0, 0}, {-1, 1, 0}})); err != nil {
		t.Fatal(err)
	}
	v.Skip(1)
	if _, err := v.Add(EncodeVectors([][]float32{{2, 2, 0}})); err != nil {
		t.Fatal(err)
	}
	if got := chunks(v.Search([]float32{1, 0.1, 0}, 5, nil)); !slices.Equal(got, []int{2, 6, 4}) {
		t.Errorf("got %v", got)
	}
	if got := chunks(v.Search([]float32{1, 0.1, 0}, 5, func(chunk int) bool { return chunk > 2 })); !slices.Equal(got, []int{6, 4}) {
		t.Errorf("with a filter: got %v", got)
	}
	for _, bad := range [][]byte{nil, {9}, {version}, {version, 0}, {version, 3, 1}, EncodeVectors([][]float32{{1, 2}})} {
		if _, err := v.Add(bad); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
	if got := v.Search([]float32{1, 0}, 5, nil); got != nil {
		t.Errorf("of another length: got %v", got)
	}
}

// BenchmarkNearest searches -chunks vectors of 768 numbers on one core, and reports how
// much of what exact numbers find is found.
func BenchmarkNearest(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	all := randomVectors(random, *benchChunks, 768, 1)
	v := vectorsOf(b, all)
	found, asked := 0, 0
	for range 20 {
		query := randomVectors(random, 1, 768, 1)[0]
		want := nearest(all, query, 10)
		for _, h := range v.Search(query, 10, nil) {
			if slices.Contains(want, h.Chunk) {
				found++
			}
		}
		asked += 10
	}
	var took []time.Duration
	for b.Loop() {
		query := randomVectors(random, 1, 768, 1)[0]
		begin := time.Now()
		v.Search(query, 100, nil)
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(found)/float64(asked), "recall@10")
	b.ReportMetric(float64(v.Size())/float64(*benchChunks), "bytes/chunk")
}
