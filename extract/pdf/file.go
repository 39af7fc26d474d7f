package pdf

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"github.com/seed-506d8e5d/svc/extract"
)

// File structure (ISO 32000-2, 7.5): where each object lies, and loading it.

// Bounds on the file body: the largest object number, and how many references
// to references are followed.
const (
	maxObjectNumber = 8_388_607
	maxRefChain     = 8
)

// entry says where an object is: at an offset of the file, or in an object
// stream. The zero entry is a free one.
type entry struct {
	kind   entryKind
	offset int64
	stream int // number of the object stream
}

type entryKind uint8

const (
	entryFree entryKind = iota
	entryPlain
	entryPacked
)

// file is a PDF as it was uploaded, with everything that may be wrong with it.
type file struct {
	data    []byte
	meter   *meter
	entries map[int]entry
	scanned map[int]entry // found by looking through the file; nil before that
	trailer object
	decrypt *decrypter
	streams map[int]*objectStream // nil for those that cannot be read
	loading map[int]bool
	cache   map[int]loaded
	cached  int // bytes of objects in cache

	open       []object // of the lexers, which take turns
	streamEnds []int    // offsets of endstream keywords, once asked for
	repaired   bool
}

func newFile(data []byte, m *meter) *file {
	return &file{
		data: data, meter: m,
		entries: map[int]entry{}, streams: map[int]*objectStream{},
		loading: map[int]bool{}, cache: map[int]loaded{},
	}
}

// loaded is an indirect object; if it is a stream, value is its dictionary.
type loaded struct {
	value    object
	isStream bool
	raw      []byte // the stream's bytes, decrypted but not decoded
}

// deref follows references.
func (f *file) deref(o object) object {
	for range maxRefChain {
		if o.kind != ref {
			return o
		}
		l, _ := f.load(o.int())
		o = l.value
	}
	return object{}
}

// get returns the dereferenced value of a dictionary's key.
func (f *file) get(o object, key string) object { return f.deref(o.get(key)) }

// maxCached bounds the bytes whose objects are kept.
const maxCached = 8 << 20

// load returns the object with the given number. Where the cross-reference
// table promises it and it is not, the file is searched for it.
func (f *file) load(id int) (loaded, bool) {
	if l, ok := f.cache[id]; ok {
		return l, true
	}
	if f.loading[id] || len(f.loading) >= maxNesting || !f.meter.alive() {
		return loaded{}, false
	}
	f.loading[id] = true
	defer delete(f.loading, id)
	before := f.meter.parsed
	l, ok := f.find(id)
	if !ok || l.isStream {
		return l, ok
	}
	size := int(f.meter.parsed - before)
	if f.cached+size > maxCached {
		clear(f.cache)
		f.cached = 0
	}
	f.cached += size
	f.cache[id] = l
	return l, true
}

func (f *file) find(id int) (loaded, bool) {
	e, listed := f.entries[id]
	if listed {
		if e.kind == entryFree {
			return loaded{}, false
		}
		if l, ok := f.loadEntry(id, e); ok {
			return l, true
		}
		f.scan()
	}
	if found, ok := f.scanned[id]; ok && found != e {
		return f.loadEntry(id, found)
	}
	return loaded{}, false
}

func (f *file) loadEntry(id int, e entry) (loaded, bool) {
	switch e.kind {
	case entryPlain:
		return f.loadPlain(id, e.offset)
	case entryPacked:
		s := f.objectStream(e.stream)
		if s == nil {
			return loaded{}, false
		}
		o, ok := s.object(id, f)
		return loaded{value: o}, ok
	}
	return loaded{}, false
}

func (f *file) loadPlain(id int, offset int64) (loaded, bool) {
	h, ok := f.parseAt(offset)
	if !ok || h.id != id {
		return loaded{}, false
	}
	l := loaded{value: h.value, isStream: h.isStream}
	if f.decrypt != nil {
		l.value = f.decryptStrings(l.value, h)
	}
	if !h.isStream {
		return l, true
	}
	l.raw = f.streamBytes(l.value, h.start)
	if f.decrypt != nil && f.isEncrypted(l.value) {
		l.raw = f.decrypt.decrypt(l.raw, id, h.generation, f.decrypt.streams)
	}
	return l, true
}

// indirect is an object as it stands in the file body.
type indirect struct {
	id, generation int
	value          object
	isStream       bool
	start          int // of the stream's bytes
}

// parseAt reads "12 0 obj ..." at an offset.
func (f *file) parseAt(offset int64) (h indirect, ok bool) {
	if offset < 0 || offset >= int64(len(f.data)) {
		return h, false
	}
	return f.parse(f.data, int(offset))
}

// parse reads an indirect object of data, which is the file up to some place.
func (f *file) parse(data []byte, offset int) (h indirect, ok bool) {
	l := lexer{data: data, pos: offset, open: f.open}
	defer func() {
		f.open = l.open
		f.meter.parse(l.pos - offset)
	}()
	id, generation := l.next(), l.next()
	if id.kind != number || generation.kind != number || !l.accept("obj") {
		return h, false
	}
	h = indirect{id: id.int(), generation: generation.int(), value: l.object()}
	switch h.value.kind {
	case end, stray:
		h.value = object{}
	case keyword:
		if h.value.str != "true" && h.value.str != "false" {
			h.value = object{}
		}
	case dict:
		if l.accept("stream") {
			l.skipByte('\r')
			l.skipByte('\n')
			h.isStream, h.start = true, l.pos
		}
	}
	return h, true
}

// streamBytes returns the bytes of a stream that begins at start. Its Length
// counts only if the stream ends there.
func (f *file) streamBytes(o object, start int) []byte {
	if n := f.get(o, "Length"); n.kind == number && n.num >= 0 && n.num <= float64(len(f.data)-start) {
		last := start + n.int()
		l := lexer{data: f.data[:min(len(f.data), last+32)], pos: last}
		if l.accept("endstream") || l.accept("endobj") {
			return f.data[start:last]
		}
	}
	last := f.streamEnd(start)
	raw := bytes.TrimSuffix(f.data[start:last], []byte("\n"))
	return bytes.TrimSuffix(raw, []byte("\r"))
}

// streamEnd finds the next endstream, or else the end of the file. The
// keywords are indexed once, so that many broken streams cost no more than one.
func (f *file) streamEnd(start int) int {
	if f.streamEnds == nil {
		f.streamEnds = []int{}
		f.streamEnds = slices.AppendSeq(f.streamEnds, indexAll(f.data, "endstream"))
	}
	i, _ := slices.BinarySearch(f.streamEnds, start)
	if i < len(f.streamEnds) {
		return f.streamEnds[i]
	}
	return len(f.data)
}

// indexAll yields the offsets of word in data.
func indexAll(data []byte, word string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for pos := 0; ; pos += len(word) {
			i := bytes.Index(data[pos:], []byte(word))
			if i < 0 || !yield(pos+i) {
				return
			}
			pos += i
		}
	}
}

func (f *file) decryptStrings(o object, h indirect) object {
	if o.kind == text {
		o.str = string(f.decrypt.decrypt([]byte(o.str), h.id, h.generation, f.decrypt.strings))
	}
	for i := range o.items {
		o.items[i] = f.decryptStrings(o.items[i], h)
	}
	return o
}

// isEncrypted reports whether the file key applies to a stream.
func (f *file) isEncrypted(o object) bool {
	filters := f.filters(o)
	switch {
	case o.get("Type").isName("XRef"):
		return false
	case o.get("Type").isName("Metadata") && f.decrypt.plainMetadata:
		return false
	}
	return len(filters) == 0 || filters[0].name != "Crypt"
}

// filters lists the filters of a stream, in the order in which to apply them.
func (f *file) filters(o object) []filter {
	names, parms := f.get(o, "Filter"), f.get(o, "DecodeParms")
	if parms.kind == null {
		parms = f.get(o, "DP")
	}
	if names.kind == name {
		names = arrayOf(names)
	}
	if names.kind != array {
		return nil
	}
	var out []filter
	for i, n := range names.items[:min(len(names.items), maxFilters)] {
		p := parms
		if parms.kind == array {
			p = object{}
			if i < len(parms.items) {
				p = f.deref(parms.items[i])
			}
		}
		out = append(out, filter{f.deref(n).str, f.shallow(p)})
	}
	return out
}

// shallow is a dictionary with the references among its values followed.
func (f *file) shallow(o object) object {
	out := o
	out.items = slices.Clone(o.items)
	for i := range out.items {
		out.items[i] = f.deref(out.items[i])
	}
	return out
}

// decode applies a stream's filters. It is not ok for image filters.
func (f *file) decode(l loaded) (data []byte, ok bool) {
	data = l.raw
	for _, fl := range f.filters(l.value) {
		if !f.meter.alive() {
			return nil, false
		}
		var err error
		data, ok, err = fl.apply(data, f.meter.room())
		if err != nil {
			f.meter.exceed("decoded stream")
		}
		if !ok {
			return nil, false
		}
	}
	f.meter.unpack(len(data))
	return data, true
}

// openFile finds the cross-reference table of data, or rebuilds it.
func openFile(ctx context.Context, data []byte, limits Limits) (*file, error) {
	m := &meter{ctx: ctx, limits: limits, size: int64(len(data))}
	header := bytes.Index(data[:min(len(data), 8192)], []byte("%PDF-"))
	if header < 0 && !bytes.Contains(data, []byte(" obj")) {
		return nil, extract.ErrFormat
	}
	// Offsets count from the header, but some count from the start of the file.
	views := [][]byte{data[max(header, 0):]}
	if header > 0 {
		views = append(views, data)
	}
	for _, view := range views {
		f := newFile(view, m)
		if !f.readXrefs() {
			continue
		}
		if err := f.unlock(); err != nil {
			return nil, err
		}
		if f.hasPages() {
			return f, m.err
		}
	}
	f := newFile(views[0], m)
	f.scan()
	f.entries = f.scanned
	if err := f.unlock(); err != nil {
		return nil, err
	}
	return f, m.err
}

// unlock prepares decryption where the trailer asks for it.
func (f *file) unlock() error {
	e := f.get(f.trailer, "Encrypt")
	if e.kind != dict || f.decrypt != nil {
		return nil
	}
	id := ""
	if ids := f.get(f.trailer, "ID"); len(ids.items) > 0 {
		id = f.deref(ids.items[0]).str
	}
	d, err := newDecrypter(f.whole(e, 3), id)
	if err != nil {
		return err
	}
	f.decrypt = d
	clear(f.streams) // these were read without the key
	clear(f.cache)
	f.cached = 0
	return nil
}

// whole is an object with the references in it followed, some levels down.
func (f *file) whole(o object, depth int) object {
	o = f.deref(o)
	if depth == 0 || len(o.items) > 64 {
		return o
	}
	out := o
	out.items = slices.Clone(o.items)
	for i, x := range o.items {
		out.items[i] = f.whole(x, depth-1)
	}
	return out
}

// hasPages reports whether the trailer leads to a page tree.
func (f *file) hasPages() bool {
	pages := f.get(f.get(f.trailer, "Root"), "Pages")
	return pages.kind == dict && (pages.get("Kids").kind != null || pages.get("Contents").kind != null)
}
