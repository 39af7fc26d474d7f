package pdf

import (
	"bytes"
	"slices"
	"strconv"
)

// Repair: what Annex I of ISO 32000-1 leaves to readers when the file structure
// is damaged. The file is searched for "12 0 obj", for trailers and for object
// streams; what comes later in the file wins, as with incremental updates.

// Bounds on what a scan looks at closely: how many trailers and catalogs, and
// how many bytes of each.
const (
	maxCandidates  = 1000
	candidateBytes = 16 << 10
)

// scan fills f.scanned, once.
func (f *file) scan() {
	if f.scanned != nil {
		return
	}
	f.repaired = true
	f.scanned = map[int]entry{}
	s := scanner{file: f}
	for at := range indexAll(f.data, "obj") {
		if !f.meter.alive() {
			return
		}
		s.visit(at)
	}
	f.scanTrailers(s.xrefs)
	if f.unlock() != nil { // openFile reports it
		return
	}
	catalog, ok := s.lastCatalog()
	for _, id := range s.streams {
		if packed, found := s.unpack(id, !ok); found {
			catalog, ok = packed, true
		}
	}
	if ok && !f.hasPages() {
		f.trailer = f.trailer.with("Root", refTo(catalog))
	}
}

// scanner notes what stands where; all lists are in the order of the file.
type scanner struct {
	file     *file
	streams  []int // numbers of object streams
	xrefs    []int // offsets of cross-reference streams
	catalogs []int // offsets of what may be catalogs
}

// visit notes the object whose "obj" keyword stands at an offset.
func (s *scanner) visit(at int) {
	f := s.file
	generation, pos, ok := numberBefore(f.data, at)
	if !ok {
		return
	}
	id, pos, ok := numberBefore(f.data, pos)
	if !ok || id > maxObjectNumber || generation > 65535 {
		return
	}
	f.scanned[id] = entry{kind: entryPlain, offset: int64(pos)}
	if len(f.scanned) > f.meter.limits.Objects {
		f.meter.exceed("objects")
	}
	head := f.data[at:min(len(f.data), at+512)]
	if i := bytes.Index(head, []byte("endobj")); i >= 0 {
		head = head[:i]
	}
	switch {
	case bytes.Contains(head, []byte("/ObjStm")):
		s.streams = append(s.streams, id)
	case bytes.Contains(head, []byte("/XRef")):
		s.xrefs = append(s.xrefs, pos)
	case bytes.Contains(head, []byte("/Catalog")):
		s.catalogs = append(s.catalogs, pos)
	}
}

// candidate reads the beginning of an object of a certain Type.
func (f *file) candidate(offset int, kind string) (h indirect, ok bool) {
	h, ok = f.parse(f.data[:min(len(f.data), offset+candidateBytes)], offset)
	return h, ok && h.value.get("Type").isName(kind)
}

// lastCatalog returns the number of the last catalog that is not packed.
func (s *scanner) lastCatalog() (id int, ok bool) {
	for _, offset := range slices.Backward(lastOf(s.catalogs)) {
		if h, ok := s.file.candidate(offset, "Catalog"); ok {
			return h.id, true
		}
	}
	return 0, false
}

// lastOf is the end of a list of candidates.
func lastOf(offsets []int) []int { return offsets[max(0, len(offsets)-maxCandidates):] }

// numberBefore reads the digits that end, white space aside, before pos, and
// returns where they begin.
func numberBefore(data []byte, pos int) (n, start int, ok bool) {
	for pos > 0 && isSpace(data[pos-1]) {
		pos--
	}
	start = pos
	for start > 0 && data[start-1] >= '0' && data[start-1] <= '9' && pos-start < 10 {
		start--
	}
	n, err := strconv.Atoi(string(data[start:pos]))
	return n, start, err == nil
}

// scanTrailers takes up the trailer dictionaries of the file, those of
// cross-reference streams first.
func (f *file) scanTrailers(xrefs []int) {
	for _, offset := range lastOf(xrefs) {
		if h, ok := f.candidate(offset, "XRef"); ok {
			f.takeTrailer(h.value)
		}
	}
	trailers := slices.Collect(indexAll(f.data, "trailer"))
	for _, offset := range lastOf(trailers) {
		l := lexer{data: f.data[:min(len(f.data), offset+candidateBytes)], pos: offset + len("trailer")}
		f.takeTrailer(l.next())
	}
}

// takeTrailer overwrites what earlier trailers said.
func (f *file) takeTrailer(o object) {
	for _, key := range trailerKeys {
		if v := o.get(key); v.kind != null {
			f.trailer = f.trailer.with(key, v)
		}
	}
}

// unpack notes the objects of an object stream, unless one with the same number
// comes later in the file, and returns the catalog among them if it is wanted.
func (s *scanner) unpack(id int, wanted bool) (catalog int, found bool) {
	f := s.file
	at := f.scanned[id]
	listed, was := f.entries[id]
	f.entries[id] = at
	stream := f.objectStream(id)
	if was {
		f.entries[id] = listed
	}
	if stream == nil {
		return 0, false
	}
	wanted = wanted && bytes.Contains(stream.data, []byte("/Catalog"))
	for _, member := range stream.ids {
		if e, ok := f.scanned[member]; ok && e.kind == entryPlain && e.offset > at.offset {
			continue
		}
		f.scanned[member] = entry{kind: entryPacked, stream: id}
		if wanted {
			if o, _ := stream.object(member, f); o.get("Type").isName("Catalog") {
				catalog, found = member, true
			}
		}
	}
	return catalog, found
}

// orphans lists every page object of a file whose page tree is lost, in the
// order of the file.
func (f *file) orphans() (pages []object) {
	f.scan()
	ids := make([]int, 0, len(f.scanned))
	for id := range f.scanned {
		ids = append(ids, id)
	}
	position := func(id int) int64 {
		e := f.scanned[id]
		if e.kind == entryPacked {
			return f.scanned[e.stream].offset
		}
		return e.offset
	}
	slices.SortFunc(ids, func(a, b int) int {
		if pa, pb := position(a), position(b); pa != pb {
			return int(pa - pb)
		}
		return a - b
	})
	for _, id := range ids {
		if !f.meter.alive() {
			return nil
		}
		if l, ok := f.loadEntry(id, f.scanned[id]); ok && l.value.get("Type").isName("Page") {
			pages = append(pages, refTo(id))
		}
	}
	return pages
}
