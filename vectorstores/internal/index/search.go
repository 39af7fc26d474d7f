package index

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync"
)

// stemWeight is the share of a word's weight that its stem has, where the stem is
// another term than the word's form.
const stemWeight = 0.5

// maxQueryTerms bounds the terms of a query. Those that most chunks have are left out.
const maxQueryTerms = 64

// Hit is a chunk that was found.
type Hit struct {
	Chunk int
	Score float32 // from 0 to 1: the share that the chunk has of what the words of the query are worth
}

// Query is words to search for.
type Query struct {
	terms []queryTerm
}

type queryTerm struct {
	*postings
	weight float32
}

// Query returns what a text asks for, as words of the languages of the index.
func (x *Index) Query(a *Analyzer, text string) Query {
	weights := map[string]float32{}
	var order []string
	add := func(term string, weight float32) {
		if _, ok := weights[term]; !ok {
			order = append(order, term)
		}
		weights[term] = max(weights[term], weight)
	}
	for l := None; l < languages; l++ {
		if x.languages&(1<<l) == 0 {
			continue
		}
		a.tokens(text, l, func(t token) {
			if t.stem == "" {
				add(t.form, 1)
				return
			}
			add(t.form, 1-stemWeight)
			add(t.stem, stemWeight)
		})
	}
	var q Query
	for _, term := range order {
		p := x.terms[term]
		if p == nil {
			p = &postings{}
		}
		q.terms = append(q.terms, queryTerm{p, weights[term] * x.idf(p.count)})
	}
	if len(q.terms) > maxQueryTerms {
		slices.SortStableFunc(q.terms, func(x, y queryTerm) int { return x.count - y.count })
		q.terms = q.terms[:maxQueryTerms]
	}
	return q
}

// scores are the scores of all chunks of an index.
var scores sync.Pool // of *[]float32

// Search returns the chunks with the highest scores, up to limit, the best first, of
// those that accept takes; nil takes all.
func (x *Index) Search(q Query, limit int, accept func(chunk int) bool) []Hit {
	n := len(x.lengths)
	buffer, _ := scores.Get().(*[]float32)
	if buffer == nil || cap(*buffer) < n {
		buffer = new(make([]float32, n+n/8))
	}
	defer scores.Put(buffer)
	score := (*buffer)[:n]
	clear(score)
	average := x.averageLength()
	var most float32
	for _, t := range q.terms {
		x.add(score, t, average)
		most += t.weight * (k1 + 1)
	}
	best := newTop(limit)
	for chunk, s := range score {
		if s > best.least && !x.dead[chunk] && (accept == nil || accept(chunk)) {
			best.offer(Hit{chunk, s})
		}
	}
	hits := best.sorted()
	for i := range hits {
		hits[i].Score = min(1, hits[i].Score/most)
	}
	return hits
}

// add adds what a term is worth to the scores of the chunks that have it.
func (x *Index) add(score []float32, t queryTerm, average float32) {
	const fixed = float32(k1 * (1 - b))
	perWord := float32(k1*b) / average
	top := t.weight * (k1 + 1)
	chunk := 0
	for data := t.data; len(data) > 0; {
		n, size := uint64(data[0]), 1
		if n >= 0x80 {
			n, size = binary.Uvarint(data)
		}
		data = data[size:]
		chunk += int(n >> 1)
		times := float32(1)
		if n&1 == 0 {
			n, size := uint64(data[0]), 1
			if n >= 0x80 {
				n, size = binary.Uvarint(data)
			}
			data = data[size:]
			times = float32(n)
		}
		score[chunk] += top * times / (times + fixed + perWord*float32(x.lengths[chunk]))
	}
}

// top keeps the best hits of those offered; of equals the first.
type top struct {
	limit int
	hits  []Hit   // a heap, the least first
	least float32 // below or at which nothing is taken
}

func newTop(limit int) *top { return &top{limit: limit, hits: make([]Hit, 0, min(limit, 1024))} }

func worse(x, y Hit) bool { return x.Score < y.Score || x.Score == y.Score && x.Chunk > y.Chunk }

func (t *top) offer(h Hit) {
	if t.limit == 0 {
		return
	}
	if len(t.hits) < t.limit {
		t.hits = append(t.hits, h)
		for i := len(t.hits) - 1; i > 0 && worse(t.hits[i], t.hits[(i-1)/2]); i = (i - 1) / 2 {
			t.hits[i], t.hits[(i-1)/2] = t.hits[(i-1)/2], t.hits[i]
		}
	} else if worse(t.hits[0], h) {
		t.hits[0] = h
		for i := 0; ; {
			child := 2*i + 1
			if child >= len(t.hits) {
				break
			}
			if child+1 < len(t.hits) && worse(t.hits[child+1], t.hits[child]) {
				child++
			}
			if !worse(t.hits[child], t.hits[i]) {
				break
			}
			t.hits[i], t.hits[child] = t.hits[child], t.hits[i]
			i = child
		}
	}
	if len(t.hits) == t.limit {
		t.least = t.hits[0].Score
	}
}

func (t *top) sorted() []Hit {
	slices.SortFunc(t.hits, func(x, y Hit) int {
		if worse(y, x) {
			return -1
		}
		return 1
	})
	return t.hits
}

// Phrases returns what stands between quotation marks in a query.
func Phrases(query string) []string {
	var found []string
	query = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`).Replace(query)
	parts := strings.Split(query, `"`)
	for i := 1; i+1 < len(parts); i += 2 {
		if p := Normalize(parts[i]); p != "" {
			found = append(found, p)
		}
	}
	return found
}

// Normalize returns a text as phrases are looked for in it: in lower case, with single
// spaces.
func Normalize(text string) string { return strings.Join(strings.Fields(strings.ToLower(text)), " ") }
