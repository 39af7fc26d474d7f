package pdftext

import (
	"bytes"
	"slices"
	"strconv"
)

// Repair: what Annex I of ISO 32000-1 leaves to readers when the file structure
// is damaged. The file is searched for "12 0 obj", for trailers and for object
// streams; what comes later in the file wins, as with incremental updates.

// scan fills f.scanned, once.
func (f *file) scan() {
	if f.scanned != nil {
		return
	}
	f.repaired = true
	f.scanned = map[int]entry{}
	s := scanner{file: f, catalog: -1}
	for at := range indexAll(f.data, "obj") {
		if !f.meter.alive() {
			return
		}
		s.visit(at)
	}
	f.scanTrailers()
	if f.unlock() != nil { // openFile reports it
		return
	}
	for _, id := range s.streams {
		s.unpack(id)
	}
	if s.catalog >= 0 && !f.hasPages() {
		f.trailer = f.trailer.with("Root", refTo(s.catalog))
	}
}

type scanner struct {
	file    *file
	streams []int // object streams, in the order of the file
	catalog int   // number of the last catalog, or -1
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
	e := entry{kind: entryPlain, offset: int64(pos), generation: generation}
	f.scanned[id] = e
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
		if h, ok := f.parseAt(e.offset); ok && h.isStream && h.value.get("Type").isName("XRef") {
			f.takeTrailer(h.value)
		}
	case bytes.Contains(head, []byte("/Catalog")):
		if h, ok := f.parseAt(e.offset); ok && h.value.get("Type").isName("Catalog") {
			s.catalog = id
		}
	}
}

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

// scanTrailers takes up every trailer dictionary of the file.
func (f *file) scanTrailers() {
	for at := range indexAll(f.data, "trailer") {
		if !f.meter.alive() {
			return
		}
		l := lexer{data: f.data, pos: at + len("trailer")}
		if o := l.next(); o.kind == dict {
			f.takeTrailer(o)
		}
		f.meter.parse(l.pos - at)
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
// comes later in the file.
func (s *scanner) unpack(id int) {
	f := s.file
	at := f.scanned[id]
	listed, was := f.entries[id]
	f.entries[id] = at
	stream := f.objectStream(id)
	if was {
		f.entries[id] = listed
	}
	if stream == nil {
		return
	}
	for _, member := range stream.ids {
		if e, ok := f.scanned[member]; ok && e.kind == entryPlain && e.offset > at.offset {
			continue
		}
		f.scanned[member] = entry{kind: entryPacked, stream: id}
		if s.catalog < 0 && bytes.Contains(stream.data, []byte("/Catalog")) {
			if o, _ := stream.object(member, f.meter); o.get("Type").isName("Catalog") {
				s.catalog = member
			}
		}
	}
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
