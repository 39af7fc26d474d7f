// Package labels writes the numbers and bullets that Word puts before the items
// of lists, for the readers of both its formats.
package labels

import (
	"strconv"
	"strings"
	"unicode"
)

// Bullet returns the bullet r as it is, or a plain one for a letter of a symbol
// font, which a text without fonts would show as that letter. A blank is none.
func Bullet(r rune) string {
	switch {
	case unicode.IsSpace(r):
		return ""
	case unicode.IsLetter(r), unicode.Is(unicode.Co, r), r == '§', r == unicode.ReplacementChar, r < ' ':
		return "•"
	}
	return string(r)
}

// Letters counts A to Z, AA to ZZ with equal letters, AAA and so on. What is
// less than 1, or would be longer than ten letters, is written in decimal.
func Letters(n int) string {
	if n < 1 || n > 26*10 {
		return strconv.Itoa(n)
	}
	return strings.Repeat(string(rune('A'+(n-1)%26)), (n-1)/26+1)
}

// Roman counts I, II, III up to 3,999. Other numbers are written in decimal.
func Roman(n int) string {
	if n < 1 || n > 3999 {
		return strconv.Itoa(n)
	}
	var b strings.Builder
	for _, digit := range []struct {
		value int
		text  string
	}{
		{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"},
		{50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"},
	} {
		for ; n >= digit.value; n -= digit.value {
			b.WriteString(digit.text)
		}
	}
	return b.String()
}
