package pdf

// Marked content (ISO 32000-2, 14.6): replacement text (14.9.4) and optional
// content (8.11).

// mark is one marked-content sequence.
type mark struct {
	hasActual bool
	actual    string // text to use instead of the glyphs
	hidden    bool   // optional content that is off
}

// markStack is the marked-content sequences that are open.
type markStack struct {
	marks   []mark
	skipped int // opened beyond the bound
	hidden  int // how many of marks are hidden
	actual  int // how many of marks have replacement text
	used    bool
}

const maxMarks = 10_000

func (s *markStack) depth() int { return len(s.marks) + s.skipped }

func (s *markStack) push(m mark) {
	if len(s.marks) >= maxMarks {
		s.skipped++
		return
	}
	s.marks = append(s.marks, m)
	if m.hidden {
		s.hidden++
	}
	if m.hasActual {
		if s.actual == 0 {
			s.used = false
		}
		s.actual++
	}
}

func (s *markStack) pop() {
	if s.skipped > 0 {
		s.skipped--
		return
	}
	m := s.marks[len(s.marks)-1]
	s.marks = s.marks[:len(s.marks)-1]
	if m.hidden {
		s.hidden--
	}
	if m.hasActual {
		s.actual--
	}
}

// cut closes what is open beyond a depth.
func (s *markStack) cut(depth int) {
	for s.depth() > depth {
		s.pop()
	}
}

// replacement returns the text of the outermost sequence that has one, for its
// first glyph, and "" for the others. It is not ok where there is none.
func (s *markStack) replacement() (actual string, ok bool) {
	if s.actual == 0 {
		return "", false
	}
	if s.used {
		return "", true
	}
	s.used = true
	for _, m := range s.marks {
		if m.hasActual {
			return m.actual, true
		}
	}
	return "", true
}

// beginMarked executes BDC, whose properties are a dictionary or the name of a
// resource.
func (s *stream) beginMarked() {
	properties := s.last()
	var m mark
	switch properties.kind {
	case dict:
		if actual := properties.get("ActualText"); actual.kind == text {
			m = mark{hasActual: true, actual: decodeText(actual.str)}
		}
	case name:
		n := s.resources.find("Properties", properties.str)
		if actual := n.key("ActualText"); actual.isString() {
			m = mark{hasActual: true, actual: decodeText(actual.bytes())}
		}
		m.hidden = s.doc.isHidden(n)
	}
	s.marks.push(m)
}

// isHidden reports whether an optional content group is off, or all groups of a
// membership dictionary are.
func (d *document) isHidden(n node) bool {
	if len(d.hidden) == 0 || !n.isDict() {
		return false
	}
	groups := n.key("OCGs")
	if groups.isDict() {
		return d.hidden[groups.identity()]
	}
	for i := range min(groups.length(), 1000) {
		if !d.hidden[groups.index(i).identity()] {
			return false
		}
	}
	return groups.length() > 0 || d.hidden[n.identity()]
}
