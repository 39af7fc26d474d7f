package pdf

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/extract/internal/markdown"
)

// Annotations (ISO 32000-2, 12.5): form fields, free text and stamps, which are
// drawn on the page, comments, and links.

// maxAnnotations bounds the annotations of one page.
const maxAnnotations = 20_000

// annotations lists those of a page, each once.
func (d *document) annotations(o object) (out []node) {
	list := d.file.node(o)
	seen := map[int]bool{}
	for i := range min(list.length(), maxAnnotations) {
		n := list.index(i)
		if id := n.identity(); id != 0 && seen[id] {
			continue
		}
		seen[n.identity()] = true
		out = append(out, n)
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

// Annotation flags (table 167) that keep an annotation off the page.
const (
	flagHidden = 1 << 1
	flagNoView = 1 << 5
)

// annotation adds what an annotation shows to the page.
func (in *interpreter) annotation(n node, res *resources, state graphicsState) {
	rect := rectangleOf(n.key("Rect"))
	if n.key("F").int()&(flagHidden|flagNoView) != 0 {
		return
	}
	switch n.key("Subtype").name() {
	case "Widget", "FreeText", "Stamp":
		in.field(n, rect, res, state)
	case "Link":
		url := markdown.Address(strings.ToValidUTF8(n.key("A").key("URI").bytes(), ""))
		if url == "" || rect == nil || strings.ContainsFunc(url, isControl) {
			return
		}
		for _, box := range quads(n, *rect) {
			in.out.links = append(in.out.links, link{box.turned(in.turn), url})
		}
	case "Text", "Highlight", "Underline", "Squiggly", "StrikeOut", "Caret", "Square", "Circle", "Line", "Polygon",
		"PolyLine", "Ink", "FileAttachment":
		in.comment(n, rect)
	}
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

// quads are the boxes of the lines of text that an annotation is about, or its own.
func quads(n node, rect rectangle) []rectangle {
	const maxQuads = 100
	q := n.key("QuadPoints")
	count := min(q.length()/8, maxQuads)
	points, ok := q.numbers(8 * count)
	if !ok || count == 0 {
		return []rectangle{rect}
	}
	var boxes []rectangle
	for i := 0; i < len(points); i += 8 {
		p := points[i : i+8]
		boxes = append(boxes, rectangle{min(p[0], p[2], p[4], p[6]), min(p[1], p[3], p[5], p[7]), max(p[0], p[2], p[4], p[6]), max(p[1], p[3], p[5], p[7])})
	}
	return boxes
}

// comment writes what somebody noted, behind what it is about.
func (in *interpreter) comment(n node, rect *rectangle) {
	contents := strings.Join(strings.Fields(decodeText(n.key("Contents").bytes())), " ")
	author := strings.Join(strings.Fields(decodeText(n.key("T").bytes())), " ")
	if contents == "" || contents == author || n.key("StateModel").isString() {
		return // nothing, or that somebody has accepted or marked another comment
	}
	by := ""
	if author != "" {
		by = " (" + author + ")"
	}
	if rect == nil {
		rect = &rectangle{}
	}
	boxes := quads(n, *rect)
	for i, box := range boxes {
		boxes[i] = box.turned(in.turn)
	}
	at := boxes[len(boxes)-1]
	at.left = at.right
	if in.out.repeats(contents, boxes) {
		return
	}
	in.out.inset("[Comment"+by+": "+contents+"]", at)
}

// field draws the normal appearance of an annotation or, where it has none, writes
// its value. What it shows is put in its place on the page later on.
func (in *interpreter) field(n node, rect *rectangle, res *resources, state graphicsState) {
	in.out.breakAway()
	first := len(in.out.lines)
	appearance := n.key("AP").key("N")
	if appearance.isDict() { // one for each state
		appearance = appearance.key(n.key("AS").name())
	}
	if appearance.isStream() && rect != nil {
		state.ctm = rect.fit(appearance).then(in.turn)
		page := in.page
		shown := rect.turned(in.turn)
		in.page = &shown // a field may be scrolled
		in.drawForm(appearance, res, state)
		in.page = page
		in.out.breakAway()
	}
	drawn := in.out.lines[first:]
	if box, ok := checkBox(n); ok && (len(drawn) == 0 || len(drawn) == 1 && len(drawn[0].text) == 1) && rect != nil {
		in.out.lines = in.out.lines[:first]
		in.out.inset(box, rect.turned(in.turn))
		return
	}
	if len(drawn) > 0 {
		in.out.insets = append(in.out.insets, slices.Clone(drawn))
		in.out.held += len(drawn)
	}
	in.out.lines = in.out.lines[:first]
	if !appearance.isStream() {
		at := rectangle{}
		if rect != nil {
			at = rect.turned(in.turn)
		}
		in.out.inset(in.doc.fieldValue(n), at)
	}
}

// checkBox is how a check box or a radio button looks, if the field is one.
func checkBox(n node) (text string, ok bool) {
	const pushButton = 1 << 16
	if n.field("FT").name() != "Btn" || n.field("Ff").int()&pushButton != 0 {
		return "", false
	}
	if state := n.key("AS").name(); state == "" || state == "Off" {
		return "☐", true
	}
	return "☒", true
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

// fieldValue is the text of an annotation that was never drawn: a text field's
// value, a choice, or the contents of free text.
func (d *document) fieldValue(n node) string {
	if n.key("Subtype").name() == "FreeText" {
		return decodeText(n.key("Contents").bytes())
	}
	switch n.field("FT").name() {
	case "Tx":
		return decodeText(n.field("V").bytes())
	case "Ch":
		return d.choice(n)
	}
	return ""
}

// Bounds on the options that are looked at, of one list and of all.
const (
	maxOptions    = 200
	maxAllOptions = 100_000
)

// choice is the text of a choice field (12.7.5.4): what is chosen or, of a list that
// is always open, all options with what is chosen marked.
func (d *document) choice(n node) string {
	const combo = 1 << 17
	chosen := map[string]bool{}
	value := n.field("V")
	if value.isString() {
		chosen[value.bytes()] = true
	}
	for i := range min(value.length(), maxOptions) {
		chosen[value.index(i).bytes()] = true
	}
	open := n.field("Ff").int()&combo == 0
	var lines []string
	options := n.field("Opt")
	count := min(options.length(), maxOptions, maxAllOptions-d.options)
	d.options += count
	for i := range count {
		exported, shown := options.index(i), options.index(i)
		if exported.isArray() { // with another name in data
			exported, shown = exported.index(0), exported.index(1)
		}
		isChosen := chosen[exported.bytes()] || chosen[shown.bytes()]
		delete(chosen, exported.bytes())
		delete(chosen, shown.bytes())
		switch text := decodeText(shown.bytes()); {
		case isChosen && open:
			lines = append(lines, "☒ "+text)
		case isChosen:
			lines = append(lines, text)
		case open:
			lines = append(lines, "☐ "+text)
		}
	}
	for _, other := range slices.Sorted(maps.Keys(chosen)) { // that the options lack
		lines = append(lines, decodeText(other))
	}
	return strings.Join(lines, "\n")
}
