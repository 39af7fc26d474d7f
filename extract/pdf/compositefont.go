package pdf

import (
	"strings"
	"unicode"
)

// Composite fonts (ISO 32000-2, 9.7): Type 0 with a CIDFont, codes of one to
// four bytes.

type compositeFont struct {
	codes    *cmap       // code space and CIDs; nil if charset serves
	charset  *charset    // a predefined CMap of a legacy or Unicode encoding
	ordering *collection // the character collection, nil if unknown
	program  map[uint32]string
	unicode  bool // CIDs are taken for Unicode
	vertical bool
	widths                    // downwards in vertical text
	across   widths           // of glyphs of vertical text
	seen     map[uint32]glyph // glyphs shown before, by code and length
}

// next takes one character code off the front of s, which is not empty.
func (c *compositeFont) next(s string) (code uint32, length int) {
	if c.charset != nil {
		length = min(c.charset.length(s[0]), len(s))
		return codeOf(s[:length]), length
	}
	return c.codes.next(s)
}

// cid returns the CID of a code, whose bytes are raw.
func (c *compositeFont) cid(code uint32, raw string) uint32 {
	if c.charset == nil {
		cid, _ := c.codes.cid(code)
		return cid
	}
	if c.ordering == nil {
		return 0
	}
	return c.ordering.cidOfText(c.charset.decode(raw))
}

// widths are those of glyphs by CID.
type widths struct {
	byCID map[uint32]float64
	usual float64 // of CIDs that byCID lacks
}

func (w widths) width(cid uint32) float64 {
	if v, ok := w.byCID[cid]; ok {
		return v
	}
	return w.usual
}

// text returns the characters of a code where the font has no ToUnicode.
func (c *compositeFont) text(cid uint32, raw string) string {
	if c.charset != nil {
		return c.charset.decode(raw)
	}
	if s := c.program[cid]; s != "" {
		return s
	}
	if c.ordering != nil {
		return c.ordering.text(cid)
	}
	if r := rune(cid); c.unicode && unicode.IsPrint(r) {
		return string(r)
	}
	return ""
}

// showsGlyphsByNumber reports whether the CIDs of a font are the numbers of glyphs
// in its program, which mean nothing. Where they are not, and the font has a
// ToUnicode that is empty, its writer took the characters themselves for CIDs.
func showsGlyphsByNumber(descendant node) bool {
	return descendant.key("FontDescriptor").key("FontFile2").isStream() && !descendant.key("CIDToGIDMap").isStream()
}

// readComposite reads a Type 0 font. The font program is looked at only where
// it is needed to learn what the CIDs stand for.
func (d *document) readComposite(n node, needProgram bool) *compositeFont {
	descendant := n.key("DescendantFonts")
	if descendant.isArray() {
		descendant = descendant.index(0)
	}
	c := &compositeFont{seen: map[uint32]glyph{}}
	c.ordering = collections()[descendant.key("CIDSystemInfo").key("Ordering").bytes()]
	d.readCodes(c, n.key("Encoding"))
	c.widths = readWidths(descendant.key("W"), descendant.key("DW"), 1, 1000)
	if c.vertical {
		c.across = c.widths
		c.widths = readWidths(descendant.key("W2"), descendant.key("DW2").index(1), 3, -1000)
	}
	if needProgram && c.charset == nil {
		to := n.key("ToUnicode")
		c.program = d.cidTexts(descendant)
		if len(c.program) == 0 && c.ordering == nil && hasMacOrder(baseName(descendant)) {
			c.program = mapCIDs(macOrder(), d.data(descendant.key("CIDToGIDMap")))
		}
		c.unicode = len(c.program) == 0 && c.ordering == nil && to.isStream() && !showsGlyphsByNumber(descendant)
	}
	return c
}

// readCodes reads the Encoding: a predefined CMap or an embedded one.
func (d *document) readCodes(c *compositeFont, enc node) {
	predefined := enc.name()
	c.codes = &cmap{identity: true}
	if enc.isStream() {
		c.codes = parseCMap(d.data(enc))
		c.vertical = c.codes.vertical
		if len(c.codes.cids) > 0 {
			return
		}
		predefined = c.codes.base
		if use := enc.key("UseCMap").name(); use != "" {
			predefined = use
		}
		c.codes.identity = true
	}
	c.vertical = c.vertical || predefined == "V" || strings.HasSuffix(predefined, "-V")
	if cs := charsetOf(predefined); cs != nil {
		c.charset = cs
		if c.ordering == nil {
			c.ordering = collections()[cs.collection]
		}
	}
}

// maxWidths bounds the widths that a W array sets.
const maxWidths = 400_000

// readWidths reads the W array (9.7.4.3), "first [w w w]" or "first last w", or the
// W2 array, which has so many numbers for each glyph and the extent first.
func readWidths(w, usual node, numbers int, unit float64) widths {
	out := widths{map[uint32]float64{}, 1}
	if v, ok := usual.float(); ok {
		out.usual = v / unit
	}
	n := w.length()
	set := 0
	for i := 0; i < n && set < maxWidths; {
		set++
		first, ok := w.index(i).float()
		if !ok || first < 0 || first > 0xffff {
			i++
			continue
		}
		second := w.index(i + 1)
		if second.isArray() {
			for j := range min(second.length()/numbers, 0x10000) {
				set++
				if x, ok := second.index(j * numbers).float(); ok {
					out.byCID[uint32(first)+uint32(j)] = x / unit
				}
			}
			i += 2
			continue
		}
		last, ok := second.float()
		if x, isWidth := w.index(i + 2).float(); ok && isWidth && last <= 0xffff {
			for cid := uint32(first); float64(cid) <= last; cid++ {
				set++
				out.byCID[cid] = x / unit
			}
		}
		i += 2 + numbers
	}
	return out
}

// cidTexts asks the embedded font program for the characters of its glyphs.
func (d *document) cidTexts(descendant node) map[uint32]string {
	descriptor := descendant.key("FontDescriptor")
	if p := descriptor.key("FontFile2"); p.isStream() {
		return mapCIDs(parseSFNT(d.data(p)).glyphTexts(), d.data(descendant.key("CIDToGIDMap")))
	}
	p := descriptor.key("FontFile3")
	if !p.isStream() {
		return nil
	}
	data := d.data(p)
	sfnt := parseSFNT(data)
	if texts := sfnt.glyphTexts(); len(texts) > 0 {
		return mapCIDs(texts, d.data(descendant.key("CIDToGIDMap")))
	}
	if sfnt.tables["CFF "] != nil {
		data = sfnt.tables["CFF "]
	}
	return parseCFF(data).glyphTexts()
}

// mapCIDs turns characters by glyph into characters by CID, with a CIDToGIDMap
// of two bytes for each CID; without one the two are the same.
func mapCIDs(byGlyph map[uint32]string, gids []byte) map[uint32]string {
	if len(gids) < 2 {
		return byGlyph
	}
	out := map[uint32]string{}
	for cid := 0; 2*cid+1 < len(gids); cid++ {
		if s := byGlyph[uint32(gids[2*cid])<<8|uint32(gids[2*cid+1])]; s != "" {
			out[uint32(cid)] = s
		}
	}
	return out
}

// hasMacOrder reports whether a font is one of those of Windows whose glyphs
// begin in the standard Macintosh order. Some files count on readers to have
// them, and say nothing else about their glyphs.
func hasMacOrder(base string) bool {
	for _, family := range []string{"Arial", "TimesNewRoman", "CourierNew", "Verdana", "Georgia", "Tahoma"} {
		if strings.HasPrefix(base, family) {
			return true
		}
	}
	return false
}

// macOrder gives the characters of the printable ASCII glyphs in the standard
// Macintosh order, where the families of hasMacOrder agree.
func macOrder() map[uint32]string {
	out := map[uint32]string{}
	for g, glyph := range macGlyphs()[:98] {
		if s := glyphText(glyph); s != "" && g >= 3 {
			out[uint32(g)] = s
		}
	}
	return out
}
