package pdf

import (
	"bytes"
	"slices"
)

// Cross-reference tables (ISO 32000-2, 7.5.4) and streams (7.5.8), in the chain
// of a file with incremental updates.

// maxXrefs bounds the sections of the chain.
const maxXrefs = 4096

// trailerKeys are what the trailer of an older section may add.
var trailerKeys = []string{"Root", "Encrypt", "ID"}

// readXrefs reads the chain of sections from the last startxref on. It reports
// whether the newest section could be read.
func (f *file) readXrefs() bool {
	i := bytes.LastIndex(f.data, []byte("startxref"))
	if i < 0 {
		return false
	}
	l := lexer{data: f.data[:min(len(f.data), i+64)], pos: i + len("startxref")}
	start := l.next()
	if start.kind != number {
		return false
	}
	todo := []int64{int64(start.int())}
	seen := map[int64]bool{}
	for len(todo) > 0 && len(seen) < maxXrefs && f.meter.alive() {
		offset := todo[0]
		todo = todo[1:]
		if seen[offset] {
			continue
		}
		newest := len(seen) == 0
		seen[offset] = true
		trailer, ok := f.readSection(offset)
		if !ok {
			if newest {
				return false
			}
			f.repaired = true
			continue
		}
		for _, key := range trailerKeys {
			f.noteTrailer(key, trailer.get(key))
		}
		todo = append(todo, follow(trailer)...)
	}
	return true
}

// noteTrailer keeps a trailer entry that no newer section has.
func (f *file) noteTrailer(key string, value object) {
	if value.kind != null && f.trailer.get(key).kind == null {
		f.trailer = f.trailer.with(key, value)
	}
}

// follow lists the sections that a trailer points to, the newer first.
func follow(trailer object) (offsets []int64) {
	for _, key := range []string{"XRefStm", "Prev"} {
		if o := trailer.get(key); o.kind == number {
			offsets = append(offsets, int64(o.int()))
		}
	}
	return offsets
}

// readSection reads the table or stream at an offset and returns its trailer.
func (f *file) readSection(offset int64) (trailer object, ok bool) {
	if offset < 0 || offset >= int64(len(f.data)) {
		return object{}, false
	}
	l := lexer{data: f.data, pos: int(offset)}
	if l.accept("xref") {
		return f.readTable(&l)
	}
	h, ok := f.parseAt(offset)
	if !ok || !h.isStream || !h.value.get("Type").isName("XRef") {
		return object{}, false
	}
	return h.value, f.readXrefStream(h)
}

// readTable reads the subsections behind "xref" up to the trailer.
func (f *file) readTable(l *lexer) (trailer object, ok bool) {
	from := l.pos
	defer func() { f.meter.parse(l.pos - from) }()
	for !l.accept("trailer") {
		first, count := l.next(), l.next()
		if first.kind != number || count.kind != number || first.num < 0 {
			return object{}, false
		}
		if !f.readSubsection(l, first.int(), count.int()) {
			return object{}, false
		}
	}
	trailer = l.next()
	return trailer, trailer.kind == dict
}

// readSubsection reads at most count entries; some files have fewer.
func (f *file) readSubsection(l *lexer, first, count int) bool {
	for id := first; id < first+count; id++ {
		before := l.pos
		offset, generation, use := l.next(), l.next(), l.next()
		if offset.kind != number || generation.kind != number || use.str != "n" && use.str != "f" {
			l.pos = before
			return true
		}
		if id > maxObjectNumber {
			return false
		}
		e := entry{}
		if use.str == "n" {
			e = entry{kind: entryPlain, offset: int64(offset.int())}
		}
		f.enter(id, e)
	}
	return true
}

// enter records where an object is, unless a newer section already did.
func (f *file) enter(id int, e entry) {
	if _, newer := f.entries[id]; newer || id < 0 || id > maxObjectNumber {
		return
	}
	f.entries[id] = e
}

func (f *file) readXrefStream(h indirect) bool {
	data, ok := f.decode(loaded{value: h.value, raw: f.streamBytes(h.value, h.start)})
	if !ok {
		return false
	}
	var widths [3]int
	for i, w := range h.value.get("W").items[:min(3, len(h.value.get("W").items))] {
		widths[i] = between(w.int(), 0, 8, 0)
	}
	size := widths[0] + widths[1] + widths[2]
	if size == 0 {
		return false
	}
	index := h.value.get("Index").items
	if len(index) == 0 {
		index = []object{numberOf(0), h.value.get("Size")}
	}
	for pair := range slices.Chunk(index, 2) {
		if len(pair) < 2 {
			break
		}
		first, count := pair[0].int(), pair[1].int()
		for id := first; id < first+count && len(data) >= size; id++ {
			f.enter(id, packedEntry(data[:size], widths))
			data = data[size:]
		}
	}
	return true
}

// packedEntry decodes one entry of a cross-reference stream.
func packedEntry(data []byte, widths [3]int) entry {
	var field [3]int64
	field[0] = 1
	for i, w := range widths {
		if w > 0 {
			field[i] = 0
		}
		for _, b := range data[:w] {
			field[i] = field[i]<<8 | int64(b)
		}
		data = data[w:]
	}
	switch field[0] {
	case 1:
		return entry{kind: entryPlain, offset: field[1]}
	case 2:
		return entry{kind: entryPacked, stream: int(field[1])}
	}
	return entry{}
}
