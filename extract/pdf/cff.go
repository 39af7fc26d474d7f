package pdf

// CFF font programs (Adobe Technical Note 5176): charset and encoding, from
// glyphs to names and from codes to glyphs.

// cff is what a CFF font tells about its glyphs.
type cff struct {
	names    []string    // by glyph; empty in a CID-keyed font
	encoding map[int]int // glyphs by code; nil where it is a predefined encoding
}

// Operators of a Top DICT; those of two bytes have 12 in front.
const (
	cffCharset     = 15
	cffEncoding    = 16
	cffCharStrings = 17
	cffROS         = 12<<8 | 30
)

const maxGlyphs = 0xffff

// parseCFF reads the first font of a font set. What is damaged is left out.
func parseCFF(data []byte) cff {
	b := bigEndian(data)
	if len(b) < 4 || b[0] != 1 {
		return cff{}
	}
	_, rest := cffIndex(b.from(int(b[2])))
	dicts, rest := cffIndex(rest)
	strings, _ := cffIndex(rest)
	if len(dicts) == 0 {
		return cff{}
	}
	top := cffDict(dicts[0])
	if _, isCID := top[cffROS]; isCID {
		return cff{}
	}
	glyphs, _ := cffIndex(b.from(top[cffCharStrings]))
	count := min(len(glyphs), maxGlyphs)
	names := make([]string, count)
	standard := cffStrings()
	for g, sid := range cffCharsetSIDs(b, top[cffCharset], count) {
		switch {
		case sid < len(standard):
			names[g] = standard[sid]
		case sid-len(standard) < len(strings):
			names[g] = string(strings[sid-len(standard)])
		}
	}
	font := cff{names: names}
	if at := top[cffEncoding]; at > 1 {
		font.encoding = cffCodes(b.from(at))
	}
	return font
}

// cffIndex reads an INDEX: an array of byte strings.
func cffIndex(b bigEndian) (items []bigEndian, rest bigEndian) {
	count := b.u16(0)
	if count == 0 || len(b) < 3 {
		return nil, b.from(2)
	}
	size := int(b[2])
	offset := func(i int) int {
		v := 0
		for _, c := range b.from(3 + i*size)[:min(size, len(b.from(3+i*size)))] {
			v = v<<8 | int(c)
		}
		return v
	}
	if size < 1 || size > 4 || 3+(count+1)*size > len(b) {
		return nil, nil
	}
	data := b.from(3 + (count+1)*size - 1) // offsets count from 1
	for i := range count {
		first, last := offset(i), offset(i+1)
		if first < 1 || last < first || last > len(data) {
			return items, nil
		}
		items = append(items, data[first:last])
	}
	return items, data.from(offset(count))
}

// cffDict reads the first integer operand of each operator of a DICT.
func cffDict(b bigEndian) map[int]int {
	out := map[int]int{}
	var operands []int
	for len(b) > 0 {
		c := int(b[0])
		switch {
		case c <= 21:
			op, length := c, 1
			if c == 12 && len(b) > 1 {
				op, length = 12<<8|int(b[1]), 2
			}
			if _, twice := out[op]; !twice {
				out[op] = 0
				if len(operands) > 0 {
					out[op] = operands[0]
				}
			}
			operands = operands[:0]
			b = b[length:]
		default:
			var v int
			v, b = cffOperand(b)
			operands = append(operands, v)
		}
	}
	return out
}

// cffOperand reads one operand; reals count as 0.
func cffOperand(b bigEndian) (v int, rest bigEndian) {
	c := int(b[0])
	switch {
	case c == 28:
		return int(int16(b.u16(1))), b.from(min(3, len(b)))
	case c == 29:
		return int(int32(b.u32(1))), b.from(min(5, len(b)))
	case c == 30:
		for i := 1; i < len(b); i++ {
			if b[i]&0x0f == 0x0f {
				return 0, b[i+1:]
			}
		}
		return 0, nil
	case c >= 32 && c <= 246:
		return c - 139, b[1:]
	case c >= 247 && c <= 254:
		low := b.u16(0) & 0xff
		if c <= 250 {
			return (c-247)*256 + low + 108, b.from(min(2, len(b)))
		}
		return -(c-251)*256 - low - 108, b.from(min(2, len(b)))
	}
	return 0, b[1:]
}

// cffCharsetSIDs returns the string identifiers of the glyphs' names.
func cffCharsetSIDs(b bigEndian, at, count int) []int {
	sids := make([]int, 1, count+1) // .notdef
	if at <= 2 {                    // predefined; ISOAdobe, which the others are rarely used beside, is the identity
		for g := 1; g < count; g++ {
			sids = append(sids, g)
		}
		return sids[:min(count, len(sids))]
	}
	t := b.from(at)
	if len(t) == 0 {
		return nil
	}
	format := t[0]
	t = t[1:]
	for len(sids) < count && len(t) >= 2 {
		sid := t.u16(0)
		left, length := 0, 2
		switch {
		case format == 1 && len(t) > 2:
			left, length = int(t[2]), 3
		case format == 2:
			left, length = t.u16(2), 4
		}
		for i := 0; i <= left && len(sids) < count; i++ {
			sids = append(sids, sid+i)
		}
		t = t.from(min(length, len(t)))
	}
	return sids[:min(count, len(sids))]
}

// cffCodes reads an Encoding: the glyphs of the codes.
func cffCodes(t bigEndian) map[int]int {
	out := map[int]int{}
	if len(t) < 2 {
		return out
	}
	format, count := t[0]&0x7f, int(t[1])
	t = t[2:]
	switch format {
	case 0:
		for i, code := range t[:min(count, len(t))] {
			out[int(code)] = i + 1
		}
	case 1:
		g := 1
		for i := 0; i < count && 2*i+1 < len(t); i++ {
			for left := range int(t[2*i+1]) + 1 {
				out[int(t[2*i])+left] = g
				g++
			}
		}
	}
	return out
}

// builtinEncoding gives the characters of the codes, nil where the font uses a
// predefined encoding.
func (f cff) builtinEncoding() map[int]string {
	out := map[int]string{}
	for code, g := range f.encoding {
		if g < len(f.names) && code < 256 {
			if s := glyphText(f.names[g]); s != "" {
				out[code] = s
			}
		}
	}
	return out
}

// glyphTexts gives the characters of the glyphs.
func (f cff) glyphTexts() map[uint32]string {
	out := map[uint32]string{}
	for g, n := range f.names {
		if s := glyphText(n); s != "" {
			out[uint32(g)] = s
		}
	}
	return out
}
