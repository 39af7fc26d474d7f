package docx

import (
	"strings"
	"unicode"
)

// symbolArea begins the part of the private area where symbol fonts have their
// characters.
const symbolArea = 0xF000

// symbolRune returns the character that a symbol font shows for a code, which
// lies in the private area as fonts have it or below 0x100.
func symbolRune(font string, code rune) rune {
	low := code
	if code >= symbolArea && code <= symbolArea+0xFF {
		low = code - symbolArea
	} else if code > 0xFF {
		return code
	}
	font = strings.ToLower(font)
	switch {
	case strings.HasPrefix(font, "wingdings"):
		if r, ok := wingdings(low); ok && font == "wingdings" {
			return r
		}
		return '•'
	case font == "symbol":
		if r := adobeSymbol(low); r != 0 {
			return r
		}
		return '•'
	case code < symbolArea && unicode.IsPrint(code):
		return code
	}
	return '•'
}

// wingdings knows the signs that are used in forms and lists; the rest of the
// font is ornament.
func wingdings(code rune) (rune, bool) {
	switch code {
	case 0x28:
		return '☎', true
	case 0x2A:
		return '✉', true
	case 0x4A:
		return '☺', true
	case 0x4C:
		return '☹', true
	case 0x6F, 0xA8, 0x71, 0x72:
		return '☐', true
	case 0xDF, 0xE7, 0xEF:
		return '←', true
	case 0xE0, 0xE8, 0xF0:
		return '→', true
	case 0xE1, 0xE9, 0xF1:
		return '↑', true
	case 0xE2, 0xEA, 0xF2:
		return '↓', true
	case 0xF3:
		return '↔', true
	case 0xFB:
		return '✗', true
	case 0xFC:
		return '✓', true
	case 0xFD, 0x78:
		return '☒', true
	case 0xFE:
		return '☑', true
	}
	return 0, false
}

// The Symbol font from 0x20 and from 0xA0; a space stands for no character.
const (
	symbolLow = " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_" +
		" αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼ "
	symbolHigh = "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…│─↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊⟨®©™∑" +
		"           ⟩∫⌠ ⌡"
)

func adobeSymbol(code rune) rune {
	table, at := []rune(symbolLow), int(code)-0x20
	if code >= 0xA0 {
		table, at = []rune(symbolHigh), int(code)-0xA0
	}
	if at < 0 || at >= len(table) || at > 0 && table[at] == ' ' {
		return 0
	}
	return table[at]
}
