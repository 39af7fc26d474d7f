package pdf

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// CMaps (ISO 32000-2, 9.7.5 and 9.10.3): from the bytes of a string to character
// codes, and from codes to CIDs or to Unicode.

// maxMappings bounds the operands of one CMap.
const maxMappings = 1 << 20

// codeSpace is a range of codes of the same length in bytes.
type codeSpace struct {
	length    int
	low, high uint32
}

// holds reports whether each byte of the code lies in the range of its place.
func (s codeSpace) holds(code uint32, length int) bool {
	if s.length != length {
		return false
	}
	for shift := 0; shift < length*8; shift += 8 {
		if b := byte(code >> shift); b < byte(s.low>>shift) || b > byte(s.high>>shift) {
			return false
		}
	}
	return true
}

// cidRange maps consecutive codes to consecutive CIDs.
type cidRange struct{ low, high, cid uint32 }

// textRange maps consecutive codes to strings whose last characters are
// consecutive.
type textRange struct {
	low, high uint32
	first     []rune
}

type cmap struct {
	spaces   []codeSpace
	cids     []cidRange
	single   map[uint32]string
	ranges   []textRange // sorted by low once parsed
	identity bool        // codes are CIDs
	vertical bool
	base     string // the CMap named by usecmap
}

// codeOf reads at most four bytes as a big-endian number.
func codeOf(s string) (v uint32) {
	for i := range min(len(s), 4) {
		v = v<<8 | uint32(s[i])
	}
	return v
}

// parseCMap reads a CMap file. What makes no sense is left out.
func parseCMap(data []byte) *cmap {
	m := &cmap{single: map[uint32]string{}}
	l := streamLexer(data)
	var operands []object
	for total := 0; total < maxMappings; {
		o := l.next()
		switch o.kind {
		case end:
			m.finish()
			return m
		case stray:
		case keyword:
			m.operator(o.str, operands)
			total += len(operands)
			operands = operands[:0]
			l.reset()
		default:
			if len(operands) < 4096 {
				operands = append(operands, o)
			}
		}
	}
	m.finish()
	return m
}

// finish prepares for lookups by binary search.
func (m *cmap) finish() {
	slices.SortStableFunc(m.ranges, func(a, b textRange) int { return cmp.Compare(a.low, b.low) })
	slices.SortStableFunc(m.cids, func(a, b cidRange) int { return cmp.Compare(a.low, b.low) })
}

func (m *cmap) operator(op string, operands []object) {
	switch op {
	case "endcodespacerange":
		m.addSpaces(textsOf(operands))
	case "endbfchar":
		m.addChars(operands)
	case "endbfrange":
		m.addRanges(operands)
	case "endcidrange":
		for bounds, cid := range triples(operands) {
			if cid.kind == number {
				m.cids = append(m.cids, cidRange{bounds[0], bounds[1], uint32(cid.int())})
			}
		}
	case "endcidchar":
		for code, cid := range pairs(operands) {
			if cid.kind == number {
				m.cids = append(m.cids, cidRange{codeOf(code.str), codeOf(code.str), uint32(cid.int())})
			}
		}
	case "usecmap":
		if n := len(operands); n > 0 {
			m.base = strings.Clone(operands[n-1].str)
		}
	case "def":
		if n := len(operands); n >= 2 && operands[n-2].isName("WMode") {
			m.vertical = operands[n-1].int() == 1
		}
	}
}

// pairs yields string keys with their values, resynchronizing on the keys.
func pairs(operands []object) func(yield func(key, value object) bool) {
	return func(yield func(key, value object) bool) {
		for i := 0; i+1 < len(operands); i++ {
			if operands[i].kind != text {
				continue
			}
			if !yield(operands[i], operands[i+1]) {
				return
			}
			i++
		}
	}
}

// triples yields the bounds of code ranges with their values.
func triples(operands []object) func(yield func(bounds [2]uint32, value object) bool) {
	return func(yield func(bounds [2]uint32, value object) bool) {
		for i := 0; i+2 < len(operands); i++ {
			if operands[i].kind != text || operands[i+1].kind != text {
				continue
			}
			if !yield([2]uint32{codeOf(operands[i].str), codeOf(operands[i+1].str)}, operands[i+2]) {
				return
			}
			i += 2
		}
	}
}

// textsOf keeps the strings among operands.
func textsOf(operands []object) (out []string) {
	for _, o := range operands {
		if o.kind == text {
			out = append(out, o.str)
		}
	}
	return out
}

func (m *cmap) addSpaces(bounds []string) {
	for pair := range slices.Chunk(bounds, 2) {
		if len(pair) == 2 && len(pair[0]) > 0 && len(pair[0]) <= 4 && len(m.spaces) < 256 {
			m.spaces = append(m.spaces, codeSpace{len(pair[0]), codeOf(pair[0]), codeOf(pair[1])})
		}
	}
}

func (m *cmap) addChars(operands []object) {
	for code, to := range pairs(operands) {
		switch to.kind {
		case text:
			m.single[codeOf(code.str)] = string(decodeUTF16(to.str))
		case name:
			if s := glyphText(to.str); s != "" {
				m.single[codeOf(code.str)] = s
			}
		}
	}
}

func (m *cmap) addRanges(operands []object) {
	for bounds, to := range triples(operands) {
		low, high := bounds[0], bounds[1]
		if high < low {
			continue
		}
		switch to.kind {
		case text:
			m.ranges = append(m.ranges, textRange{low, high, decodeUTF16(to.str)})
		case array:
			for i, x := range to.items[:min(len(to.items), int(high-low)+1)] {
				if x.kind == text {
					m.single[low+uint32(i)] = string(decodeUTF16(x.str))
				}
			}
		}
	}
}

// empty reports whether the CMap maps no code to Unicode.
func (m *cmap) empty() bool { return len(m.single) == 0 && len(m.ranges) == 0 }

// maxOverlap is how many ranges that begin before a code are tried for it.
const maxOverlap = 32

// covering returns the range that holds the code, nil if none does. Of ranges
// that overlap it is the one that begins last.
func covering[R any](ranges []R, code uint32, bounds func(R) (low, high uint32)) *R {
	after := sort.Search(len(ranges), func(i int) bool {
		low, _ := bounds(ranges[i])
		return low > code
	})
	for i := after - 1; i >= max(0, after-maxOverlap); i-- {
		if _, high := bounds(ranges[i]); high >= code {
			return &ranges[i]
		}
	}
	return nil
}

// cid returns the CID of a code.
func (m *cmap) cid(code uint32) (uint32, bool) {
	if m.identity {
		return code, true
	}
	r := covering(m.cids, code, func(r cidRange) (uint32, uint32) { return r.low, r.high })
	if r == nil {
		return 0, false
	}
	return r.cid + code - r.low, true
}

// text returns the characters of a code.
func (m *cmap) text(code uint32) (string, bool) {
	if s, ok := m.single[code]; ok {
		return s, true
	}
	r := covering(m.ranges, code, func(r textRange) (uint32, uint32) { return r.low, r.high })
	if r == nil {
		return "", false
	}
	if len(r.first) == 0 {
		return "", true
	}
	out := slices.Clone(r.first)
	last := &out[len(out)-1]
	*last += rune(code - r.low)
	return string(out), utf8.ValidRune(*last)
}

// next takes one character code off the front of s, which is not empty.
func (m *cmap) next(s string) (code uint32, length int) {
	if len(m.spaces) == 0 {
		length = min(2, len(s))
		return codeOf(s[:length]), length
	}
	for length = 1; length <= 4 && length <= len(s); length++ {
		code = codeOf(s[:length])
		for _, space := range m.spaces {
			if space.holds(code, length) {
				return code, length
			}
		}
	}
	length = len(s)
	for _, space := range m.spaces {
		length = min(length, space.length)
	}
	return codeOf(s[:length]), length
}
