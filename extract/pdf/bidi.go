package pdf

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// Right-to-left scripts: many producers draw Arabic and Hebrew in visual order,
// from left to right, and the lines have to be turned around.

func isRTL(r rune) bool {
	return r >= 0x590 && r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefc
}

// isLTR reports whether a character keeps its direction among right-to-left
// ones: letters and digits do.
func isLTR(r rune) bool {
	return !isRTL(r) && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r >= 0x660 && r <= 0x669 || r >= 0x6f0 && r <= 0x6f9
}

func startsRTL(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return isRTL(r)
}

// logicalOrder turns a line in visual order into reading order.
func logicalOrder(visual []rune) []rune { return reorder(visual, isMostlyRTL(visual)) }

// isMostlyRTL reports whether a line is one from right to left.
func isMostlyRTL(runes []rune) bool {
	rtl, ltr := 0, 0
	for _, r := range runes {
		if isRTL(r) {
			rtl++
		} else if unicode.IsLetter(r) {
			ltr++
		}
	}
	return rtl >= ltr
}

// reorder turns visual order into reading order, and reading order into visual order.
func reorder(runes []rune, rtl bool) []rune {
	out := slices.Clone(runes)
	if !rtl { // a left-to-right line with some words the other way
		reverseRuns(out, func(r rune) bool { return isRTL(r) && !isLTR(r) }, isLTR)
		return out
	}
	slices.Reverse(out)
	reverseRuns(out, isLTR, func(r rune) bool { return isRTL(r) && !isLTR(r) })
	return out
}

// reverseRuns reverses each stretch that begins and ends with an inside
// character and has no outside character in it.
func reverseRuns(runes []rune, inside, outside func(rune) bool) {
	for i := 0; i < len(runes); i++ {
		if !inside(runes[i]) {
			continue
		}
		last := i
		for j := i; j < len(runes) && !outside(runes[j]); j++ {
			if inside(runes[j]) {
				last = j
			}
		}
		slices.Reverse(runes[i : last+1])
		i = last
	}
}
