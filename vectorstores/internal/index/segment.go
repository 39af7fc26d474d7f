package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// A segment is the words of some chunks as bytes, as they are stored:
//
//	version, languages       a byte each
//	chunks                   uvarint
//	length of each chunk     uvarint, in words
//	terms                    uvarint
//	each term, in order      bytes it shares with the one before, further bytes: uvarints; those bytes
//	its chunks               count, length in bytes: uvarints; postings
//
// A posting is the distance to the chunk before (for the first: its number), times two,
// plus one if the term is there once; otherwise a second uvarint says how often.
const version = 1

// maxTerms and maxChunks bound what a segment may say that it has.
const (
	maxTerms  = 1 << 26
	maxChunks = 1 << 24
)

// errDamaged says that bytes are not a segment.
var errDamaged = errors.New("index: not a segment")

// Builder makes a segment. The chunks are added in order.
type Builder struct {
	analyzer  *Analyzer
	languages uint8 // bits
	ids       map[string]int
	terms     []builderTerm
	touched   []int // terms of the chunk
	lengths   []int
	length    int // of the chunk so far
	size      int // bytes of terms and postings so far
}

type builderTerm struct {
	text     string
	last     int // chunk of the last posting
	times    int // in the chunk
	count    int
	postings []byte
}

// NewBuilder returns a Builder that takes its words from a.
func NewBuilder(a *Analyzer) *Builder { return &Builder{analyzer: a, ids: map[string]int{}} }

// Add adds a chunk of texts: its headings and itself.
func (b *Builder) Add(l Language, texts ...string) {
	b.languages |= 1 << l
	for _, text := range texts {
		b.analyzer.tokens(text, l, b.token)
	}
	chunk := len(b.lengths)
	for _, id := range b.touched {
		t := &b.terms[id]
		before := len(t.postings)
		distance := uint64(chunk-t.last) << 1
		if t.times == 1 {
			t.postings = binary.AppendUvarint(t.postings, distance|1)
		} else {
			t.postings = binary.AppendUvarint(binary.AppendUvarint(t.postings, distance), uint64(t.times))
		}
		t.last, t.times = chunk, 0
		t.count++
		b.size += len(t.postings) - before
	}
	b.touched = b.touched[:0]
	b.lengths = append(b.lengths, b.length)
	b.length = 0
}

func (b *Builder) token(t token) {
	b.term(t.form)
	if t.stem != "" {
		b.term(t.stem)
	}
	if !t.extra {
		b.length++
	}
}

func (b *Builder) term(text string) {
	id, ok := b.ids[text]
	if !ok {
		id = len(b.terms)
		b.ids[text] = id
		b.terms = append(b.terms, builderTerm{text: text})
		b.size += len(text) + 4
	}
	t := &b.terms[id]
	if t.times++; t.times == 1 {
		b.touched = append(b.touched, id)
	}
}

// Len returns how many chunks have been added, Size about how long the segment is.
func (b *Builder) Len() int  { return len(b.lengths) }
func (b *Builder) Size() int { return b.size }

// Bytes returns the segment.
func (b *Builder) Bytes() []byte {
	out := []byte{version, b.languages}
	out = binary.AppendUvarint(out, uint64(len(b.lengths)))
	for _, n := range b.lengths {
		out = binary.AppendUvarint(out, uint64(n))
	}
	slices.SortFunc(b.terms, func(x, y builderTerm) int {
		if x.text < y.text {
			return -1
		}
		return 1
	})
	out = binary.AppendUvarint(out, uint64(len(b.terms)))
	last := ""
	for i := range b.terms {
		t := &b.terms[i]
		shared := 0
		for shared < len(last) && shared < len(t.text) && last[shared] == t.text[shared] {
			shared++
		}
		last = t.text
		out = binary.AppendUvarint(out, uint64(shared))
		out = binary.AppendUvarint(out, uint64(len(t.text)-shared))
		out = append(out, t.text[shared:]...)
		out = binary.AppendUvarint(out, uint64(t.count))
		out = binary.AppendUvarint(out, uint64(len(t.postings)))
		out = append(out, t.postings...)
	}
	return out
}

// decoder reads a segment.
type decoder struct {
	data []byte
	err  error
}

func (d *decoder) number(most int) int {
	n, size := binary.Uvarint(d.data)
	if size <= 0 || n > uint64(most) {
		d.fail()
		return 0
	}
	d.data = d.data[size:]
	return int(n)
}

func (d *decoder) bytes(n int) []byte {
	if n > len(d.data) {
		d.fail()
		return nil
	}
	b := d.data[:n]
	d.data = d.data[n:]
	return b
}

func (d *decoder) fail() {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %d bytes before its end", errDamaged, len(d.data))
	}
	d.data = nil
}

// head reads what stands before the terms.
func (d *decoder) head() (languages uint8, lengths []int) {
	if h := d.bytes(2); d.err == nil && h[0] != version {
		d.fail()
	} else if d.err == nil {
		languages = h[1]
	}
	chunks := d.number(min(maxChunks, len(d.data)))
	lengths = make([]int, chunks)
	for i := range lengths {
		lengths[i] = d.number(1 << 31)
	}
	return languages, lengths
}

// eachTerm calls fn for the terms and their postings, which are checked. The name is
// valid until fn returns.
func (d *decoder) eachTerm(chunks int, fn func(term, postings []byte, count, last int)) {
	var term []byte
	for n := d.number(maxTerms); n > 0 && d.err == nil; n-- {
		shared := d.number(len(term))
		term = append(term[:shared], d.bytes(d.number(len(d.data)))...)
		count := d.number(chunks)
		postings := d.bytes(d.number(len(d.data)))
		last := checkPostings(postings, count, chunks)
		if last < 0 {
			d.fail()
		}
		if d.err == nil {
			fn(term, postings, count, last)
		}
	}
}

// checkPostings returns the chunk of the last posting, or -1 where the bytes are not
// postings of the chunks.
func checkPostings(data []byte, count, chunks int) int {
	chunk, seen := 0, 0
	for len(data) > 0 {
		n, size := binary.Uvarint(data)
		if size <= 0 || n>>1 > uint64(chunks) || seen > 0 && n>>1 == 0 {
			return -1
		}
		data = data[size:]
		chunk += int(n >> 1)
		if n&1 == 0 {
			times, size := binary.Uvarint(data)
			if size <= 0 || times > 1<<31 {
				return -1
			}
			data = data[size:]
		}
		seen++
	}
	if chunk >= chunks || seen != count || count == 0 {
		return -1
	}
	return chunk
}
