// Package index finds chunks of text by their words. An [Analyzer] turns texts into
// terms (analyze.go); a [Builder] writes the terms of some chunks as a segment, which
// is stored (segment.go); an [Index] is made of segments and searched (search.go).
package index

import (
	"encoding/binary"
	"math"
)

// The parameters of BM25, as they are usual.
const (
	k1 = 1.2
	b  = 0.75
)

// Index holds the words of chunks, which are numbered in the order in which they were
// added. It is not safe for concurrent use, but for several searches at once.
type Index struct {
	terms     map[string]*postings
	lengths   []uint32 // of the chunks, in words
	dead      []bool   // chunks that were removed
	deadCount int
	total     int   // words of all chunks
	languages uint8 // bits
	size      int   // bytes of terms and postings
}

// postings are the chunks that have a term.
type postings struct {
	count int
	last  int
	data  []byte
}

// New returns an empty Index.
func New() *Index { return &Index{terms: map[string]*postings{}} }

// Len returns how many chunks have been added, with those that were removed, and Dead
// how many were.
func (x *Index) Len() int  { return len(x.lengths) }
func (x *Index) Dead() int { return x.deadCount }

// Size returns about how many bytes of memory the index takes.
func (x *Index) Size() int { return x.size + 5*len(x.lengths) + 120*len(x.terms) }

// Add adds the chunks of a segment. The error says that the bytes are none; nothing is
// added then.
func (x *Index) Add(segment []byte) error {
	if err := check(segment); err != nil {
		return err
	}
	d := decoder{data: segment}
	languages, lengths := d.head()
	base := len(x.lengths)
	x.languages |= languages
	for _, n := range lengths {
		x.lengths = append(x.lengths, uint32(n))
		x.total += n
	}
	x.dead = append(x.dead, make([]bool, len(lengths))...)
	d.eachTerm(len(lengths), func(term, data []byte, count, last int) {
		p := x.terms[string(term)]
		if p == nil {
			p = &postings{}
			x.terms[string(term)] = p
			x.size += len(term)
		}
		first, n := binary.Uvarint(data)
		distance := base + int(first>>1) - p.last
		before := len(p.data)
		p.data = binary.AppendUvarint(p.data, uint64(distance)<<1|first&1)
		p.data = append(p.data, data[n:]...)
		p.count += count
		p.last = base + last
		x.size += len(p.data) - before
	})
	return nil
}

// check returns what is wrong with a segment.
func check(segment []byte) error {
	d := decoder{data: segment}
	_, lengths := d.head()
	d.eachTerm(len(lengths), func(_, _ []byte, _, _ int) {})
	if d.err == nil && len(d.data) > 0 {
		d.fail()
	}
	return d.err
}

// Chunks returns how many chunks a segment has.
func Chunks(segment []byte) (int, error) {
	d := decoder{data: segment}
	_, lengths := d.head()
	return len(lengths), d.err
}

// Remove has n chunks from first on found no more.
func (x *Index) Remove(first, n int) {
	for i := first; i < first+n; i++ {
		if !x.dead[i] {
			x.dead[i] = true
			x.deadCount++
			x.total -= int(x.lengths[i])
		}
	}
}

// idf is what a term is worth that count of the chunks have.
func (x *Index) idf(count int) float32 {
	n := float64(len(x.lengths))
	return float32(math.Log(1 + (n-float64(count)+0.5)/(float64(count)+0.5)))
}

// averageLength is that of the chunks that are left, at least 1.
func (x *Index) averageLength() float32 {
	return max(1, float32(x.total)/float32(max(1, len(x.lengths)-x.deadCount)))
}
