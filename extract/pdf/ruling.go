package pdf

import "math"

// Rules: the straight lines on a page, of which the borders of tables are made
// (ISO 32000-2, 8.5). A rule is a line that is stroked or a thin shape that is
// filled.

// Bounds on the rules of a page: drawings have more, and no tables.
const (
	maxRules    = 10_000
	maxSegments = 4_000 // of one path
	minRule     = 4.0   // how long a rule is at least
	maxThick    = 3.0   // how thick at most
)

// rule is a horizontal line at a height, or a vertical one at a distance.
type rule struct{ at, from, to float64 }

// ruling is the rules of a page.
type ruling struct{ across, down []rule }

func (r *ruling) clear() { r.across, r.down = r.across[:0], r.down[:0] }

// add takes a straight line from a to b.
func (r *ruling) add(a, b vector) {
	if !a.finite() || !b.finite() || len(r.across)+len(r.down) >= maxRules {
		return
	}
	d := b.minus(a)
	switch {
	case math.Abs(d.y) < 0.5 && math.Abs(d.x) >= minRule:
		r.across = append(r.across, rule{(a.y + b.y) / 2, min(a.x, b.x), max(a.x, b.x)})
	case math.Abs(d.x) < 0.5 && math.Abs(d.y) >= minRule:
		r.down = append(r.down, rule{(a.x + b.x) / 2, min(a.y, b.y), max(a.y, b.y)})
	}
}

// fill takes a shape by its box: it is a rule if it is thin.
func (r *ruling) fill(box rectangle) {
	x, y := (box.left+box.right)/2, (box.bottom+box.top)/2
	switch w, h := box.right-box.left, box.top-box.bottom; {
	case h <= maxThick && w > 2*h:
		r.add(vector{box.left, y}, vector{box.right, y})
	case w <= maxThick && h > 2*w:
		r.add(vector{x, box.bottom}, vector{x, box.top})
	}
}

// path is what the path operators have drawn so far, on the page.
type path struct {
	lines []segment
	boxes []rectangle // of its parts
	start vector      // of the open part
	at    vector
	open  bool
}

type segment struct{ from, to vector }

func (p *path) clear() { *p = path{lines: p.lines[:0], boxes: p.boxes[:0]} }

func (p *path) moveTo(v vector) {
	p.start, p.at, p.open = v, v, false
}

func (p *path) lineTo(v vector) {
	if len(p.lines) >= maxSegments {
		return
	}
	if !p.open {
		p.boxes = append(p.boxes, rectangle{p.at.x, p.at.y, p.at.x, p.at.y})
		p.open = true
	}
	p.lines = append(p.lines, segment{p.at, v})
	box := &p.boxes[len(p.boxes)-1]
	*box = rectangle{min(box.left, v.x), min(box.bottom, v.y), max(box.right, v.x), max(box.top, v.y)}
	p.at = v
}

// pathOperator executes the operators that make and paint paths.
func (s *stream) pathOperator(op string) (ok bool) {
	p := &s.path
	point := func(i, count int) vector { return s.state.ctm.apply(vector{s.number(i, count), s.number(i+1, count)}) }
	switch op {
	case "m":
		p.moveTo(point(0, 2))
	case "l":
		p.lineTo(point(0, 2))
	case "h":
		p.lineTo(p.start)
	case "re":
		x, y, w, h := s.number(0, 4), s.number(1, 4), s.number(2, 4), s.number(3, 4)
		p.moveTo(s.state.ctm.apply(vector{x, y}))
		for _, corner := range []vector{{x + w, y}, {x + w, y + h}, {x, y + h}, {x, y}} {
			p.lineTo(s.state.ctm.apply(corner))
		}
	case "c", "v", "y":
		p.moveTo(s.state.ctm.apply(vector{s.number(0, 2), s.number(1, 2)}))
	case "S", "s":
		if op == "s" {
			p.lineTo(p.start)
		}
		s.stroke()
	case "B", "B*", "b", "b*":
		s.stroke()
	case "f", "F", "f*":
		for _, box := range p.boxes {
			s.out.rules.fill(box)
		}
		p.clear()
	case "n":
		p.clear()
	default:
		return false
	}
	return true
}

// stroke takes the lines of the path for rules.
func (s *stream) stroke() {
	for _, line := range s.path.lines {
		s.out.rules.add(line.from, line.to)
	}
	s.path.clear()
}
