package doc_test

import (
	"encoding/binary"
	"slices"
	"testing"
	"unicode/utf16"

	"github.com/seed-506d8e5d/svc/extract"
)

// drawn is a record of a drawing.
func drawn(version, kind uint16, parts ...[]byte) []byte {
	le := binary.LittleEndian
	body := slices.Concat(parts...)
	b := le.AppendUint32(le.AppendUint16(le.AppendUint16(nil, version), kind), uint32(len(body)))
	return append(b, body...)
}

// shape is one with a description, behind a longer property and a short one.
func shape(number uint32, description string) []byte {
	le := binary.LittleEndian
	var text []byte
	for _, c := range utf16.Encode([]rune(description + "\x00")) {
		text = le.AppendUint16(text, c)
	}
	const name = "x\x00\x00\x00"
	properties := le.AppendUint32(le.AppendUint16(nil, 0xC380), uint32(len(name)))
	properties = le.AppendUint32(le.AppendUint16(properties, 0x017F), 1)
	properties = le.AppendUint32(le.AppendUint16(properties, 0xC381), uint32(len(text)))
	return drawn(0xF, 0xF004, drawn(0x4B2, 0xF00A, le.AppendUint32(nil, number), make([]byte, 4)),
		drawn(3<<4|3, 0xF00B, properties, []byte(name), text))
}

// inLine is a picture in a line: a header, the name of a file, a shape, and bytes that
// are none.
func inLine(description string) []byte {
	le := binary.LittleEndian
	body := slices.Concat([]byte{3, 'a', '.', 'b'}, shape(1, description), []byte{0xFF, 0xFF, 0x04, 0xF0, 9})
	b := le.AppendUint16(le.AppendUint32(nil, uint32(68+len(body))), 68)
	b = le.AppendUint16(b, 0x66)
	return append(append(b, make([]byte, 60)...), body...)
}

func pictureAt(offset int) []byte {
	return binary.LittleEndian.AppendUint32([]byte{0x03, 0x6A}, uint32(offset))
}

func TestPicturesHaveTheirDescriptions(t *testing.T) {
	first := inLine("A cod\non ice.")
	anchors := words([]uint32{8, 9, 14})
	for _, number := range []uint32{7, 9} {
		anchors = append(append(anchors, words([]uint32{number})...), make([]byte, 22)...)
	}
	group := drawn(0xF, 0xF003, shape(7, "Two hands"), shape(8, "Nowhere"))
	d := word97{
		pieces: []testPiece{{"See \x01 or\x08 \x01.\r\x01\x01\r", false}},
		chars: []modified{
			{4, 5, pictureAt(0)},
			{10, 11, pictureAt(len(first))},               // which has no description
			{13, 14, append(pictureAt(0), 0x06, 0x08, 1)}, // data of another kind
			{14, 15, append(pictureAt(0), hidden...)},
		},
		data: append(first, inLine("")...),
		tables: map[int][]byte{
			40: anchors,
			50: slices.Concat(drawn(0xF, 0xF000, make([]byte, 20)), []byte{1}, drawn(0xF, 0xF002, shape(6, "Elsewhere")), []byte{0}, drawn(0xF, 0xF002, group)),
		},
	}
	want := extract.Document{Text: "See ![A cod on ice.]() or![Two hands]() .\n"}
	if got, err := textOf(t, d.bytes(t)); err != nil || got != want {
		t.Errorf("got %+v and %v, want %+v", got, err, want)
	}
}

// TestPicturesWithinPictures walks groups that hold each other up to a bound.
func TestPicturesWithinPictures(t *testing.T) {
	deep := shape(7, "Deep")
	for range 100 {
		deep = drawn(0xF, 0xF003, deep)
	}
	anchors := append(words([]uint32{0, 2, 7}), make([]byte, 22)...)
	d := word97{pieces: []testPiece{{"\x08a\r", false}}, tables: map[int][]byte{40: anchors, 50: slices.Concat(drawn(0xF, 0xF000), []byte{0}, deep)}}
	if got, err := textOf(t, d.bytes(t)); err != nil || got.Text != "a\n" {
		t.Errorf("got %+v and %v", got, err)
	}
}
