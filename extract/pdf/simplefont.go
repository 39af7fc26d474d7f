package pdf

import (
	"math"
	"strings"
)

// Simple fonts (ISO 32000-2, 9.6): Type 1, TrueType and Type 3, with codes of
// one byte.

type simpleFont struct {
	text   [256]string
	blank  [256]bool // codes of .notdef: known to show nothing
	widths [256]float64
	glyphs [256]glyph
}

// encode sets the characters of all codes.
func (s *simpleFont) encode(e *encoding) {
	for code, r := range e {
		if r != 0 {
			s.text[code] = string(r)
		}
	}
}

// readSimple reads a simple font. The font program is looked at only where it
// is needed to learn what the codes stand for.
func (d *document) readSimple(n node, needProgram bool) *simpleFont {
	s := &simpleFont{}
	descriptor := n.key("FontDescriptor")
	enc := n.key("Encoding")
	base := encodings()[enc.name()]
	if enc.isDict() {
		base = encodings()[enc.key("BaseEncoding").name()]
	}
	if base == nil {
		base = d.implicitEncoding(n)
	}
	s.encode(base)
	if needProgram && (enc.name() == "" && enc.key("BaseEncoding").name() == "" || isSymbolic(descriptor) && n.key("Subtype").name() == "TrueType") {
		for code, chars := range d.builtinEncoding(descriptor) {
			s.text[code] = chars
		}
	}
	type3 := n.key("Subtype").name() == "Type3"
	s.applyDifferences(enc.key("Differences"), type3)
	if !type3 && !isEmbedded(descriptor) {
		for code := range ' ' { // control characters found their way into a string
			if s.text[code] == "" {
				s.text[code] = " "
			}
		}
	}
	s.readWidths(n)
	return s
}

// isSymbolic reports whether a font has characters outside the standard Latin
// set, by its descriptor's flags.
func isSymbolic(descriptor node) bool { return descriptor.key("Flags").int()&4 != 0 }

// implicitEncoding is the encoding of a font that names none.
func (d *document) implicitEncoding(n node) *encoding {
	base := baseName(n)
	switch sub := n.key("Subtype").name(); {
	case sub == "Type3":
		return &encoding{}
	case strings.HasPrefix(base, "Symbol") && !isEmbedded(n.key("FontDescriptor")):
		return encodings()["Symbol"]
	case strings.HasPrefix(base, "ZapfDingbats"):
		return encodings()["ZapfDingbats"]
	case sub == "TrueType":
		return encodings()["WinAnsiEncoding"]
	}
	return encodings()["StandardEncoding"]
}

func isEmbedded(descriptor node) bool {
	return descriptor.key("FontFile").isStream() || descriptor.key("FontFile2").isStream() || descriptor.key("FontFile3").isStream()
}

// builtinEncoding asks the embedded font program what its codes stand for.
func (d *document) builtinEncoding(descriptor node) map[int]string {
	if p := descriptor.key("FontFile"); p.isStream() {
		return type1Encoding(d.data(p))
	}
	if p := descriptor.key("FontFile2"); p.isStream() {
		return parseSFNT(d.data(p)).builtinEncoding()
	}
	p := descriptor.key("FontFile3")
	if !p.isStream() {
		return nil
	}
	data := d.data(p)
	if sfnt := parseSFNT(data); sfnt.tables["CFF "] != nil {
		data = sfnt.tables["CFF "]
	}
	return parseCFF(data).builtinEncoding()
}

// applyDifferences reads the Differences array: a code, and the names of the
// glyphs from there on.
func (s *simpleFont) applyDifferences(differences node, type3 bool) {
	code, numbers := 0, numbersOf(differences)
	numbers.sure = numbers.sure && type3
	for i := range min(differences.length(), 4096) {
		x := differences.index(i)
		if v, ok := x.float(); ok {
			code = int(math.Max(-1, math.Min(v, 256)))
			continue
		}
		if code >= 0 && code < 256 {
			glyph := x.name()
			chars := glyphText(glyph)
			if chars == "" {
				chars = numberedGlyph(glyph, code, numbers)
			}
			s.text[code] = chars
			s.blank[code] = glyph == ".notdef"
			if glyph == ".notdef" && code == ' ' {
				s.text[code] = " "
			}
		}
		code++
	}
}

func (s *simpleFont) readWidths(n node) {
	scale := 0.001
	if n.key("Subtype").name() == "Type3" {
		if a, ok := n.key("FontMatrix").index(0).float(); ok && a != 0 {
			scale = math.Abs(a)
		}
	}
	widths := n.key("Widths")
	if !widths.isArray() {
		s.standardWidths(n)
		return
	}
	missing, _ := n.key("FontDescriptor").key("MissingWidth").float()
	for code := range s.widths {
		s.widths[code] = missing * scale
	}
	first := n.key("FirstChar").int()
	for i := range min(widths.length(), 256) {
		if w, ok := widths.index(i).float(); ok && first+i >= 0 && first+i < 256 {
			s.widths[first+i] = w * scale
		}
	}
}

// standardWidths serves the 14 standard fonts (9.6.2.2), and those that are
// taken for one of them.
func (s *simpleFont) standardWidths(n node) {
	base, flags := baseName(n), n.key("FontDescriptor").key("Flags").int()
	table := &helveticaWidths
	switch {
	case strings.Contains(base, "Courier") || flags&1 != 0:
		for code := range s.widths {
			s.widths[code] = 0.6
		}
		return
	case strings.Contains(base, "Times") || flags&2 != 0:
		table = &timesWidths
	}
	for code := range s.widths {
		s.widths[code] = 0.556
		if code >= 0x20 && code < 0x7F {
			s.widths[code] = float64(table[code-0x20]) / 1000
		}
	}
}

// Widths of the characters 32 to 126 in Helvetica and Times, in thousandths.
var (
	helveticaWidths = [95]uint16{278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
		556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
		1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
		667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
		333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
		556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584}
	timesWidths = [95]uint16{250, 333, 408, 500, 500, 833, 778, 180, 333, 333, 500, 564, 250, 333, 250, 278,
		500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 278, 278, 564, 564, 564, 444,
		921, 722, 667, 667, 722, 611, 556, 722, 722, 333, 389, 722, 611, 889, 722, 722,
		556, 722, 667, 556, 611, 722, 722, 944, 722, 722, 611, 333, 278, 333, 469, 500,
		333, 444, 500, 444, 500, 444, 333, 500, 500, 278, 278, 500, 278, 778, 500, 500,
		500, 500, 333, 389, 278, 500, 500, 722, 500, 500, 444, 480, 200, 480, 541}
)
