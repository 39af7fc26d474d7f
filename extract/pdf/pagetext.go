package pdf

// Pages (ISO 32000-2, 7.7.3.3), as they are shown: turned to where their text is to
// be read from.

// rectangle is a box on a page.
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

// turned is the box after a quarter turn or several.
func (r rectangle) turned(by matrix) rectangle {
	a, b := by.apply(vector{r.left, r.bottom}), by.apply(vector{r.right, r.top})
	return rectangle{min(a.x, b.x), min(a.y, b.y), max(a.x, b.x), max(a.y, b.y)}
}

// turnOf is how a page is turned clockwise, in degrees, before it is shown.
func turnOf(degrees int) matrix {
	switch ((degrees % 360) + 360) % 360 {
	case 90:
		return matrix{0, -1, 1, 0, 0, 0}
	case 180:
		return matrix{-1, 0, 0, -1, 0, 0}
	case 270:
		return matrix{0, 1, -1, 0, 0, 0}
	}
	return identityMatrix
}

func (d *document) readPage(p page, out *layout) {
	in := &interpreter{doc: d, out: out, turn: turnOf(d.file.node(p.rotate).int()), active: map[int]bool{}}
	if box := rectangleOf(d.file.node(p.box)); box != nil {
		shown := box.turned(in.turn)
		in.page = &shown
	}
	res := d.resources(d.file.node(p.resources), nil)
	start := graphicsState{ctm: in.turn, text: textState{scale: 1}}
	in.run(d.contents(d.file.node(p.contents)), res, start)
	for _, n := range d.annotations(p.annots) {
		if !d.meter.alive() {
			return
		}
		if in.annotation(n, res, start); in.out.isCrowded() {
			d.meter.exceed("lines of a page")
		}
	}
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
