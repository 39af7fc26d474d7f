package doc

import (
	"encoding/binary"
	"fmt"

	"github.com/seed-506d8e5d/svc/extract"
)

// Versions by the number in the FIB. Those between are of Word 6 and 95.
const (
	word6  = 101
	word97 = 106
)

// The documents that follow each other in the text.
const (
	mainDoc = iota
	footnoteDoc
	headerDoc
	macroDoc
	commentDoc
	endnoteDoc
	boxDoc
	headerBoxDoc
	numDocs
)

// table is the index of a pair of offset and length in the FIB of Word 97.
type table int

// The tables read here, by their place in FibRgFcLcb97.
const (
	styleSheet      table = 1
	footnoteRefs    table = 2
	commentRefs     table = 4
	sections        table = 6
	headerStories   table = 11
	charPages       table = 12
	paragraphPages  table = 13
	pieceTable      table = 33
	commentAuthors  table = 36
	mainShapes      table = 40
	headerShapes    table = 41
	endnoteRefs     table = 46
	drawingGroup    table = 50
	listDefinitions table = 73
	listOverrides   table = 74
)

// fib is the file information block with the streams it describes.
type fib struct {
	main    []byte // the stream of the text, which begins with the FIB
	tables  []byte // the stream of the tables: before Word 97 the same
	version int
	flags   int
	lengths [numDocs]int // characters of each document
}

// Bits of the flags.
const (
	flagComplex   = 0x0004 // saved fast: the piece table counts
	flagEncrypted = 0x0100
	flagTable1    = 0x0200 // tables are in 1Table, not 0Table
	flagWide      = 0x1000 // Word 6 and 95: two bytes for each character
)

// readFIB reads the streams and the FIB.
func readFIB(f *file) (*fib, error) {
	main := f.flat
	if main == nil {
		var err error
		if main, err = f.stream(mainStream); err != nil {
			return nil, err
		}
	}
	const smallest = 0x60
	if len(main) < smallest {
		return nil, fmt.Errorf("%w: the FIB is cut short", extract.ErrDamaged)
	}
	b := &fib{main: main, tables: main, version: u16(main, 2), flags: u16(main, 0x0A)}
	if b.flags&flagEncrypted != 0 {
		return nil, extract.ErrPassword
	}
	lengthsAt := 0x34
	if b.version >= word97 {
		lengthsAt = 0x4C
		if err := b.readTables(f); err != nil {
			return nil, err
		}
	}
	for i := range b.lengths {
		b.lengths[i] = max(0, i32(main, lengthsAt+4*i))
	}
	return b, nil
}

// readTables takes the stream that the FIB names, or the other one, since the
// flag is wrong in some files.
func (b *fib) readTables(f *file) error {
	names := []string{"0table", "1table"}
	if b.flags&flagTable1 != 0 {
		names[0], names[1] = names[1], names[0]
	}
	for _, name := range names {
		tables, err := f.stream(name)
		if err != nil {
			return err
		}
		if len(tables) > 0 {
			b.tables = tables
			return nil
		}
	}
	b.tables = nil
	f.damaged = true
	return nil
}

// pair returns the offset and length of a table of Word 97.
func (b *fib) pair(t table) (offset, length int) {
	const pairs = 0x9A
	return i32(b.main, pairs+8*int(t)), i32(b.main, pairs+8*int(t)+4)
}

// table returns the bytes of a table of Word 97, nil if there are none.
func (b *fib) table(t table) []byte {
	if b.version < word97 {
		return nil
	}
	offset, length := b.pair(t)
	return slice(b.tables, offset, length)
}

// slice returns at most length bytes from offset, nil if either makes no sense.
func slice(b []byte, offset, length int) []byte {
	if offset < 0 || length <= 0 || offset >= len(b) {
		return nil
	}
	return b[offset:min(len(b), offset+length)]
}

// u16 reads an unsigned number; beyond the end everything is 0.
func u16(b []byte, at int) int {
	if at < 0 || at+2 > len(b) {
		return 0
	}
	return int(binary.LittleEndian.Uint16(b[at:]))
}

// i32 reads a signed number; beyond the end everything is 0.
func i32(b []byte, at int) int {
	if at < 0 || at+4 > len(b) {
		return 0
	}
	return int(int32(binary.LittleEndian.Uint32(b[at:])))
}

// plc is a table of n+1 positions and n entries of the same size.
type plc struct {
	data  []byte
	entry int
}

func (p plc) len() int {
	if len(p.data) < 4 {
		return 0
	}
	return (len(p.data) - 4) / (4 + p.entry)
}

func (p plc) position(i int) int { return i32(p.data, 4*i) }

func (p plc) at(i int) []byte {
	from := 4*(p.len()+1) + i*p.entry
	return p.data[from : from+p.entry]
}
