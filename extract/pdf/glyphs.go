package pdf

import (
	_ "embed"
	"math"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Glyph names (ISO 32000-2, 9.10.2, and the Adobe Glyph List Specification):
// from the names in a font's encoding to characters.

//go:embed glyphs.txt
var glyphList string

// glyphNames maps the listed names to characters.
var glyphNames = sync.OnceValue(func() map[string]string {
	names := make(map[string]string, 5000)
	for line := range strings.Lines(glyphList) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] == "#" {
			continue
		}
		if several, ok := strings.CutPrefix(fields[0], "+"); ok {
			for _, code := range fields[1:] {
				names[several] += hexRune(code)
			}
			continue
		}
		first, err := strconv.ParseUint(fields[0], 16, 32)
		if err != nil {
			continue
		}
		for i, n := range fields[1:] {
			names[n] = string(rune(int(first) + i))
		}
	}
	return names
})

// hexRune is the character with a hexadecimal code, "" if there is none.
func hexRune(code string) string {
	v, err := strconv.ParseUint(code, 16, 32)
	if err != nil || v == 0 || !utf8.ValidRune(rune(v)) {
		return ""
	}
	return string(rune(v))
}

// glyphText returns the characters that a glyph name stands for, "" when they
// are not known. A name that clearly describes a picture, as those of music
// fonts do, stands for a space.
func glyphText(glyph string) string {
	if glyph == "" || glyph == ".notdef" {
		return ""
	}
	if s := listedGlyph(glyph); s != "" {
		return s
	}
	base, _, _ := strings.Cut(glyph, ".") // a.alt
	if s := listedGlyph(base); s != "" {
		return s
	}
	if strings.Contains(base, "_") { // f_f_i
		out := ""
		for part := range strings.SplitSeq(base, "_") {
			out += glyphText(part)
		}
		return out
	}
	if s := codedGlyph(base); s != "" {
		return s
	}
	if isPicture(glyph) {
		return " "
	}
	return ""
}

// isPicture reports whether a glyph name is words, such as noteheads.s2.
func isPicture(glyph string) bool {
	base, variant, ok := strings.Cut(glyph, ".")
	return ok && variant != "" && len(base) >= 4 && strings.Trim(base, "abcdefghijklmnopqrstuvwxyz") == ""
}

// listedGlyph looks a name up. Small capitals and old style figures are those of
// the plain glyph.
func listedGlyph(glyph string) string {
	if s := glyphNames()[glyph]; s != "" {
		return s
	}
	for _, style := range []string{"small", "oldstyle", "superior", "inferior"} {
		if plain, ok := strings.CutSuffix(glyph, style); ok {
			return strings.ToLower(glyphNames()[plain])
		}
	}
	return ""
}

// codedGlyph reads uni0041, uni00410042 and u1F600.
func codedGlyph(glyph string) string {
	if digits, ok := strings.CutPrefix(glyph, "uni"); ok && len(digits) >= 4 && len(digits)%4 == 0 {
		out := ""
		for ; len(digits) >= 4; digits = digits[4:] {
			out += hexRune(digits[:4])
		}
		return out
	}
	if digits, ok := strings.CutPrefix(glyph, "u"); ok && len(digits) >= 4 && len(digits) <= 6 {
		return hexRune(digits)
	}
	return ""
}

// numbers is how the names of a font that only carry numbers are to be read.
type numbers struct {
	base int  // 10 or 16
	sure bool // the font has nothing but such names, which may differ from the codes
}

// numbersOf looks at all names of a font. The number is mostly the code that a
// name is for, and tells the base; names such as C41 at other codes count only
// where no name is any other.
func numbersOf(differences node) numbers {
	var decimal, hex, letters, others int
	code := 0
	for i := range min(differences.length(), 4096) {
		x := differences.index(i)
		if v, ok := x.float(); ok {
			code = int(math.Max(-1, math.Min(v, 256)))
			continue
		}
		switch glyph := x.name(); {
		case glyph == ".notdef":
		case glyphNumber(glyph, 16) < 0:
			others++
		default:
			if glyphNumber(glyph, 10) == code {
				decimal++
			}
			if glyphNumber(glyph, 16) == code {
				hex++
			}
			if glyphNumber(glyph, 10) < 0 {
				letters++
			}
		}
		code++
	}
	n := numbers{base: 10, sure: others == 0}
	if hex > decimal || letters > 0 && hex == decimal {
		n.base = 16
	}
	return n
}

// glyphNumber reads the digits at the end of a name such as a65 or char65, -1 if
// it is not such a name. Letters that are digits too belong to the digits only
// behind the first letter.
func glyphNumber(glyph string, base int) int {
	if len(glyph) < 2 || !isLetter(glyph[0]) {
		return -1
	}
	digits := strings.TrimLeft(glyph[1:], "ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ")
	if base == 10 || len(digits) > 2 {
		digits = strings.TrimLeft(digits, "abcdefABCDEF")
	}
	if len(glyph)-len(digits) > 5 {
		return -1
	}
	v, err := strconv.ParseUint(digits, base, 16)
	if err != nil {
		return -1
	}
	return int(v)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// numberedGlyph reads names that only carry a character code, such as a65 or C41.
// The codes are ASCII and, where Latin-1 agrees with the encoding of TeX's fonts,
// letters with accents.
func numberedGlyph(glyph string, code int, n numbers) string {
	v := glyphNumber(glyph, n.base)
	inASCII, accented := v >= 0x20 && v < 0x7f, v >= 0xc0 && v < 0xff && v != 0xd7 && v != 0xf7
	if v != code && !n.sure || !inASCII && !accented {
		return ""
	}
	return string(rune(v))
}
