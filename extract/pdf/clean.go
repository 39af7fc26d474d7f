package pdf

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Characters: what fonts say is made plain. Ligatures are split, spaces are
// spaces, and letters drawn with a separate accent become one.

// ligatures are U+FB00 to U+FB06.
var ligatures = [...]string{"ff", "fi", "fl", "ffi", "ffl", "st", "st"}

func cleanText(s string) string {
	plain := true
	for i := range len(s) {
		plain = plain && s[i] >= 0x20 && s[i] < 0x7f
	}
	if plain {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\t' || r == '\n' || r == '\r' || unicode.Is(unicode.Zs, r):
			b.WriteByte(' ')
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0xfeff || r >= 0xfffe && r <= 0xffff:
		case r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x2069:
		case r == 0xad || r == 0x2010 || r == 0x2011:
			b.WriteByte('-')
		case r >= 0xfb00 && r <= 0xfb06:
			b.WriteString(ligatures[r-0xfb00])
		case r >= 0xf020 && r <= 0xf0ff:
			b.WriteString(symbolText(r))
		case r >= 0xe000 && r <= 0xf8ff || r >= 0xf0000:
			b.WriteByte(' ') // an icon of a private font
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// symbolText is for the private characters of symbol fonts: a bullet for what
// Wingdings has in lists, otherwise what Symbol has at the same code.
func symbolText(r rune) string {
	switch r {
	case 0xf0b7, 0xf0a7, 0xf0d8, 0xf0fc, 0xf076, 0xf06e, 0xf071:
		return "•"
	}
	if s := encodings()["Symbol"][r-0xf000]; s != 0 {
		return string(s)
	}
	return ""
}

// combining are the combining forms of the accents that old fonts draw on their
// own.
var combining = map[rune]rune{
	'´': 0x301, '`': 0x300, '¨': 0x308, 'ˆ': 0x302, '^': 0x302, '˜': 0x303, '~': 0x303, '¯': 0x304,
	'˘': 0x306, '˙': 0x307, '˚': 0x30a, '¸': 0x327, '˝': 0x30b, '˛': 0x328, 'ˇ': 0x30c,
}

// accent joins p with the last glyph where one is an accent drawn over or under
// the other, and reports whether it did.
func (l *layout) accent(p *placed) bool {
	n := len(l.line.text)
	if n == 0 || l.pending || utf8.RuneCountInString(p.text) != 1 || utf8.RuneCountInString(l.last.text) != 1 {
		return false
	}
	r, _ := utf8.DecodeRuneInString(p.text)
	last, _ := utf8.DecodeRuneInString(l.last.text)
	if l.line.text[n-1] != last || !overlaps(p, &l.last) {
		return false
	}
	composed := compose(last, r)
	end := l.last.end
	if composed == 0 {
		composed, end = compose(r, last), p.end
	}
	if composed == 0 {
		return false
	}
	l.line.text[n-1] = composed
	l.line.end = end
	l.last.end = end
	l.last.text = string(composed)
	return true
}

// overlaps reports whether the middles of two glyphs lie above each other.
func overlaps(a, b *placed) bool {
	em := max(a.size, b.size)
	middle := a.start.minus(b.start).times(0.5)
	ends := a.end.minus(b.end).times(0.5)
	apart := vector{middle.x + ends.x, middle.y + ends.y}
	along := math.Abs(apart.dot(b.direction))
	off := math.Abs(b.direction.cross(apart))
	return along < 0.25*em && off < 0.6*em && a.direction.dot(b.direction) > 0.9
}

// compose is the letter with the accent, 0 if there is no such letter.
func compose(letter, accent rune) rune {
	mark, ok := combining[accent]
	if !ok || !unicode.IsLetter(letter) {
		return 0
	}
	switch letter {
	case 'ı':
		letter = 'i'
	case 'ȷ':
		letter = 'j'
	}
	s := norm.NFC.String(string([]rune{letter, mark}))
	r, size := utf8.DecodeRuneInString(s)
	if size != len(s) {
		return 0
	}
	return r
}
