package pdf

// Content streams (ISO 32000-2, 7.8.2): the operators of a page and of the forms
// drawn on it.

// Bounds on one content stream: operands kept for an operator, and graphics
// states saved.
const (
	maxOperands = 512
	maxSaved    = 4096
)

// graphicsState is what q saves and Q restores (8.4).
type graphicsState struct {
	ctm  matrix
	text textState
}

// interpreter draws one page into a layout.
type interpreter struct {
	doc    *document
	out    *layout
	page   *rectangle   // nil to draw what lies outside, too
	turn   matrix       // of the page
	active map[int]bool // forms being drawn, by identity
	depth  int
	marks  markStack
}

// stream is one content stream being run.
type stream struct {
	*interpreter
	resources  *resources
	lexer      lexer
	operands   []object
	state      graphicsState
	saved      []graphicsState
	textMatrix matrix
	lineMatrix matrix
	path       path
	shown      int // bytes of the strings being shown
}

// run draws a content stream.
func (in *interpreter) run(data []byte, res *resources, state graphicsState) {
	s := &stream{
		interpreter: in, resources: res, lexer: streamLexer(data), state: state,
		textMatrix: identityMatrix, lineMatrix: identityMatrix,
	}
	outer := in.marks.depth()
	defer func() { in.marks.cut(outer) }()
	for in.doc.meter.alive() {
		o := s.lexer.next()
		switch o.kind {
		case end:
			return
		case stray:
		case keyword:
			in.doc.meter.operator()
			if in.out.isCrowded() {
				in.doc.meter.exceed("lines of a page")
			}
			s.operator(o.str, outer)
			s.operands = s.operands[:0]
			s.lexer.reset()
		default:
			if len(s.operands) < maxOperands {
				s.operands = append(s.operands, o)
			}
		}
	}
}

// number returns the i-th of the last count operands, 0 if it is none.
func (s *stream) number(i, count int) float64 {
	if at := len(s.operands) - count + i; at >= 0 && at < len(s.operands) && s.operands[at].kind == number {
		return s.operands[at].num
	}
	return 0
}

// last returns the last operand, or null.
func (s *stream) last() object {
	if len(s.operands) == 0 {
		return object{}
	}
	return s.operands[len(s.operands)-1]
}

// matrix reads six operands.
func (s *stream) matrix() (m matrix, ok bool) {
	for i := range m {
		m[i] = s.number(i, 6)
	}
	return m, len(s.operands) >= 6
}

// operator executes one operator. Marked content may not end before where it
// began, at the depth outer.
func (s *stream) operator(op string, outer int) {
	switch op {
	case "q":
		if len(s.saved) < maxSaved {
			s.saved = append(s.saved, s.state)
		}
	case "Q":
		if n := len(s.saved); n > 0 {
			s.state, s.saved = s.saved[n-1], s.saved[:n-1]
		}
	case "cm":
		if m, ok := s.matrix(); ok {
			s.state.ctm = m.then(s.state.ctm)
		}
	case "gs":
		s.extendedState(s.resources.find("ExtGState", s.last().str))
	case "Do":
		s.form(s.resources.find("XObject", s.last().str), s.resources, s.state)
	case "BI":
		s.inlineImage()
	case "BMC":
		s.marks.push(mark{})
	case "BDC":
		s.beginMarked()
	case "EMC":
		if s.marks.depth() > outer {
			s.marks.pop()
		}
	default:
		if !s.pathOperator(op) {
			s.textOperator(op)
		}
	}
}

// extendedState takes the font of a graphics state parameter dictionary (8.4.5).
func (s *stream) extendedState(n node) {
	entry := n.key("Font")
	if f := s.doc.font(entry.index(0)); f != nil {
		s.state.text.font = f
		s.state.text.size, _ = entry.index(1).float()
	}
}

func (s *stream) inlineImage() {
	for {
		o := s.lexer.next()
		if o.kind == end || o.kind == keyword && o.str == "ID" {
			break
		}
	}
	s.lexer.skipImage()
}

// resources is a resource dictionary (7.8.3). What a form's own one lacks is
// looked up where the form is drawn.
type resources struct {
	dict   node
	outer  *resources
	fonts  map[string]*font
	doc    *document
	byKind map[string]node
}

func (d *document) resources(n node, outer *resources) *resources {
	return &resources{dict: n, outer: outer, fonts: map[string]*font{}, doc: d, byKind: map[string]node{}}
}

// find returns a resource of a category, or null.
func (r *resources) find(category, key string) node {
	for ; r != nil; r = r.outer {
		all, ok := r.byKind[category]
		if !ok {
			all = r.dict.key(category)
			r.byKind[category] = all
		}
		if n := all.key(key); n.isDict() || n.isStream() {
			return n
		}
	}
	return node{}
}

// maxNames bounds the font names remembered for one dictionary.
const maxNames = 10_000

// font returns a font by its name, the fallback if there is none.
func (r *resources) font(key string) *font {
	if f, ok := r.fonts[key]; ok {
		return f
	}
	f := r.doc.font(r.find("Font", key))
	if f == nil {
		f = fallbackFont()
	}
	if len(r.fonts) < maxNames {
		r.fonts[key] = f
	}
	return f
}
