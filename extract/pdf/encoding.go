package pdf

import (
	"strings"
	"sync"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"
)

// Character encodings of simple fonts (ISO 32000-2, Annex D), and text strings
// (7.9.2).

// encoding gives the character of each code, 0 where there is none.
type encoding [256]rune

// encodings are the predefined ones, by name, with the built-in ones of the two
// standard fonts that have symbols.
var encodings = sync.OnceValue(func() map[string]*encoding {
	standard, win, mac, doc, symbol, dingbats := ascii(), ascii(), ascii(), ascii(), encoding{}, encoding{}
	standard[0x27], standard[0x60] = '’', '‘'
	standard.set(0xA1, "¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ\x00–†‡·\x00¶•‚„”»…‰\x00¿\x00`´ˆ˜¯˘˙¨\x00˚¸\x00˝˛ˇ—")
	standard.set(0xE1, "Æ\x00ª")
	standard.set(0xE8, "ŁØŒº")
	standard.set(0xF1, "æ\x00\x00\x00ı\x00\x00łøœß")
	for c := 0x80; c < 0x100; c++ {
		mac[c] = charmap.Macintosh.DecodeByte(byte(c))
		win[c] = charmap.Windows1252.DecodeByte(byte(c))
		if win[c] < 0xA0 || win[c] == 0xFFFD {
			win[c] = '•'
		}
	}
	win[0x7F], win[0xA0], win[0xAD], mac[0xCA] = '•', ' ', '-', ' '
	doc.set(0x18, "˘ˇˆ˙˝˛˚˜")
	doc.set(0x80, "•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž\x00€")
	for c := 0xA1; c < 0x100; c++ {
		doc[c] = rune(c)
	}
	symbol.set(0x20, " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_\u203e"+
		"αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼")
	symbol.set(0xA0, "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…\x00\x00↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑")
	symbol.set(0xF1, "〉∫")
	for c := 0x21; c < 0x7F; c++ {
		dingbats[c] = rune(0x2701 + c - 0x21)
	}
	for c := 0xA1; c < 0xFF; c++ {
		dingbats[c] = rune(0x2761 + c - 0xA1)
	}
	dingbats.set(0x6C, "●❍■❏❐❑❒▲▼◆")
	return map[string]*encoding{
		"StandardEncoding": &standard, "WinAnsiEncoding": &win, "MacRomanEncoding": &mac,
		"PDFDocEncoding": &doc, "Symbol": &symbol, "ZapfDingbats": &dingbats,
	}
})

func ascii() (e encoding) {
	for c := rune(0x20); c < 0x7F; c++ {
		e[c] = c
	}
	return e
}

// set assigns characters to the codes from first on; \x00 leaves a gap.
func (e *encoding) set(first int, chars string) {
	for _, r := range chars {
		e[first] = r
		first++
	}
}

// decodeText reads a text string: UTF-16 or UTF-8 with a byte order mark, or
// PDFDocEncoding.
func decodeText(s string) string {
	if be, ok := strings.CutPrefix(s, "\xfe\xff"); ok {
		return string(decodeUTF16(be))
	}
	if le, ok := strings.CutPrefix(s, "\xff\xfe"); ok {
		swapped := []byte(le)
		for i := 0; i+1 < len(swapped); i += 2 {
			swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
		}
		return string(decodeUTF16(string(swapped)))
	}
	if plain, ok := strings.CutPrefix(s, "\xef\xbb\xbf"); ok {
		return strings.ToValidUTF8(plain, "")
	}
	doc := encodings()["PDFDocEncoding"]
	var b strings.Builder
	for i := range len(s) {
		switch r := doc[s[i]]; {
		case r != 0:
			b.WriteRune(r)
		case s[i] == '\n' || s[i] == '\r' || s[i] == '\t':
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// decodeUTF16 reads big-endian UTF-16; a single byte is a character of its own.
func decodeUTF16(s string) []rune {
	if len(s) == 1 {
		return []rune{rune(s[0])}
	}
	units := make([]uint16, len(s)/2)
	for i := range units {
		units[i] = uint16(s[2*i])<<8 | uint16(s[2*i+1])
	}
	return utf16.Decode(units)
}
