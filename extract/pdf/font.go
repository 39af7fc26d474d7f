package pdf

import (
	"slices"
	"strings"
)

// Fonts (ISO 32000-2, 9.5 to 9.10): from the bytes of a shown string to
// characters and widths.

// glyph is one character code of a shown string.
type glyph struct {
	text    string  // "" if nothing is shown or nothing is known
	known   bool    // the font tells what the code stands for
	width   float64 // in text space units, for a font size of 1; downwards in vertical text
	across  float64 // the width of a glyph of vertical text
	isSpace bool    // the single-byte code 32, to which word spacing applies
}

// font decodes strings shown with it. Exactly one of simple and composite is
// not nil.
type font struct {
	toUnicode *cmap // nil if the font has none
	simple    *simpleFont
	composite *compositeFont
	type3     bool
	bold      bool
	fixed     bool // its letters are equally wide
}

func (f *font) vertical() bool { return f.composite != nil && f.composite.vertical }

// glyphs yields the glyphs of a string.
func (f *font) glyphs(s string) func(yield func(glyph) bool) {
	return func(yield func(glyph) bool) {
		for len(s) > 0 {
			var g glyph
			g, s = f.next(s)
			if !yield(g) {
				return
			}
		}
	}
}

// next takes one glyph off the front of s, which is not empty.
func (f *font) next(s string) (g glyph, rest string) {
	if f.simple != nil {
		return f.simple.glyphs[s[0]], s[1:]
	}
	code, length := f.composite.next(s)
	raw, rest := s[:length], s[length:]
	key := code ^ uint32(length)<<29 // codes of four bytes do not go so high
	g, ok := f.composite.seen[key]
	if !ok {
		g = f.compositeGlyph(code, raw)
		if len(f.composite.seen) < 1<<16 {
			f.composite.seen[key] = g
		}
	}
	return g, rest
}

func (f *font) compositeGlyph(code uint32, raw string) glyph {
	c := f.composite
	cid := c.cid(code, raw)
	g := glyph{width: c.width(cid), across: c.across.width(cid), isSpace: len(raw) == 1 && code == ' '}
	if f.toUnicode != nil {
		g.text, g.known = f.toUnicode.text(code)
	}
	if !g.meaningful() {
		g.text = c.text(cid, raw)
		g.known = g.text != ""
	}
	return g
}

// finish combines what a simple font knows with its ToUnicode.
func (f *font) finish() {
	s := f.simple
	for code := range s.glyphs {
		g := glyph{width: s.widths[code], isSpace: code == ' '}
		if f.toUnicode != nil {
			g.text, g.known = f.toUnicode.text(uint32(code))
		}
		if !g.meaningful() {
			g.text = s.text[code]
			g.known = g.text != "" || s.blank[code]
		}
		s.glyphs[code] = g
	}
}

// meaningful reports whether ToUnicode gave an answer.
func (g glyph) meaningful() bool { return g.known && g.text != "\x00" && g.text != "\ufffd" }

// maxFonts bounds the fonts kept.
const maxFonts = 20_000

// font returns the font of a font dictionary, nil if it is none.
func (d *document) font(n node) *font {
	if !n.isDict() {
		return nil
	}
	id := n.identity()
	if f, ok := d.fonts[id]; ok && id != 0 {
		return f
	}
	f := d.readFont(n)
	if id != 0 && len(d.fonts) < maxFonts {
		d.fonts[id] = f
	}
	return f
}

func (d *document) readFont(n node) *font {
	f := &font{type3: n.key("Subtype").name() == "Type3"}
	f.bold, f.fixed = looksOf(n)
	to := n.key("ToUnicode")
	switch {
	case to.isStream():
		if m := parseCMap(d.data(to)); !m.empty() {
			f.toUnicode = m
		}
	case strings.HasPrefix(to.name(), "Identity"):
		f.toUnicode = &cmap{ranges: []textRange{{0, 0xffff, []rune{0}}}}
	}
	if n.key("Subtype").name() == "Type0" || n.key("DescendantFonts").isArray() {
		f.composite = d.readComposite(n, f.toUnicode == nil)
	} else {
		f.simple = d.readSimple(n, f.toUnicode == nil)
		f.finish()
	}
	return f
}

// fallbackFont stands for a font that is missing.
func fallbackFont() *font {
	s := &simpleFont{}
	s.encode(encodings()["WinAnsiEncoding"])
	for c := range s.widths {
		s.widths[c] = 0.5
	}
	f := &font{simple: s}
	f.finish()
	return f
}

// baseName is the name of a font without its subset tag.
func baseName(n node) string {
	base := n.key("BaseFont").name()
	if len(base) > 7 && base[6] == '+' {
		return base[7:]
	}
	return base
}

// looksOf tells whether a font is bold and whether its letters are equally wide, by
// its descriptor or else by its name.
func looksOf(n node) (bold, fixed bool) {
	const fixedPitch, forceBold, semibold = 1, 1 << 18, 600
	descriptor := n.key("FontDescriptor")
	if descendants := n.key("DescendantFonts"); descendants.isArray() {
		descriptor = descendants.index(0).key("FontDescriptor")
	}
	flags, base := descriptor.key("Flags").int(), strings.ToLower(baseName(n))
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(base, part) })
	}
	bold = flags&forceBold != 0 || descriptor.key("FontWeight").int() >= semibold ||
		has("bold", "black", "heavy", "demi", "-bd", "cmbx", "cmssbx", "sfbx")
	return bold, flags&fixedPitch != 0 || has("courier", "mono", "cmtt", "sftt", "consol", "menlo", "typewriter")
}
