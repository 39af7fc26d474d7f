package doc

import (
	"strings"
	"unicode/utf16"

	"github.com/seed-506d8e5d/svc/extract/internal/markdown"
)

// Pictures stand for a character: those in a line lie in a stream of their own,
// where a property of the character says, those beside the text in the drawings of
// the tables, under the number of their shape. What their authors have said of them
// is a property of the shape ([MS-ODRAW], 2.3.4.6).
//
// [MS-ODRAW]: https://learn.microsoft.com/openspecs/office_file_formats/ms-odraw

const (
	maxRecords     = 1 << 20 // of drawings that are looked at
	maxNesting     = 16      // of groups of shapes
	maxDescription = 4096    // characters
)

// Records of drawings, by their types, and the property of a shape.
const (
	recordShape      = 0xF004
	recordNumber     = 0xF00A
	recordProperties = 0xF00B
	shapeDescription = 0x0381
)

// drawings reads records as long as there may be more.
type drawings struct{ left int }

// describePictures finds the descriptions of the pictures that show.
func (d *document) describePictures(f *file) error {
	d.descriptions = map[int]string{}
	r := drawings{left: maxRecords}
	if len(d.pictures) > 0 {
		data, err := f.stream("data")
		if err != nil {
			return err
		}
		known := map[int]string{}
		for at, offset := range d.pictures {
			if _, ok := known[offset]; !ok {
				known[offset] = markdown.Picture(r.inLine(data, offset))
			}
			d.descriptions[at] = known[offset]
		}
	}
	shapes := r.shapes(d.fib.table(drawingGroup))
	if len(shapes) == 0 {
		return nil
	}
	parts := d.parts()
	for _, places := range []struct {
		table
		part
	}{{mainShapes, parts[mainDoc]}, {headerShapes, parts[headerDoc]}} {
		const entry = 26
		anchors := plc{d.fib.table(places.table), entry}
		for i := range min(anchors.len(), maxNotes) {
			if pos := anchors.position(i); pos >= 0 && pos < len(places.chars) && places.chars[pos] == shapeMark {
				d.descriptions[places.at+pos] = markdown.Picture(shapes[i32(anchors.at(i), 0)])
			}
		}
	}
	return nil
}

// inLine returns the description of the picture at an offset of the stream: a header
// says how long it and all of it are, and whether the name of a file comes first.
func (r *drawings) inLine(data []byte, offset int) string {
	const shape, shapeWithName = 0x64, 0x66
	header := u16(data, offset+4)
	b := slice(data, offset+header, i32(data, offset)-header)
	switch u16(data, offset+6) {
	case shape:
	case shapeWithName:
		if len(b) == 0 {
			return ""
		}
		b = slice(b, 1+int(b[0]), len(b))
	default:
		return ""
	}
	found := ""
	r.walk(b, 0, func(_ int, description string) bool {
		found = description
		return false // what follows is the picture itself
	})
	return found
}

// shapes returns the descriptions of shapes by their numbers. The drawings, each
// behind a byte, follow what they share.
func (r *drawings) shapes(b []byte) map[int]string {
	found := map[int]string{}
	_, _, shared := record(b)
	for b = b[min(len(b), recordHeader+len(shared)):]; len(b) > 1 && r.left > 0; {
		_, _, drawing := record(b[1:])
		r.walk(drawing, 0, func(number int, description string) bool {
			if description != "" {
				found[number] = description
			}
			return true
		})
		b = b[min(len(b), 1+recordHeader+len(drawing)):]
		r.left--
	}
	return found
}

const recordHeader = 8

// record reads the header of a record, and returns its version with its instance,
// its type, and what it holds.
func record(b []byte) (version, kind int, body []byte) {
	return u16(b, 0), u16(b, 2), slice(b, recordHeader, i32(b, 4))
}

// walk calls found with the number and the description of each shape, until that
// returns false, which walk then does as well.
func (r *drawings) walk(b []byte, depth int, found func(number int, description string) bool) bool {
	const container = 0xF
	for ; len(b) >= recordHeader && r.left > 0; r.left-- {
		version, kind, body := record(b)
		switch {
		case kind == recordShape:
			if !found(r.shape(body)) {
				return false
			}
		case version&container == container && depth < maxNesting:
			if !r.walk(body, depth+1, found) {
				return false
			}
		}
		b = b[min(len(b), recordHeader+len(body)):]
	}
	return true
}

func (r *drawings) shape(b []byte) (number int, description string) {
	for ; len(b) >= recordHeader && r.left > 0; r.left-- {
		version, kind, body := record(b)
		switch kind {
		case recordNumber:
			number = i32(body, 0)
		case recordProperties:
			description = describe(body, version>>4)
		}
		b = b[min(len(b), recordHeader+len(body)):]
	}
	return number, description
}

// describe returns the description among so many properties. Those whose values are
// too long for their place have them behind all, in their order.
func describe(b []byte, properties int) string {
	const entry, complex, codeBits = 6, 0x8000, 0x3FFF
	long := entry * properties
	for i := range min(properties, len(b)/entry) {
		code, size := u16(b, entry*i), i32(b, entry*i+2)
		if code&complex == 0 {
			continue
		}
		if size < 0 {
			return ""
		}
		if code&codeBits == shapeDescription {
			text := slice(b, long, min(size, 2*maxDescription))
			s, _, _ := strings.Cut(string(utf16.Decode(piece{}.decode(text, nil))), "\x00")
			return s
		}
		long += size
	}
	return ""
}
