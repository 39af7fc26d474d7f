package pdftext

import (
	"bytes"
	"fmt"
	"strconv"
)

// The plain document: the upload is written anew as the simplest PDF there is,
// with one cross-reference table, a flat page tree, no object streams, no
// encryption, no filter but Flate, direct lengths, and nothing that page text
// does not depend on. The library that reads it then meets no cycle, no lie
// about sizes and no syntax it does not know.

// maxPlain bounds the plain document in bytes.
const maxPlain = 512 << 20

// objectKey is a private key that the writer adds to each dictionary and stream
// with a number of its own, because the library does not tell it. Fonts and
// forms are recognized by it.
const objectKey = "PlainNumber"

// hiddenKey is a private key of the catalog: the optional content groups that
// are off.
const hiddenKey = "PlainHidden"

// beside are keys that lead to what page text does not depend on. Keys that
// could as well be the names of fonts or forms in a resource dictionary are
// not among them.
var beside = map[string]bool{
	"Parent": true, "Metadata": true, "PieceInfo": true, "OutputIntents": true, "CIDSet": true,
	"ColorSpace": true, "Pattern": true, "Shading": true, "SMask": true,
	objectKey: true,
}

// ofStreams are the keys of a stream that describe its bytes; the writer sets
// its own.
var ofStreams = map[string]bool{
	"Length": true, "Filter": true, "DecodeParms": true, "DP": true, "DL": true,
	"F": true, "FFilter": true, "FDecodeParms": true,
}

// plainWriter writes the catalog, the root of the page tree and the pages as
// objects 1, 2 and so on; what they refer to is numbered as it is met.
type plainWriter struct {
	file    *file
	out     bytes.Buffer
	first   int         // number of the first object met
	numbers map[int]int // new numbers by those of the upload
	queue   []int       // objects met, by their numbers in the upload
	offsets []int       // of the objects written so far
}

// plain returns the document in its plain form.
func (f *file) plain() ([]byte, error) {
	pages := f.pages()
	if f.meter.err != nil {
		return nil, f.meter.err
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("%w: no pages", ErrDamaged)
	}
	w := &plainWriter{file: f, first: len(pages) + 3, numbers: map[int]int{}}
	w.out.WriteString("%PDF-1.7\n")
	w.putCatalog(len(pages))
	for _, p := range pages {
		if !f.meter.alive() {
			return nil, f.meter.err
		}
		w.begin()
		w.putPage(p)
		w.end()
	}
	for i := 0; i < len(w.queue) && f.meter.alive(); i++ {
		w.begin()
		w.putIndirect(w.queue[i])
		w.end()
	}
	w.finish()
	return w.out.Bytes(), f.meter.err
}

func (w *plainWriter) begin() {
	w.offsets = append(w.offsets, w.out.Len())
	fmt.Fprintf(&w.out, "%d 0 obj\n", len(w.offsets))
}

func (w *plainWriter) end() { w.out.WriteString("\nendobj\n") }

func (w *plainWriter) putCatalog(pages int) {
	w.begin()
	w.out.WriteString("<</Type/Catalog/Pages 2 0 R/" + hiddenKey)
	w.put(arrayOf(w.file.hiddenGroups()...))
	w.out.WriteString(">>")
	w.end()
	w.begin()
	fmt.Fprintf(&w.out, "<</Type/Pages/Count %d/Kids[", pages)
	for i := range pages {
		fmt.Fprintf(&w.out, "%d 0 R ", i+3)
	}
	w.out.WriteString("]>>")
	w.end()
}

func (w *plainWriter) putPage(p page) {
	w.out.WriteString("<</Type/Page")
	w.putKey("Resources", p.resources)
	w.putKey("MediaBox", w.file.shallow(w.file.deref(p.box)))
	w.putKey("Contents", p.contents)
	w.putKey("Annots", w.file.annotations(p.annots))
	w.out.WriteString(">>")
}

// finish writes the cross-reference table and the trailer. The library looks
// for the end of the file in the last 100 bytes, all of which must exist.
func (w *plainWriter) finish() {
	start := w.out.Len()
	size := len(w.offsets) + 1
	fmt.Fprintf(&w.out, "xref\n0 %d\n0000000000 65535 f \n", size)
	for _, offset := range w.offsets {
		fmt.Fprintf(&w.out, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&w.out, "trailer\n<</Size %d/Root 1 0 R>>\n%64sstartxref\n%d\n%%%%EOF\n", size, "\n", start)
}

// number gives an object of the upload its new number, 0 if it is one too many.
func (w *plainWriter) number(id int) int {
	n, ok := w.numbers[id]
	if !ok {
		if len(w.queue) >= w.file.meter.limits.Objects {
			w.file.meter.exceed("objects")
			return 0
		}
		n = w.first + len(w.queue)
		w.numbers[id] = n
		w.queue = append(w.queue, id)
	}
	return n
}

// putIndirect writes an object of the upload; images become null.
func (w *plainWriter) putIndirect(id int) {
	l, ok := w.file.load(id)
	switch {
	case !ok || l.isStream && l.value.get("Subtype").isName("Image"):
		w.out.WriteString("null")
	case l.isStream:
		w.putStream(l)
	case l.value.kind == dict:
		w.putDict(l.value, nil)
	default:
		w.put(l.value)
	}
}

// putStream writes a stream with no filter but Flate, and that only where the
// library can read it.
func (w *plainWriter) putStream(l loaded) {
	data, flate := l.raw, false
	if filters := w.file.filters(l.value); len(filters) > 0 {
		flate = len(filters) == 1 && filters[0].name == "FlateDecode" &&
			filters[0].parms.get("Predictor").int() < 2 && hasZlibHeader(data)
		if !flate {
			data, _ = w.file.decode(l) // image data stays empty
		}
	}
	extra := []object{nameOf("Length"), numberOf(len(data))}
	if flate {
		extra = append(extra, nameOf("Filter"), nameOf("FlateDecode"))
	}
	w.putDict(l.value, extra)
	w.out.WriteString("\nstream\n")
	w.out.Write(data)
	w.out.WriteString("\nendstream")
}

// putDict writes the dictionary of an indirect object. A stream gets new keys
// for those that describe its bytes.
func (w *plainWriter) putDict(o object, ofStream []object) {
	w.out.WriteString("<<")
	for i := 0; i+1 < len(o.items); i += 2 {
		if ofStream == nil || !ofStreams[o.items[i].str] {
			w.putKey(o.items[i].str, o.items[i+1])
		}
	}
	for i := 0; i+1 < len(ofStream); i += 2 {
		w.putKey(ofStream[i].str, ofStream[i+1])
	}
	fmt.Fprintf(&w.out, "/%s %d>>", objectKey, len(w.offsets))
}

// putKey writes a dictionary entry unless it leads nowhere.
func (w *plainWriter) putKey(key string, value object) {
	if value.kind == null || beside[key] {
		return
	}
	w.put(nameOf(key))
	w.put(value)
}

func (w *plainWriter) put(o object) {
	if w.out.Len() > maxPlain {
		w.file.meter.exceed("document")
		return
	}
	switch o.kind {
	case number:
		w.out.WriteByte(' ')
		w.out.WriteString(strconv.FormatFloat(o.num, 'f', -1, 64))
	case text:
		fmt.Fprintf(&w.out, "<%x>", o.str)
	case name:
		w.putName(o.str)
	case ref:
		if n := w.number(o.int()); n > 0 {
			fmt.Fprintf(&w.out, " %d 0 R", n)
			return
		}
		w.out.WriteString(" null")
	case array:
		w.out.WriteByte('[')
		for _, x := range o.items {
			w.put(x)
		}
		w.out.WriteByte(']')
	case dict:
		w.out.WriteString("<<")
		for i := 0; i+1 < len(o.items); i += 2 {
			w.putKey(o.items[i].str, o.items[i+1])
		}
		w.out.WriteString(">>")
	case keyword:
		if o.str == "true" || o.str == "false" {
			w.out.WriteString(" " + o.str)
			return
		}
		w.out.WriteString(" null")
	default:
		w.out.WriteString(" null")
	}
}

func (w *plainWriter) putName(s string) {
	w.out.WriteByte('/')
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '#' || isDelimiter(c) {
			fmt.Fprintf(&w.out, "#%02x", c)
		} else {
			w.out.WriteByte(c)
		}
	}
}

// annotations keeps of a page's annotations (12.5) those whose text is drawn on
// the page, each with only what draws it.
func (f *file) annotations(o object) object {
	list := f.deref(o)
	if list.kind != array {
		return object{}
	}
	out := object{kind: array}
	seen := map[int]bool{}
	for _, a := range list.items[:min(len(list.items), maxAnnotations)] {
		if a.kind == ref && seen[a.int()] {
			continue
		}
		seen[a.int()] = true
		a = f.deref(a)
		switch f.get(a, "Subtype").str {
		case "Widget", "FreeText", "Stamp":
			out.items = append(out.items, f.annotation(a))
		}
	}
	return out
}

// maxAnnotations bounds the annotations of one page.
const maxAnnotations = 20_000

func (f *file) annotation(a object) object {
	out := dictOf(nameOf("Subtype"), f.get(a, "Subtype"))
	for _, key := range []string{"Rect", "F", "AS", "Contents"} {
		out = out.with(key, f.shallow(f.get(a, key)))
	}
	// A field may have its type and value from a parent (12.7.4.2).
	for _, key := range []string{"FT", "V", "Ff"} {
		out = out.with(key, f.inheritedField(a, key))
	}
	if normal := f.get(a, "AP").get("N"); normal.kind != null {
		out = out.with("AP", dictOf(nameOf("N"), normal))
	}
	return out
}

func (f *file) inheritedField(a object, key string) object {
	for range maxRefChain {
		if v := f.get(a, key); v.kind != null {
			return v
		}
		a = f.get(a, "Parent")
	}
	return object{}
}
