package index

import (
	"flag"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var benchChunks = flag.Int("chunks", 20_000, "chunks of the index that is searched")

// texts makes texts of words that are as frequent as those of a language.
type textMaker struct {
	random *rand.Rand
	words  []string
	sums   []float64
}

func newTextMaker(vocabulary int) *textMaker {
	m := &textMaker{random: rand.New(rand.NewPCG(1, 2))}
	sum := 0.0
	for i := range vocabulary {
		sum += 1 / math.Pow(float64(i+2), 1.07)
		m.sums = append(m.sums, sum)
		word := ""
		for n := i*7919 + 13; n > 0; n /= 20 {
			word += string("bcdfghklmnprstvwaeio"[n%20]) + string("aeiou"[n%5])
		}
		m.words = append(m.words, word)
	}
	return m
}

func (m *textMaker) word() string {
	at, _ := slices.BinarySearch(m.sums, m.random.Float64()*m.sums[len(m.sums)-1])
	return m.words[min(at, len(m.words)-1)]
}

func (m *textMaker) text(words int) string {
	var b strings.Builder
	for i := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(m.word())
	}
	return b.String()
}

// BenchmarkBuild indexes pages of 500 words.
func BenchmarkBuild(b *testing.B) {
	m := newTextMaker(50_000)
	pages := make([]string, 500)
	for i := range pages {
		pages[i] = m.text(500)
	}
	a := NewAnalyzer()
	var builder *Builder
	size := 0
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		if i%500 == 0 {
			builder = NewBuilder(a)
		}
		builder.Add(English, pages[i%500])
		if i%500 == 499 {
			size = len(builder.Bytes())
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
	b.ReportMetric(float64(size)/500, "bytes/page")
}

// BenchmarkSearch searches an index of -chunks chunks of 120 words for questions of
// ten words, on one core.
func BenchmarkSearch(b *testing.B) {
	m := newTextMaker(200_000)
	a, x := NewAnalyzer(), New()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for done := 0; done < *benchChunks; done += 1000 {
		builder := NewBuilder(a)
		for range 1000 {
			builder.Add(English, m.text(120))
		}
		if err := x.Add(builder.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	var took []time.Duration
	for b.Loop() {
		question := m.text(10)
		begin := time.Now()
		x.Search(x.Query(a, question), 10, nil)
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(*benchChunks), "bytes/chunk")
}
