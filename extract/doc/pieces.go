package doc

import (
	"encoding/binary"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// piece is a run of characters that lie together in the main stream.
type piece struct {
	chars  int
	offset int
	narrow bool // a byte for each character, not two
	props  charProps
	page   encoding.Encoding // of wide characters that are not Unicode, or nil
}

func (p piece) width() int {
	if p.narrow {
		return 1
	}
	return 2
}

// parsePieces reads the piece table, which follows the lists of modifiers that
// its entries refer to. It returns nil if there is none.
func parsePieces(b []byte) []piece {
	const (
		properties = 1
		text       = 2
		narrowBit  = 1 << 30
	)
	var modifiers [][]byte
	for len(b) > 3 && b[0] == properties {
		modifiers = append(modifiers, slice(b, 3, u16(b, 1)))
		b = b[min(len(b), 3+u16(b, 1)):]
	}
	if len(b) < 5 || b[0] != text {
		return nil
	}
	table := plc{slice(b, 5, i32(b, 1)), 8}
	var ps []piece
	for i := range table.len() {
		p := piece{chars: table.position(i+1) - table.position(i)}
		offset := uint32(i32(table.at(i), 2))
		p.offset = int(offset &^ narrowBit)
		if offset&narrowBit != 0 {
			p.offset, p.narrow = p.offset/2, true
		}
		p.props = pieceProps(u16(table.at(i), 6), modifiers)
		if p.chars > 0 {
			ps = append(ps, p)
		}
	}
	return ps
}

// pieceProps reads the property modifier of a piece (MS-DOC, 2.9.214): a list by
// its number, or one modifier by a short code of its own.
func pieceProps(prm int, lists [][]byte) (props charProps) {
	const isList, shortDeleted, shortHidden = 1, 0x41, 0x5C
	if prm&isList != 0 {
		if n := prm >> 1; n < len(lists) {
			props = parseCharProps(lists[n])
		}
		return props
	}
	switch operand := parseToggle(byte(prm >> 8)); prm >> 1 & 0x7F {
	case shortDeleted:
		props.deleted = operand
	case shortHidden:
		props.hidden = operand
	}
	return props
}

// pieces returns the pieces of the document, or a single one if the text lies
// in order.
func (b *fib) pieces() []piece {
	if b.version >= word97 {
		if ps := parsePieces(b.table(pieceTable)); ps != nil {
			return ps
		}
		const sample = 4096
		from, to := i32(b.main, 0x18), i32(b.main, 0x1C)
		return b.onePiece(!looksWide(slice(b.main, from, min(to-from, sample))))
	}
	narrow := b.flags&flagWide == 0 || b.version < word6
	if b.flags&flagComplex != 0 && b.version >= word6 {
		ps := parsePieces(slice(b.main, i32(b.main, 0x160), i32(b.main, 0x164)))
		for i := range ps {
			ps[i].narrow = narrow
		}
		if ps != nil {
			return ps
		}
	}
	return b.onePiece(narrow)
}

// onePiece is all between the first and the last character.
func (b *fib) onePiece(narrow bool) []piece {
	p := piece{offset: i32(b.main, 0x18), narrow: narrow}
	end := min(i32(b.main, 0x1C), len(b.main))
	p.chars = (end - p.offset) / p.width()
	if p.offset <= 0 || p.chars <= 0 {
		return nil
	}
	return []piece{p}
}

// looksWide guesses from the zero bytes that Latin text has in UTF-16.
func looksWide(b []byte) bool {
	zeros := 0
	for _, c := range b {
		if c == 0 {
			zeros++
		}
	}
	return zeros > len(b)/4
}

// bytes returns the bytes of the piece that the stream has.
func (p piece) bytes(main []byte) []byte {
	return slice(main, p.offset, p.chars*p.width())
}

// decode returns the characters of b. In a character set of more than one byte
// they are fewer than the bytes.
func (p piece) decode(b []byte, enc encoding.Encoding) []uint16 {
	if !p.narrow && p.page != nil {
		return decodePairs(b, p.page)
	}
	if !p.narrow {
		chars := make([]uint16, len(b)/2)
		for i := range chars {
			chars[i] = binary.LittleEndian.Uint16(b[2*i:])
		}
		return chars
	}
	if page, ok := enc.(*charmap.Charmap); ok {
		chars := make([]uint16, len(b))
		for i, c := range b {
			chars[i] = decodeByte(page, c)
		}
		return chars
	}
	text, err := enc.NewDecoder().Bytes(b)
	if err != nil {
		text = b
	}
	return utf16.Encode([]rune(string(text)))
}

// decodeByte keeps the control characters, which are Word's own, and the bytes
// that stand for nothing.
func decodeByte(page *charmap.Charmap, c byte) uint16 {
	if c < 0x80 {
		return uint16(c)
	}
	if r := page.DecodeByte(c); r != 0xFFFD {
		return uint16(r)
	}
	return uint16(c)
}
