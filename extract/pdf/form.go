package pdf

// Form XObjects (ISO 32000-2, 8.10).

// Bounds on forms: how deep they nest, and how many of their bytes are kept
// for when they are drawn again.
const (
	maxFormDepth = 16
	maxFormBytes = 64 << 20
)

// form draws a form XObject; images are null here.
func (in *interpreter) form(n node, outer *resources, state graphicsState) {
	if sub := n.key("Subtype").name(); !n.isStream() || sub != "Form" && !(sub == "" && n.key("BBox").isArray()) {
		return
	}
	if in.doc.isHidden(n.key("OC")) {
		return
	}
	in.drawForm(n, outer, state)
}

// drawForm draws a form or an appearance stream, whatever its Subtype.
func (in *interpreter) drawForm(n node, outer *resources, state graphicsState) {
	id := n.identity()
	if in.depth >= maxFormDepth || in.active[id] {
		return
	}
	in.doc.meter.form()
	data := in.doc.formData(n, id)
	if len(data) == 0 {
		return
	}
	if m, ok := n.key("Matrix").numbers(6); ok {
		state.ctm = matrix(m).then(state.ctm)
	}
	res := outer
	if own := n.key("Resources"); own.isDict() {
		res = in.doc.resources(own, outer)
	}
	in.depth++
	in.active[id] = true
	in.run(data, res, state)
	delete(in.active, id)
	in.depth--
}

func (d *document) formData(n node, id int) []byte {
	if data, ok := d.forms[id]; ok {
		return data
	}
	data := d.data(n)
	if d.formBytes+len(data) <= maxFormBytes {
		d.forms[id] = data
		d.formBytes += len(data)
	}
	return data
}
