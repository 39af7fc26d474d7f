package pdf

import (
	"encoding/binary"
	"strings"
)

// TrueType and OpenType font programs (ISO 32000-2, 9.9, and the OpenType
// specification): the cmap and post tables tell which characters glyphs are.

// bigEndian reads big-endian numbers; what lies outside is 0.
type bigEndian []byte

func (b bigEndian) u16(at int) int {
	if at < 0 || at+2 > len(b) {
		return 0
	}
	return int(binary.BigEndian.Uint16(b[at:]))
}

func (b bigEndian) u32(at int) int {
	if at < 0 || at+4 > len(b) {
		return 0
	}
	return int(binary.BigEndian.Uint32(b[at:]))
}

// from is b from an offset on, empty if that is outside.
func (b bigEndian) from(at int) bigEndian {
	if at < 0 || at > len(b) {
		return nil
	}
	return b[at:]
}

// sfnt is a font file's tables by tag.
type sfnt struct{ tables map[string]bigEndian }

const maxTables = 64

func parseSFNT(data []byte) sfnt {
	font := sfnt{tables: map[string]bigEndian{}}
	b := bigEndian(data)
	if b.u32(0) == 0x74746366 { // "ttcf", a collection: the first font
		b = b.from(b.u32(12))
	}
	for i := range min(b.u16(4), maxTables) {
		record := b.from(12 + 16*i)
		if len(record) < 16 {
			break
		}
		table := bigEndian(data).from(record.u32(8))
		font.tables[string(record[:4])] = table[:min(len(table), record.u32(12))]
	}
	return font
}

// charMap is a subtable of the cmap table.
type charMap struct {
	platform, encoding int
	data               bigEndian
}

func (m charMap) isUnicode() bool {
	return m.platform == 0 || m.platform == 3 && (m.encoding == 1 || m.encoding == 10)
}

func (f sfnt) charMaps() (out []charMap) {
	t := f.tables["cmap"]
	for i := range min(t.u16(2), 32) {
		record := t.from(4 + 8*i)
		if sub := t.from(record.u32(4)); len(sub) > 0 && len(record) >= 8 {
			out = append(out, charMap{record.u16(0), record.u16(2), sub})
		}
	}
	return out
}

// maxChars bounds the characters read from one subtable.
const maxChars = 200_000

// each yields the pairs of a character and its glyph.
func (m charMap) each(yield func(char, glyph int) bool) {
	b := m.data
	switch b.u16(0) {
	case 0:
		for c := 0; c < 256 && 6+c < len(b); c++ {
			if g := int(b[6+c]); g != 0 && !yield(c, g) {
				return
			}
		}
	case 4:
		m.eachSegment(yield)
	case 6:
		for i := range b.u16(8) {
			if g := b.u16(10 + 2*i); g != 0 && !yield(b.u16(6)+i, g) {
				return
			}
		}
	case 12:
		m.eachGroup(yield)
	}
}

// eachSegment reads format 4.
func (m charMap) eachSegment(yield func(char, glyph int) bool) {
	b := m.data
	size := b.u16(6) // twice the number of segments
	left := maxChars
	for at := 0; at < size; at += 2 {
		last, first := b.u16(14+at), b.u16(16+size+at)
		delta, offset := b.u16(16+2*size+at), b.u16(16+3*size+at)
		for c := first; c <= last && c != 0xffff && left > 0; c++ {
			left--
			g := c
			if offset != 0 {
				if g = b.u16(16 + 3*size + at + offset + 2*(c-first)); g == 0 {
					continue
				}
			}
			if g = (g + delta) & 0xffff; g != 0 && !yield(c, g) {
				return
			}
		}
	}
}

// eachGroup reads format 12.
func (m charMap) eachGroup(yield func(char, glyph int) bool) {
	b := m.data
	left := maxChars
	for i := range min(b.u32(12), len(b)/12) {
		first, last, g := b.u32(16+12*i), b.u32(20+12*i), b.u32(24+12*i)
		for c := first; c <= min(last, 0x10ffff) && left > 0; c++ {
			left--
			if !yield(c, g+c-first) {
				return
			}
		}
	}
}

// glyphTexts gives the characters of the glyphs, from the Unicode cmaps or else
// from the glyph names in the post table.
func (f sfnt) glyphTexts() map[uint32]string {
	out := map[uint32]string{}
	for _, m := range f.charMaps() {
		if !m.isUnicode() {
			continue
		}
		for char, g := range m.each {
			if _, ok := out[uint32(g)]; !ok {
				out[uint32(g)] = string(rune(char))
			}
		}
	}
	for g, glyph := range f.postNames() {
		if _, ok := out[uint32(g)]; !ok {
			if s := glyphText(glyph); s != "" {
				out[uint32(g)] = s
			}
		}
	}
	return out
}

// postNames lists the glyph names of a post table of format 2, or nil.
func (f sfnt) postNames() []string {
	t := f.tables["post"]
	if t.u32(0) != 0x00020000 {
		return nil
	}
	count := min(t.u16(32), 0xffff)
	var own []string
	for rest := t.from(34 + 2*count); len(rest) > 0; {
		n := min(int(rest[0]), len(rest)-1)
		own = append(own, string(rest[1:1+n]))
		rest = rest[1+n:]
	}
	mac := macGlyphs()
	names := make([]string, count)
	for g := range names {
		switch i := t.u16(34 + 2*g); {
		case i < len(mac):
			names[g] = mac[i]
		case i-len(mac) < len(own):
			names[g] = own[i-len(mac)]
		}
	}
	return names
}

// builtinEncoding gives the characters of the codes of a symbolic font, which
// its Macintosh or symbol cmap leads to by way of the glyphs.
func (f sfnt) builtinEncoding() map[int]string {
	texts := f.glyphTexts()
	out := map[int]string{}
	for _, m := range f.charMaps() {
		isMac, isSymbol := m.platform == 1 && m.encoding == 0, m.platform == 3 && m.encoding == 0
		if !isMac && !isSymbol {
			continue
		}
		for char, g := range m.each {
			if char >= 0xf000 && char <= 0xf0ff {
				char -= 0xf000
			}
			if s := texts[uint32(g)]; char < 256 && s != "" && !strings.ContainsFunc(s, isPrivate) {
				out[char] = s
			}
		}
	}
	return out
}

func isPrivate(r rune) bool { return r >= 0xe000 && r <= 0xf8ff }
