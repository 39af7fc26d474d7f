package pdf

// Object streams (ISO 32000-2, 7.5.7).

// objectStream is a decoded object stream.
type objectStream struct {
	data    []byte
	offsets map[int]int // by object number
	ids     []int       // in the order of the stream
}

// objectStream returns the object stream with the given number, nil if it
// cannot be read.
func (f *file) objectStream(id int) *objectStream {
	if s, ok := f.streams[id]; ok {
		return s
	}
	f.streams[id] = nil // also while it is being read: its Length may lie in itself
	l, ok := f.load(id)
	if !ok || !l.isStream {
		return nil
	}
	data, ok := f.decode(l)
	if !ok {
		return nil
	}
	first := f.get(l.value, "First").int()
	count := f.get(l.value, "N").int()
	s := &objectStream{data: data, offsets: map[int]int{}}
	head := lexer{data: data[:between(first, 0, len(data), len(data))]}
	for range count {
		id, offset := head.next(), head.next()
		if id.kind != number || offset.kind != number {
			break
		}
		at := first + offset.int()
		if at < 0 || at > len(data) || id.num < 0 || id.num > maxObjectNumber {
			continue
		}
		if _, twice := s.offsets[id.int()]; !twice {
			s.ids = append(s.ids, id.int())
		}
		s.offsets[id.int()] = at
	}
	f.meter.parse(head.pos)
	f.streams[id] = s
	return s
}

// object returns the object with the given number.
func (s *objectStream) object(id int, f *file) (object, bool) {
	offset, ok := s.offsets[id]
	if !ok {
		return object{}, false
	}
	l := lexer{data: s.data, pos: offset, open: f.open}
	o := l.object()
	f.open = l.open
	f.meter.parse(l.pos - offset)
	if o.kind == end || o.kind == stray {
		o = object{}
	}
	return o, true
}
