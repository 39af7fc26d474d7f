package doc_test

import (
	"bytes"
	"encoding/binary"
	"testing"
	"unicode/utf16"
)

// word97 is a document of Word 97 that a test makes: its text in pieces, the
// lengths of its documents, and modifiers of characters and paragraphs.
type word97 struct {
	pieces     []testPiece
	lengths    []int // of the documents; by default all is the main one
	chars      []modified
	paragraphs []modified
	flags      uint16
	lists      [][]byte       // of modifiers, which pieces refer to
	prms       map[int]uint16 // the modifiers of pieces
	styles     map[int]byte   // of paragraphs
	tables     map[int][]byte // by their index in the FIB
	after      []byte         // what follows the last table
	data       []byte         // the stream of pictures
}

type testPiece struct {
	text   string
	narrow bool
}

// modified is a stretch of the text, by its characters, with modifiers.
type modified struct {
	from, to  int
	modifiers []byte
}

const (
	fibSize    = 0x400
	pageSize   = 512
	tableName  = "1Table"
	tableFlag  = 0x0200
	charTable  = 12
	paraTable  = 13
	pieceTable = 33
)

// bytes returns the compound file.
func (d word97) bytes(t testing.TB) []byte {
	t.Helper()
	main, table := d.streams()
	streams := []stream{{name: "WordDocument", data: main}, {name: tableName, data: table}}
	if d.data != nil {
		streams = append(streams, stream{name: "Data", data: d.data})
	}
	return compound(t, streams...)
}

func (d word97) streams() (main, table []byte) {
	le := binary.LittleEndian
	main = make([]byte, fibSize)
	le.PutUint16(main, 0xA5EC)
	le.PutUint16(main[2:], 193)
	le.PutUint16(main[0x0A:], tableFlag|d.flags)
	var positions, entries []byte
	cp := 0
	offsets := []int{} // of each character
	positions = le.AppendUint32(positions, 0)
	for i, p := range d.pieces {
		at := uint32(len(main))
		chars := utf16.Encode([]rune(p.text))
		for _, c := range chars {
			offsets = append(offsets, len(main))
			if p.narrow {
				main = append(main, byte(c))
			} else {
				main = le.AppendUint16(main, c)
			}
		}
		if p.narrow {
			at = at*2 | 1<<30
		}
		cp += len(chars)
		positions = le.AppendUint32(positions, uint32(cp))
		entries = append(entries, 0, 0)
		entries = le.AppendUint32(entries, at)
		entries = le.AppendUint16(entries, d.prms[i])
	}
	offsets = append(offsets, len(main))
	le.PutUint32(main[0x18:], fibSize)
	le.PutUint32(main[0x1C:], uint32(len(main)))
	lengths := d.lengths
	if lengths == nil {
		lengths = []int{cp}
	}
	for i, n := range lengths {
		le.PutUint32(main[0x4C+4*i:], uint32(n))
	}
	plc := append(positions, entries...)
	var clx []byte
	for _, list := range d.lists {
		clx = append(le.AppendUint16(append(clx, 1), uint16(len(list))), list...)
	}
	clx = append(append(clx, 2), le.AppendUint32(nil, uint32(len(plc)))...)
	tables := map[int][]byte{pieceTable: append(clx, plc...)}
	for i, b := range d.tables {
		tables[i] = b
	}
	main, tables[charTable] = addPage(main, charPage(d.chars, offsets))
	main, tables[paraTable] = addPage(main, paragraphPage(d.paragraphs, d.styles, offsets))
	for i := range 93 { // the last of them may be followed by what it describes
		if b := tables[i]; b != nil {
			le.PutUint32(main[0x9A+8*i:], uint32(len(table)))
			le.PutUint32(main[0x9A+8*i+4:], uint32(len(b)))
			table = append(table, b...)
			if i == 73 {
				table = append(table, d.after...)
			}
		}
	}
	return main, table
}

// addPage puts a page of properties at the end of the stream and returns the
// table that names it.
func addPage(main, page []byte) (stream, table []byte) {
	main = append(main, make([]byte, (pageSize-len(main)%pageSize)%pageSize)...)
	table = words([]uint32{0, uint32(len(main)), uint32(len(main) / pageSize)})
	return append(main, page...), table
}

func charPage(runs []modified, offsets []int) []byte {
	page := make([]byte, pageSize)
	page[pageSize-1] = byte(2 * len(runs))
	at := pageSize - 2
	for i, r := range runs { // a run without properties follows each
		binary.LittleEndian.PutUint32(page[8*i:], uint32(offsets[r.from]))
		binary.LittleEndian.PutUint32(page[8*i+4:], uint32(offsets[r.to]))
		binary.LittleEndian.PutUint32(page[8*i+8:], uint32(offsets[r.to]))
		at = (at - len(r.modifiers) - 1) &^ 1
		page[at] = byte(len(r.modifiers))
		copy(page[at+1:], r.modifiers)
		page[4*(2*len(runs)+1)+2*i] = byte(at / 2)
	}
	return page
}

func paragraphPage(runs []modified, styles map[int]byte, offsets []int) []byte {
	page := make([]byte, pageSize)
	n := len(runs)
	page[pageSize-1] = byte(n)
	at := pageSize - 2
	for i, r := range runs {
		binary.LittleEndian.PutUint32(page[4*i:], uint32(offsets[r.from]))
		binary.LittleEndian.PutUint32(page[4*i+4:], uint32(offsets[r.to]))
		size := 2 + len(r.modifiers) // with the number of the style
		at = (at - size - 2) &^ 1
		page[at], page[at+1] = 0, byte((size+1)/2)
		page[at+2] = styles[i]
		copy(page[at+4:], r.modifiers)
		page[4*(n+1)+13*i] = byte(at / 2)
	}
	return page
}

// oldWord is a document before Word 97 that a test makes.
type oldWord struct {
	magic, version, language, flags uint16
	text                            []byte
}

// stream returns the main stream, which for Word 2 is the file.
func (d oldWord) stream() []byte {
	le := binary.LittleEndian
	main := make([]byte, 0x300)
	le.PutUint16(main, d.magic)
	le.PutUint16(main[2:], d.version)
	le.PutUint16(main[6:], d.language)
	le.PutUint16(main[0x0A:], d.flags)
	le.PutUint32(main[0x18:], uint32(len(main)))
	le.PutUint32(main[0x1C:], uint32(len(main)+len(d.text)))
	const wide = 0x1000
	chars := len(d.text)
	if d.flags&wide != 0 {
		chars /= 2
	}
	le.PutUint32(main[0x34:], uint32(chars))
	return append(main, d.text...)
}

// longText is text that no stream can be too short for.
func longText(s string) string { return string(bytes.Repeat([]byte(s), 200)) }
