package pdftext

import (
	_ "embed"
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

// numberedGlyph reads names that only carry the character code they are for,
// such as a65, c65 and char65 at code 65.
func numberedGlyph(glyph string, code int) string {
	digits := strings.TrimLeft(glyph, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	if letters := len(glyph) - len(digits); letters == 0 || letters > 5 {
		return ""
	}
	if v, err := strconv.Atoi(digits); err != nil || v != code || v < 0x20 || v > 0x7e {
		return ""
	}
	return string(rune(code))
}
