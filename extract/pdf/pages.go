package pdf

import "strings"

// The document structure (ISO 32000-2, 7.7): the page tree becomes a flat list
// of pages, each with what it inherits.

// page is a leaf of the page tree, with only what its text depends on.
type page struct {
	resources object
	box       object // MediaBox
	rotate    object
	contents  object
	annots    object
}

// treeWalk collects the leaves of a page tree.
type treeWalk struct {
	file  *file
	seen  map[int]bool // nodes with children, by number; each counts once
	pages []page
}

// pages lists the pages of the document. If the tree leads to none, every page
// object of the file counts.
func (f *file) pages() []page {
	w := &treeWalk{file: f, seen: map[int]bool{}}
	w.visit(f.get(f.trailer, "Root").get("Pages"), page{}, 0)
	if len(w.pages) > 0 || !f.meter.alive() {
		return w.pages
	}
	f.scan()
	if f.decrypt == nil && f.get(f.trailer, "Encrypt").kind == dict {
		return nil
	}
	w = &treeWalk{file: f, seen: map[int]bool{}}
	w.visit(f.get(f.trailer, "Root").get("Pages"), page{}, 0)
	if len(w.pages) > 0 {
		return w.pages
	}
	for _, o := range f.orphans() {
		w.leaf(f.deref(o), w.inherited(o))
	}
	return w.pages
}

func (w *treeWalk) visit(o object, from page, depth int) {
	if depth > maxNesting || !w.file.meter.alive() {
		return
	}
	id, isRef := o.int(), o.kind == ref
	o = w.file.deref(o)
	if o.kind != dict {
		w.file.repaired = w.file.repaired || isRef
		return
	}
	from = inherit(o, from)
	kids := w.file.get(o, "Kids")
	if kids.kind != array || o.get("Type").isName("Page") {
		w.leaf(o, from)
		return
	}
	if isRef && w.seen[id] {
		return
	}
	w.seen[id] = isRef
	for _, kid := range kids.items {
		w.visit(kid, from, depth+1)
	}
}

// inherit replaces what the node o sets itself.
func inherit(o object, from page) page {
	if r := o.get("Resources"); r.kind != null {
		from.resources = r
	}
	if b := o.get("MediaBox"); b.kind != null {
		from.box = b
	}
	if r := o.get("Rotate"); r.kind != null {
		from.rotate = r
	}
	return from
}

// inherited follows the Parent entries of a page that was found on its own.
func (w *treeWalk) inherited(o object) (p page) {
	var chain []object
	for range maxRefChain {
		o = w.file.deref(o)
		chain = append(chain, o)
		o = o.get("Parent")
	}
	for i := len(chain) - 1; i >= 0; i-- {
		p = inherit(chain[i], p)
	}
	return p
}

func (w *treeWalk) leaf(o object, p page) {
	if len(w.pages) >= w.file.meter.limits.Pages {
		w.file.meter.exceed("pages")
		return
	}
	p.contents, p.annots = o.get("Contents"), o.get("Annots")
	w.pages = append(w.pages, inherit(o, p))
}

// hiddenGroups lists the optional content groups (8.11) that are off when the
// document is opened.
func (f *file) hiddenGroups() []object {
	properties := f.get(f.get(f.trailer, "Root"), "OCProperties")
	config := f.get(properties, "D")
	if !f.get(config, "BaseState").isName("OFF") {
		return f.get(config, "OFF").items
	}
	on := map[int]bool{}
	for _, g := range f.get(config, "ON").items {
		on[g.int()] = true
	}
	var off []object
	for _, g := range f.get(properties, "OCGs").items {
		if !on[g.int()] {
			off = append(off, g)
		}
	}
	return off
}

// isDynamic reports whether the file is a form of the XML Forms Architecture
// (12.7.8) whose pages are made when it is opened. The text of its only page in
// the file asks to wait for that.
func (f *file) isDynamic(text string) bool {
	root := f.get(f.trailer, "Root")
	if f.get(f.get(root, "AcroForm"), "XFA").kind == null {
		return false
	}
	needs := f.get(root, "NeedsRendering")
	return needs.kind == keyword && needs.str == "true" || strings.HasPrefix(strings.TrimSpace(text), "Please wait")
}
