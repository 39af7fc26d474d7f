package pdf

import (
	"math"
	"unicode/utf8"
)

// Text (ISO 32000-2, 9.3 and 9.4): the operators that place glyphs.

// textState is the text part of the graphics state.
type textState struct {
	font      *font // nil before the first Tf
	size      float64
	charSpace float64
	wordSpace float64
	scale     float64 // horizontal, 1 for 100 %
	leading   float64
	rise      float64
	mode      int // of rendering: what is done with the glyphs' outlines
}

func (s *stream) textOperator(op string) {
	t := &s.state.text
	switch op {
	case "BT":
		s.textMatrix, s.lineMatrix = identityMatrix, identityMatrix
	case "Tf":
		if n := len(s.operands); n >= 2 {
			t.font = s.resources.font(s.operands[n-2].str)
			t.size = s.number(1, 2)
		}
	case "Tc":
		t.charSpace = s.number(0, 1)
	case "Tw":
		t.wordSpace = s.number(0, 1)
	case "Tz":
		t.scale = s.number(0, 1) / 100
	case "TL":
		t.leading = s.number(0, 1)
	case "Ts":
		t.rise = s.number(0, 1)
	case "Tr":
		t.mode = int(s.number(0, 1))
	case "Td":
		s.nextLine(s.number(0, 2), s.number(1, 2))
	case "TD":
		t.leading = -s.number(1, 2)
		s.nextLine(s.number(0, 2), s.number(1, 2))
	case "T*":
		s.nextLine(0, -t.leading)
	case "Tm":
		if m, ok := s.matrix(); ok {
			s.textMatrix, s.lineMatrix = m, m
		}
	case "Tj", "TJ":
		s.showOperands()
	case "'":
		s.nextLine(0, -t.leading)
		s.showOperands()
	case "\"":
		if len(s.operands) >= 3 {
			t.wordSpace, t.charSpace = s.number(0, 3), s.number(1, 3)
		}
		s.nextLine(0, -t.leading)
		s.showOperands()
	}
}

func (s *stream) nextLine(x, y float64) {
	s.lineMatrix = translation(x, y).then(s.lineMatrix)
	s.textMatrix = s.lineMatrix
}

// showOperands shows strings, and arrays of strings with adjustments between
// them.
func (s *stream) showOperands() {
	s.shown = 0
	for _, o := range s.operands {
		s.shown += len(o.str)
		for _, x := range o.items {
			s.shown += len(x.str)
		}
	}
	for _, o := range s.operands {
		if o.kind == text {
			s.show(o.str)
		}
		for _, x := range o.items {
			switch x.kind {
			case text:
				s.show(x.str)
			case number:
				s.adjust(x.num)
			}
		}
	}
}

// adjust moves by an amount in thousandths of the font size, backwards.
func (s *stream) adjust(amount float64) {
	t := &s.state.text
	distance := -amount / 1000 * t.size
	if t.font != nil && t.font.vertical() {
		s.textMatrix = translation(0, distance).then(s.textMatrix)
		return
	}
	s.textMatrix = translation(distance*t.scale, 0).then(s.textMatrix)
}

func (s *stream) show(raw string) {
	t := &s.state.text
	if t.font == nil {
		t.font = fallbackFont()
	}
	pen := s.pen()
	for g := range t.font.glyphs(raw) {
		if !s.doc.meter.alive() {
			return
		}
		s.showGlyph(g, &pen)
	}
}

// Tracking is character spacing of at most so many ems in strings of at least
// so many bytes.
const (
	maxTracking = 0.5
	minTracked  = 5
)

// fillAndStroke is the text rendering mode that makes letters heavier.
const fillAndStroke = 2

// pen is what the glyphs of a string have in common.
type pen struct {
	toPage   matrix // from text space, but for the place in it
	size     float64
	along    vector // the direction of horizontal text, a unit vector
	down     vector // of vertical text
	tracking bool   // character spacing is part of the glyphs
	vertical bool
	bold     bool
	fixed    bool
}

func (s *stream) pen() pen {
	t := &s.state.text
	p := pen{toPage: s.textMatrix.then(s.state.ctm), vertical: t.font.vertical(), bold: t.font.bold || t.mode == fillAndStroke, fixed: t.font.fixed}
	rendering := matrix{t.size * t.scale, 0, 0, t.size, 0, t.rise}.then(p.toPage)
	// Character spacing is tracking, and as good as part of the glyph, unless
	// it sets the cells of a table apart or stands in for a word space.
	p.tracking = t.charSpace <= maxTracking*math.Abs(t.size) && s.shown >= minTracked
	p.size = vector{rendering[2], rendering[3]}.length()
	p.down = vector{-rendering[2], -rendering[3]}.unit()
	p.along = vector{rendering[0], rendering[1]}
	if t.size < 0 && !p.vertical {
		p.along = p.along.times(-1)
	}
	p.along = p.along.unit()
	return p
}

// showGlyph places one glyph and moves on by its width.
func (s *stream) showGlyph(g glyph, pen *pen) {
	t := &s.state.text
	at := s.state.ctm.apply(vector{s.textMatrix[4], s.textMatrix[5]})
	pen.toPage[4], pen.toPage[5] = at.x, at.y

	spacing := t.charSpace
	if g.isSpace {
		spacing += t.wordSpace
	}
	extent := 0.0
	if pen.tracking {
		extent = spacing
	}
	p := placed{text: g.text, size: pen.size, direction: pen.along, bold: pen.bold, fixed: pen.fixed, vertical: pen.vertical}
	from := vector{0, t.rise}
	advance, end := vector{(g.width*t.size + spacing) * t.scale, 0}, vector{(g.width*t.size + extent) * t.scale, 0}
	if pen.vertical {
		advance, end = vector{0, spacing - g.width*t.size}, vector{0, extent - g.width*t.size}
		p.direction = pen.down
	}
	if pen.vertical && s.shown <= 2 && !startsEastAsian(g.text) {
		// Placed by itself, mostly in a usual line. The place is above its middle.
		aside := pen.toPage.apply(vector{-g.across * t.size * t.scale / 2, -aboveMiddle * t.size})
		pen.toPage[4], pen.toPage[5] = aside.x, aside.y
		p.vertical, p.direction = false, pen.along
		end = vector{g.across * t.size * t.scale, 0}
	}
	p.start = pen.toPage.apply(from)
	p.end = pen.toPage.apply(vector{end.x, end.y + t.rise})
	next := s.textMatrix.apply(advance)
	s.textMatrix[4], s.textMatrix[5] = next.x, next.y

	if t.font.type3 { // its font size says little
		if h := p.end.minus(p.start).length(); h > 0 && (p.size < h/3 || p.size > h*20) {
			p.size = h
		}
	}
	s.emit(g, &p)
}

// emit hands a glyph to the layout unless it cannot be seen, and counts those
// that can and whose character is not known.
func (s *stream) emit(g glyph, p *placed) {
	if s.marks.hidden > 0 || s.page != nil && !s.page.holds(p.start) {
		return
	}
	s.doc.glyphs++
	if actual, ok := s.marks.replacement(); ok {
		p.text = actual
		if actual == "" {
			s.out.extend(p.end)
			return
		}
	} else if p.text == "" && !g.known {
		s.doc.unmapped++
		p.text = unknown(g)
	}
	s.out.place(p)
}

// unknown is the text of a glyph whose character is not known. Most fonts have
// the space where they have no other character for it.
func unknown(g glyph) string {
	if g.isSpace || g.width == 0 {
		return " "
	}
	return string(utf8.RuneError)
}
