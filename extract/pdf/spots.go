package pdf

import (
	"hash/maphash"
	"math"
	"math/bits"
	"unicode/utf8"
)

// Bold letters and shadows: some producers draw a glyph twice, a little apart.

// doubleShift is how far apart, in ems, two drawings of one glyph may be.
const doubleShift = 0.1

// maxSpots bounds the glyphs remembered of one page.
const maxSpots = 200_000

// spot is a glyph in a cell of the page. Its numbers are bits, which are quicker to
// compare.
type spot struct {
	text       uint64 // the character, or a hash of several
	size, x, y uint32
}

func spotOf(text string, size, x, y float64) spot {
	s := spot{0, math.Float32bits(float32(size)), cellBits(x), cellBits(y)}
	r, n := utf8.DecodeRuneInString(text)
	if s.text = uint64(r); n < len(text) {
		s.text = maphash.String(spotSeed, text)
	}
	return s
}

// cellBits is the same for both zeros.
func cellBits(v float64) uint32 { return math.Float32bits(float32(v) + 0) }

var spotSeed = maphash.MakeSeed()

// spots are the glyphs of a page with the places where they were last drawn in their
// cells: a hash table with open addressing, which every glyph is looked up in four
// times. A Go map spends more on that than all else costs.
type spots struct {
	table []int32 // one more than the index of an entry, 0 for none; a power of two long
	all   []spotPlace
	seed  uint64 // nobody can write a file whose spots collide
}

type spotPlace struct {
	spot
	at vector
}

func newSpots() spots {
	return spots{table: make([]int32, 1024), seed: maphash.String(spotSeed, "cells")}
}

// clear forgets all spots. A large table is left to the collector: clearing it would
// cost every page that follows.
func (s *spots) clear() {
	if len(s.all) > 8192 {
		s.table, s.all = make([]int32, 1024), nil
	}
	clear(s.table)
	s.all = s.all[:0]
}

// find returns the place in the table of a spot or of where it would be.
func (s *spots) find(k spot) int {
	high, low := bits.Mul64(k.text^uint64(k.size)<<32^s.seed, 0x9e3779b97f4a7c15)
	h := high ^ low
	high, low = bits.Mul64(h^uint64(k.x)<<32^uint64(k.y), 0xd6e8feb86659fd93)
	mask := len(s.table) - 1
	i := int(high^low) & mask
	for s.table[i] != 0 && s.all[s.table[i]-1].spot != k {
		i = (i + 1) & mask
	}
	return i
}

// get returns where a glyph was drawn in a cell.
func (s *spots) get(k spot) (at vector, ok bool) {
	if i := s.table[s.find(k)]; i != 0 {
		return s.all[i-1].at, true
	}
	return vector{}, false
}

// set remembers where a glyph is drawn.
func (s *spots) set(k spot, at vector) {
	i := s.find(k)
	if s.table[i] != 0 {
		s.all[s.table[i]-1].at = at
		return
	}
	s.all = append(s.all, spotPlace{k, at})
	s.table[i] = int32(len(s.all))
	if 2*len(s.all) > len(s.table) {
		s.grow()
	}
}

func (s *spots) grow() {
	s.table = make([]int32, 2*len(s.table))
	for i, p := range s.all {
		s.table[s.find(p.spot)] = int32(i + 1)
	}
}

// isDouble reports whether the same glyph was drawn at the same place before.
func (l *layout) isDouble(p *placed) bool {
	// Cells are twice as wide as the shift, so that four of them hold all
	// places close enough.
	shift := doubleShift * p.size
	cell := func(v float64) float64 { return math.Floor(v / (2 * shift)) }
	own := spotOf(p.text, p.size, cell(p.start.x), cell(p.start.y))
	near := own
	ys := [...]uint32{cellBits(cell(p.start.y - shift)), cellBits(cell(p.start.y + shift))}
	for _, dx := range [...]float64{-shift, shift} {
		near.x = cellBits(cell(p.start.x + dx))
		for _, y := range ys {
			near.y = y
			if at, ok := l.spots.get(near); ok && at.minus(p.start).length() <= shift {
				return true
			}
		}
	}
	if len(l.spots.all) < maxSpots {
		l.spots.set(own, p.start)
	}
	return false
}
