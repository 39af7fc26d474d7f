package pdftext

import "math"

// Pages (ISO 32000-2, 7.7.3.3) and the annotations whose text is drawn on them
// (12.5): form fields, free text and stamps.

// rectangle is a page's MediaBox.
type rectangle struct{ left, bottom, right, top float64 }

// holds reports whether a point lies in the rectangle or close to it.
func (r rectangle) holds(p vector) bool {
	const margin = 2
	return p.x >= r.left-margin && p.x <= r.right+margin && p.y >= r.bottom-margin && p.y <= r.top+margin
}

// rectangleOf reads an array of two corners, nil if it has no area.
func rectangleOf(n node) *rectangle {
	c, ok := n.numbers(4)
	if !ok {
		return nil
	}
	r := &rectangle{min(c[0], c[2]), min(c[1], c[3]), max(c[0], c[2]), max(c[1], c[3])}
	if r.right-r.left <= 1 || r.top-r.bottom <= 1 {
		return nil
	}
	return r
}

func (d *document) readPage(p page, out *layout) {
	in := &interpreter{doc: d, out: out, page: rectangleOf(d.file.node(p.box)), active: map[int]bool{}}
	res := d.resources(d.file.node(p.resources), nil)
	start := graphicsState{ctm: identityMatrix, text: textState{scale: 1}}
	in.run(d.contents(d.file.node(p.contents)), res, start)
	for _, n := range d.annotations(p.annots) {
		if !d.meter.alive() {
			return
		}
		in.annotation(n, res, start)
	}
}

// maxAnnotations bounds the annotations of one page.
const maxAnnotations = 20_000

// annotations lists those annotations of a page whose text is drawn on it, each
// once.
func (d *document) annotations(o object) (out []node) {
	list := d.file.node(o)
	seen := map[int]bool{}
	for i := range min(list.length(), maxAnnotations) {
		n := list.index(i)
		if id := n.identity(); id != 0 && seen[id] {
			continue
		}
		seen[n.identity()] = true
		switch n.key("Subtype").name() {
		case "Widget", "FreeText", "Stamp":
			out = append(out, n)
		}
	}
	return out
}

// field returns an entry that a field may have from a parent (12.7.4.2).
func (n node) field(key string) node {
	for range maxRefChain {
		if v := n.key(key); v.value.kind != null {
			return v
		}
		n = n.key("Parent")
	}
	return node{}
}

// contents joins the content streams of a page.
func (d *document) contents(n node) (data []byte) {
	if n.isStream() {
		return d.data(n)
	}
	for i := range n.length() {
		data = append(append(data, d.data(n.index(i))...), '\n')
		if int64(len(data)) > d.meter.limits.Stream {
			d.meter.exceed("page content")
			return nil
		}
	}
	return data
}

// Annotation flags (table 167) that keep an annotation off the page.
const (
	flagHidden = 1 << 1
	flagNoView = 1 << 5
)

// annotation draws the normal appearance of an annotation or, where it has
// none, writes its value.
func (in *interpreter) annotation(n node, res *resources, state graphicsState) {
	if n.key("F").int()&(flagHidden|flagNoView) != 0 {
		return
	}
	in.out.breakAway()
	appearance := n.key("AP").key("N")
	if appearance.isDict() { // one for each state
		appearance = appearance.key(n.key("AS").name())
	}
	if !appearance.isStream() {
		in.out.literal(fieldValue(n))
		return
	}
	rect := rectangleOf(n.key("Rect"))
	if rect == nil {
		return
	}
	state.ctm = rect.fit(appearance)
	page := in.page
	in.page = rect // a field may be scrolled
	in.drawForm(appearance, res, state)
	in.page = page
	in.out.breakAway()
}

// fit returns what moves and scales the box of an appearance stream, after its
// own Matrix, into the rectangle (12.5.5, algorithm 8.1).
func (r rectangle) fit(appearance node) matrix {
	box := rectangleOf(appearance.key("BBox"))
	if box == nil {
		return translation(r.left, r.bottom)
	}
	own := identityMatrix
	if m, ok := appearance.key("Matrix").numbers(6); ok {
		own = matrix(m)
	}
	drawn := rectangle{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, corner := range []vector{{box.left, box.bottom}, {box.left, box.top}, {box.right, box.bottom}, {box.right, box.top}} {
		at := translation(corner.x, corner.y).then(own)
		drawn = rectangle{min(drawn.left, at[4]), min(drawn.bottom, at[5]), max(drawn.right, at[4]), max(drawn.top, at[5])}
	}
	x, y := 1.0, 1.0
	if w, h := drawn.right-drawn.left, drawn.top-drawn.bottom; w > 0 && h > 0 {
		x, y = (r.right-r.left)/w, (r.top-r.bottom)/h
	}
	return matrix{x, 0, 0, y, r.left - drawn.left*x, r.bottom - drawn.bottom*y}
}

// fieldValue is the text of an annotation that was never drawn: a text or choice
// field's value, or the contents of free text.
func fieldValue(n node) string {
	if n.key("Subtype").name() == "FreeText" {
		return decodeText(n.key("Contents").bytes())
	}
	if kind := n.field("FT").name(); kind == "Tx" || kind == "Ch" {
		return decodeText(n.field("V").bytes())
	}
	return ""
}
