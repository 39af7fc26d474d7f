package pdftext

import (
	"fmt"
	"io"
	"math"

	"github.com/ledongthuc/pdf"
)

// Reading the plain document through github.com/ledongthuc/pdf.

// node is a value of the plain document. The library follows references as it
// goes and panics on what it does not expect; a node is null then.
type node struct{ value pdf.Value }

func (n node) key(k string) (out node) {
	defer func() {
		if recover() != nil {
			out = node{}
		}
	}()
	return node{n.value.Key(k)}
}

func (n node) index(i int) (out node) {
	defer func() {
		if recover() != nil {
			out = node{}
		}
	}()
	return node{n.value.Index(i)}
}

func (n node) length() int    { return n.value.Len() }
func (n node) name() string   { return n.value.Name() }
func (n node) bytes() string  { return n.value.RawString() }
func (n node) isDict() bool   { return n.value.Kind() == pdf.Dict }
func (n node) isStream() bool { return n.value.Kind() == pdf.Stream }
func (n node) isArray() bool  { return n.value.Kind() == pdf.Array }
func (n node) isString() bool { return n.value.Kind() == pdf.String }

// number returns the value of a finite number.
func (n node) number() (float64, bool) {
	switch n.value.Kind() {
	case pdf.Integer, pdf.Real:
		f := n.value.Float64()
		return f, !math.IsNaN(f) && !math.IsInf(f, 0)
	}
	return 0, false
}

// int returns a number as an int within 32 bits, 0 for anything else.
func (n node) int() int {
	f, _ := n.number()
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
		v, ok := n.index(i).number()
		if !ok {
			return nil, false
		}
		out[i] = v
	}
	return out, true
}

// identity is the number of a dictionary or stream that has one of its own,
// and 0 otherwise.
func (n node) identity() int { return n.key(objectKey).int() }

// document is the plain document being read.
type document struct {
	reader    *pdf.Reader
	meter     *meter
	fonts     map[int]*font  // by identity
	forms     map[int][]byte // decoded form XObjects, by identity
	formBytes int
	hidden    map[int]bool // optional content groups that are off, by identity
	glyphs    int
	unmapped  int
}

func readPlain(r io.ReaderAt, size int64, m *meter) (*document, error) {
	reader, err := pdf.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	d := &document{reader: reader, meter: m, fonts: map[int]*font{}, forms: map[int][]byte{}, hidden: map[int]bool{}}
	groups := d.root().key(hiddenKey)
	for i := range groups.length() {
		if id := groups.index(i).identity(); id != 0 {
			d.hidden[id] = true
		}
	}
	return d, nil
}

func (d *document) root() node { return node{d.reader.Trailer()}.key("Root") }

// data decodes a stream, up to where it is damaged.
func (d *document) data(n node) (out []byte) {
	if !n.isStream() || !d.meter.alive() {
		return nil
	}
	defer func() {
		if recover() != nil {
			out = nil // a filter the library does not know, which the writer leaves none of
		}
	}()
	r := n.value.Reader()
	defer r.Close()
	room := d.meter.room()
	out, _ = io.ReadAll(io.LimitReader(r, room+1)) // damage ends the data
	if int64(len(out)) > room {
		d.meter.exceed("decoded stream")
		return nil
	}
	d.meter.unpack(len(out))
	return out
}

// extract reads every page.
func (d *document) extract() Result {
	var res Result
	out := newLayout()
	kids := d.root().key("Pages").key("Kids")
	for i := range kids.length() {
		if !d.meter.alive() {
			break
		}
		d.readPage(kids.index(i), out)
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
