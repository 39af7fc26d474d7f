package doc

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// Word 6 and 95 of the Far East wrote two bytes for each character as the later
// ones do, but those of a code page and not of Unicode.

// isFarEast knows the first bytes of these files, and their languages.
func (b *fib) isFarEast() bool {
	switch u16(b.main, 0) {
	case 0xA697, 0xA698, 0xA699:
		return true
	}
	_, single := encodingOf(u16(b.main, 6)).(*charmap.Charmap)
	return !single
}

// pairPage returns the code page of wide characters, nil where they are Unicode.
// The language names it; one from elsewhere leaves the page that knows the most
// of the pairs.
func (b *fib) pairPage(ps []piece) encoding.Encoding {
	if b.version >= word97 || b.flags&flagWide == 0 || !b.isFarEast() {
		return nil
	}
	page := encodingOf(u16(b.main, 6))
	if _, single := page.(*charmap.Charmap); !single {
		return page
	}
	best := -1
	for _, candidate := range []encoding.Encoding{japanese.ShiftJIS, korean.EUCKR, traditionalchinese.Big5, simplifiedchinese.GBK} {
		if unknown := unknownPairs(b.main, ps, candidate); best < 0 || unknown < best {
			page, best = candidate, unknown
		}
	}
	return page
}

// unknownPairs counts the pairs in the beginnings of the pieces that a page does
// not have.
func unknownPairs(main []byte, ps []piece, page encoding.Encoding) int {
	const sample = 4096
	unknown := 0
	for _, p := range ps[:min(len(ps), sample)] {
		b := p.bytes(main)
		for _, c := range decodePairs(b[:min(len(b), sample)], page) {
			if c == utf8.RuneError {
				unknown++
			}
		}
	}
	return unknown
}

// decodePairs reads units of 16 bits: from 0x100 on, the high byte is the lead
// byte and the low one the trail byte of a character of the page; below it, one
// byte is all of the character.
func decodePairs(b []byte, page encoding.Encoding) []uint16 {
	decoder := page.NewDecoder()
	chars := make([]uint16, 0, len(b)/2)
	for ; len(b) >= 2; b = b[2:] {
		unit := binary.LittleEndian.Uint16(b)
		if unit < 0x80 {
			chars = append(chars, unit)
			continue
		}
		code := []byte{byte(unit >> 8), byte(unit)}
		if unit < 0x100 {
			code = code[1:]
		}
		text, err := decoder.Bytes(code)
		r, size := utf8.DecodeRune(text)
		switch known := err == nil && r != utf8.RuneError && size == len(text); {
		case known && r < 0x10000:
			chars = append(chars, uint16(r))
		case known:
			high, low := utf16.EncodeRune(r)
			chars = append(chars, uint16(high), uint16(low))
		case unit < 0x100:
			chars = append(chars, decodeByte(charmap.Windows1252, byte(unit)))
		default:
			chars = append(chars, utf8.RuneError)
		}
	}
	return chars
}
