package word

import (
	"strconv"
	"strings"
	"unicode"
)

// Letters returns n as upper-case letters: A to Z, then AA to ZZ with equal
// letters, AAA and so on up to ten of them. Other numbers are decimal.
func Letters(n int) string {
	if n < 1 || n > 26*10 {
		return strconv.Itoa(n)
	}
	return strings.Repeat(string(rune('A'+(n-1)%26)), (n-1)/26+1)
}

// Roman returns n as an upper-case Roman numeral, 1 to 3,999. Other numbers are
// decimal.
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

// Bullet returns a bullet as it is, a plain one for a letter of a symbol font,
// and "" for a space.
func Bullet(r rune) string {
	switch {
	case unicode.IsSpace(r):
		return ""
	case unicode.IsLetter(r), unicode.Is(unicode.Co, r), r == '§', r == unicode.ReplacementChar, r < ' ':
		return "•"
	}
	return string(r)
}
