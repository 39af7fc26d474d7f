package pdf

import "math"

// Reading the document: its objects as pages need them.

// node is a value of the file that references were followed to. The zero node is
// null, and so is everything that it should have and has not.
type node struct {
	file   *file
	value  object // of a stream, its dictionary
	number int    // of the object, 0 for one within another
	stream bool
	raw    []byte // the stream's bytes, decrypted but not decoded
}

// node follows references. Images are null: no text is in them.
func (f *file) node(o object) node {
	id := 0
	for range maxRefChain {
		if o.kind != ref {
			return node{file: f, value: o, number: id}
		}
		id = o.int()
		l, _ := f.load(id)
		if l.isStream {
			if l.value.get("Subtype").isName("Image") {
				break
			}
			return node{file: f, value: l.value, number: id, stream: true, raw: l.raw}
		}
		o = l.value
	}
	return node{}
}

func (n node) key(k string) node { return n.file.node(n.value.get(k)) }

func (n node) index(i int) node {
	if n.value.kind != array || i < 0 || i >= len(n.value.items) {
		return node{}
	}
	return n.file.node(n.value.items[i])
}

// length is the number of elements of an array.
func (n node) length() int {
	if n.value.kind != array {
		return 0
	}
	return len(n.value.items)
}

func (n node) name() string {
	if n.value.kind != name {
		return ""
	}
	return n.value.str
}

// bytes is a string as it is written.
func (n node) bytes() string {
	if n.value.kind != text {
		return ""
	}
	return n.value.str
}

func (n node) isDict() bool   { return n.value.kind == dict && !n.stream }
func (n node) isStream() bool { return n.stream }
func (n node) isArray() bool  { return n.value.kind == array }
func (n node) isString() bool { return n.value.kind == text }

// number returns the value of a finite number.
func (n node) float() (float64, bool) {
	if n.value.kind != number {
		return 0, false
	}
	return n.value.num, !math.IsNaN(n.value.num) && !math.IsInf(n.value.num, 0)
}

// int returns a number as an int within 32 bits, 0 for anything else.
func (n node) int() int {
	f, _ := n.float()
	if math.Abs(f) > math.MaxInt32 {
		return 0
	}
	return int(f)
}

// numbers returns the elements of an array of the given length, or false.
func (n node) numbers(count int) ([]float64, bool) {
	if n.length() < count {
		return nil, false
	}
	out := make([]float64, count)
	for i := range out {
		v, ok := n.index(i).float()
		if !ok {
			return nil, false
		}
		out[i] = v
	}
	return out, true
}

// identity is the number of a dictionary or stream that is an object of its
// own, and 0 otherwise.
func (n node) identity() int {
	if n.value.kind != dict {
		return 0
	}
	return n.number
}

// document is what the pages of a file share while they are read.
type document struct {
	file      *file
	meter     *meter
	fonts     map[int]*font  // by identity
	forms     map[int][]byte // decoded form XObjects, by identity
	formBytes int
	hidden    map[int]bool // optional content groups that are off, by identity
	options   int          // of choice fields that were looked at
	glyphs    int
	unmapped  int
}

func newDocument(f *file) *document {
	d := &document{file: f, meter: f.meter, fonts: map[int]*font{}, forms: map[int][]byte{}, hidden: map[int]bool{}}
	for _, group := range f.hiddenGroups() {
		if id := f.node(group).identity(); id != 0 {
			d.hidden[id] = true
		}
	}
	return d
}

// data decodes a stream, up to where it is damaged.
func (d *document) data(n node) []byte {
	if !n.stream {
		return nil
	}
	data, _ := d.file.decode(loaded{value: n.value, isStream: true, raw: n.raw})
	return data
}

// extract reads the pages.
func (d *document) extract(pages []page) Result {
	var res Result
	out := newLayout()
	for _, p := range pages {
		if !d.meter.alive() {
			break
		}
		d.readPage(p, out)
		out.endPage()
		res.Pages++
		if out.size() > d.meter.limits.Text {
			d.meter.exceed("text")
		}
	}
	res.Glyphs, res.Unmapped = d.glyphs, d.unmapped
	res.Text = out.text()
	return res
}
